import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mosquittoPath, runMosquitto } from '../../../simulators/platform/broker/testing/mosquitto.ts';
import { poll } from '../../common/waiting.ts';
import { issuingAuthority } from '../enrol/authority.ts';
import { Running, reportIn, typed, unlessSaturated } from '../testing/muster.ts';
import { type Addresses, onlineOf, rollouts, Scene } from './testing/faulted-fleet.ts';
import { Cable, FaultyProxy, noNamespaces } from './testing/faults.ts';

/** Milliseconds for the platform to notice an unplugged cable; an idle machine needs two keep-alive periods of 18 s. */
const BOUND_MS = 100_000;
const LONG = { timeout: 240_000 };

it.skipIf(noNamespaces !== '')(`fleet and platform notice an unplugged cable${noNamespaces}`, LONG, async () => {
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
  const fleet = scene.fleet({ phases: rollouts('2s', '500ms'), platform: far, under: cable.farEnd });
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
});

async function outage(scene: Scene, platform: Addresses, broker: { stop(): Promise<void>; start(): Promise<void> }) {
  const fleet = scene.fleet({ phases: rollouts('3s', '500ms'), platform });
  await fleet.deployments(platform.url, 3);
  await broker.stop();
  await fleet.running.said(/robots [^·]*connecting 8/);
  await fleet.deployments(platform.url, 8);
  await broker.start();
  const { result, said } = await fleet.endsWell(platform.url, 2);
  expect(result.verdict).not.toBe('valid');
  expect(result.counters).toMatchObject({ 'rollout.missed': 0, 'uplink.lost': 8 });
  expect(said).toContain('not by the scenario: 8 connections of robots to the broker were lost, the first with: ');
  expect(said).toContain(`no connection to the MQTT broker at ${platform.mqtt}: `);
}

it('a fleet rolls out despite an outage of the broker, and names the outage', async () => {
  await using scene = new Scene();
  const platform = await scene.platform();
  await using broker = await FaultyProxy.before(platform.mqtt);
  await outage(scene, { ...platform, mqtt: broker.instead(platform.mqtt) }, broker);
});

it.skipIf(mosquittoPath === undefined)('a fleet rolls out despite a Mosquitto outage and names it', async () => {
  await using scene = new Scene();
  await using mosquitto = await runMosquitto(mosquittoPath ?? '');
  await outage(scene, await scene.platform({ mqtt: mosquitto.url }), mosquitto);
});

/** Long enough ago that a certificate issued then has expired. */
const LAST_WEEK = new Date(Date.now() - 8 * 86_400_000);

function authorityIn(scene: Scene) {
  const { ca, issue } = issuingAuthority();
  const file = scene.path('ca.pem');
  writeFileSync(file, ca);
  return { issue, trusted: { MUSTER_API_KEY: 'dev', NODE_EXTRA_CA_CERTS: file } };
}

it('a fleet rolls out although certificates expire midway, and names the expiry', async () => {
  await using scene = new Scene();
  const authority = authorityIn(scene);
  const [valid, expired] = [authority.issue(), authority.issue(LAST_WEEK)];
  const platform = await scene.platform();
  await using http = await FaultyProxy.before(platform.agent_url, { tls: valid });
  await using broker = await FaultyProxy.before(platform.mqtt, { tls: valid });
  const secured = { ...platform, agent_url: http.instead(platform.agent_url), mqtt: broker.instead(platform.mqtt) };
  expect([secured.agent_url, secured.mqtt].map((url) => new URL(url).protocol)).toEqual(['https:', 'mqtts:']);
  const fleet = scene.fleet({ phases: rollouts('1s', '1s'), platform: secured, env: authority.trusted });
  await fleet.deployments(platform.url, 3);
  for (const proxy of [http, broker]) {
    proxy.renew(expired);
    proxy.cut();
  }
  // Waits for nine attempts: one by each of the eight robots, and one that may have begun before.
  const before = broker.tries;
  await poll('robots to be refused', () => broker.tries > before + 8 || undefined, { timeoutMs: 100_000 });
  for (const proxy of [http, broker]) proxy.renew(authority.issue());
  const { said } = await fleet.endsWell(platform.url, 2);
  expect(said).toMatch(/not by the scenario: .* certificate has expired/);
});

it('a check is blocked without findings when the platform’s certificate expires midway', async () => {
  await using scene = new Scene();
  const authority = authorityIn(scene);
  const platform = await scene.platform();
  await using http = await FaultyProxy.before(platform.url, { tls: authority.issue() });
  const url = http.instead(platform.url);
  const report = scene.path('report.json');
  const words = typed`check platform --url ${url} --section 8 --report json=${report}`;
  const check = new Running(words, { env: authority.trusted });
  const begun = () => http.tries > 2 || undefined;
  await poll('the check to begin', begun, { timeoutMs: 100_000, firstPauseMs: 1 });
  http.renew(authority.issue(LAST_WEEK));
  const { code } = await check.ended;
  const { checks } = reportIn(report);
  const blocked = checks.filter(({ outcome }) => outcome === 'blocked');
  expect(blocked.length).toBeGreaterThan(0);
  for (const { reason } of blocked) expect(reason).toMatch(/cannot connect \(certificate has expired\)/);
  expect(checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn')).toEqual([]);
  expect(code).toBe(2);
});
