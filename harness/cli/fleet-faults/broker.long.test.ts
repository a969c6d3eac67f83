import { expect, it } from 'vitest';
import { mosquittoPath, runMosquitto } from '../../../simulators/platform/broker/testing/mosquitto.ts';
import { unlessSaturated } from '../testing/fleet-runs.ts';
import { FaultyProxy } from './testing/faulty-proxy.ts';
import { type Addresses, Scene } from './testing/scene.ts';

const phases = '  - { do: rollout, over: 3s, within: 90s }\n  - { do: rollout, over: 500ms, within: 90s }\n';

/** Takes the broker away in the middle of a roll-out, and gives it back when the platform has all of its deployments. */
async function outage(
  scene: Scene,
  platform: Addresses,
  broker: { stop(): Promise<void>; start(): Promise<void> },
): Promise<void> {
  const fleet = scene.fleet({ phases, platform });
  await fleet.deployments(platform.url, 3);
  await broker.stop();
  await fleet.deployments(platform.url, 8);
  await broker.start();
  const { code, result, said } = await fleet.end();
  expect(result).toMatchObject({ complete: true, missed: [], violations: [] });
  expect(result.verdict).not.toBe('valid');
  expect(result.counters).toMatchObject({ 'rollout.missed': 0, 'uplink.lost': 8 });
  expect(said).toContain('not by the scenario: 8 connections of robots to the broker were lost, the first with: ');
  expect(said).toContain(`no connection to the MQTT broker at ${platform.mqtt}: `);
  expect(code).toBe(unlessSaturated(0, result));
  await scene.agree(platform.url, 2);
}

it('rolls out in spite of an outage of the broker alone, and names it', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  await using broker = await FaultyProxy.before(platform.mqtt);
  await outage(scene, { ...platform, mqtt: broker.instead(platform.mqtt) }, broker);
});

it.skipIf(mosquittoPath === undefined)('rolls out in spite of a Mosquitto that dies, and names it', async () => {
  await using scene = new Scene();
  await using mosquitto = await runMosquitto(mosquittoPath ?? '');
  const platform = await scene.platform({ mqtt: mosquitto.url });
  await outage(scene, platform, mosquitto);
});
