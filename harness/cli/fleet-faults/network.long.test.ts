/** Faults of the network between robots and platform: a cable without its other end, and names that do not resolve. */
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { poll } from '../../common/waiting.ts';
import { unlessSaturated } from '../testing/fleet-runs.ts';
import { FaultyProxy } from './testing/faulty-proxy.ts';
import { Cable, noNamespaces, withHosts } from './testing/namespaces.ts';
import { onlineOf } from './testing/records.ts';
import { Scene } from './testing/scene.ts';

/** Keep-alive finds it within two of its periods of 18 s; a busy machine may need longer. */
const BOUND_MS = 100_000;

it.skipIf(noNamespaces !== '')(
  `both ends find that a cable is unplugged, and come back${noNamespaces}`,
  async () => {
    await using scene = new Scene();
    using cable = new Cable();
    const platform = await scene.platform();
    await using http = await FaultyProxy.before(platform.url, { host: cable.address });
    await using broker = await FaultyProxy.before(platform.mqtt, { host: cable.address });
    const far = {
      url: http.instead(platform.url),
      agent_url: http.instead(platform.agent_url),
      mqtt: broker.instead(platform.mqtt),
    };
    const phases = '  - { do: rollout, over: 2s, within: 100s }\n  - { do: rollout, over: 500ms, within: 100s }\n';
    const fleet = scene.fleet({ phases, platform: far, under: cable.farEnd });
    await fleet.deployments(platform.url, 3);
    cable.unplug();
    const gone = async () => (await onlineOf(platform.url)) === 0 || undefined;
    await poll('the platform to find that its robots are gone', gone, { timeoutMs: BOUND_MS, firstPauseMs: 200 });
    await fleet.running.said(/robots [^·]*connecting 8/);
    cable.plug();
    const { code, result, said } = await fleet.end();
    expect(result).toMatchObject({ complete: true, violations: [] });
    expect(said).toMatch(
      /not by the scenario: \d+ connections of robots to the broker were lost, .* answered no PINGREQ/,
    );
    expect(code).toBe(unlessSaturated(result.missed.length > 0 ? 99 : 0, result));
    await scene.agree(platform.url);
  },
  240_000,
);

it.skipIf(noNamespaces !== '')(
  `a name of the broker that ceases to resolve and resolves again${noNamespaces}`,
  async () => {
    await using scene = new Scene();
    const platform = await scene.platform();
    await using broker = await FaultyProxy.before(platform.mqtt);
    const hosts = scene.path('hosts');
    const [known, unknown] = ['127.0.0.1 localhost broker.test\n', '127.0.0.1 localhost\n'];
    const under = withHosts(hosts, scene.path('nsswitch.conf'), known);
    const phases = '  - { do: rollout, over: 2s, within: 100s }\n  - { do: rollout, over: 500ms, within: 100s }\n';
    const mqtt = broker.instead(platform.mqtt).replace('127.0.0.1', 'broker.test');
    const fleet = scene.fleet({ phases, platform: { ...platform, mqtt }, under });
    await fleet.deployments(platform.url, 3);
    writeFileSync(hosts, unknown);
    broker.cut();
    await fleet.deployments(platform.url, 8);
    writeFileSync(hosts, known);
    const { code, result, said } = await fleet.end();
    expect(result).toMatchObject({ complete: true, missed: [], violations: [] });
    expect(said).toMatch(
      /not by the scenario: \d+ attempts of robots to come online failed, .* ENOTFOUND broker\.test/,
    );
    expect(code).toBe(unlessSaturated(0, result));
    await scene.agree(platform.url, 2);
  },
);

it.skipIf(noNamespaces !== '')(`a name that never resolves ends the run at once${noNamespaces}`, async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  const under = withHosts(scene.path('hosts'), scene.path('nsswitch.conf'), '127.0.0.1 localhost\n');
  const phases = '  - { do: hold, for: 1h }\n';
  const unknownBroker = scene.fleet({ phases, platform: { ...platform, mqtt: 'mqtt://broker.test:1' }, under });
  const { code, result } = await unknownBroker.end();
  expect(result.incomplete_reasons.join()).toMatch(/no other robot would: .* getaddrinfo ENOTFOUND broker\.test/);
  expect(code).toBe(2);
  const unknownPlatform = scene.fleet({ phases, platform: { ...platform, url: 'http://platform.test:1/beta' }, under });
  const ended = await unknownPlatform.running.ended;
  expect(ended.stderr).toMatch(/the platform cannot be reached at .*getaddrinfo ENOTFOUND platform\.test/);
  expect(ended.code).toBe(2);
});
