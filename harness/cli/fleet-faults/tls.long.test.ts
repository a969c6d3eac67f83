import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { poll } from '../../common/waiting.ts';
import type { Report } from '../../runner/types.ts';
import { unlessSaturated } from '../testing/fleet-runs.ts';
import { Running } from '../testing/muster.ts';
import { Authority } from './testing/certificates.ts';
import { FaultyProxy } from './testing/faulty-proxy.ts';
import { Scene } from './testing/scene.ts';

const rollout = '  - { do: rollout, over: 1s, within: 90s }\n';

it('rolls out although certificates of platform and broker expire on the way, and names it', async () => {
  await using scene = new Scene();
  using authority = new Authority();
  const [valid, expired] = [authority.issue(2), authority.issue(-1)];
  const platform = await scene.platform();
  await using http = await FaultyProxy.before(platform.agent_url, { tls: valid });
  await using broker = await FaultyProxy.before(platform.mqtt, { tls: valid });
  const secured = { ...platform, agent_url: http.instead(platform.agent_url), mqtt: broker.instead(platform.mqtt) };
  expect([secured.agent_url, secured.mqtt].map((url) => new URL(url).protocol)).toEqual(['https:', 'mqtts:']);
  const fleet = scene.fleet({
    phases: rollout.repeat(2),
    platform: secured,
    env: { NODE_EXTRA_CA_CERTS: authority.file },
  });
  await fleet.deployments(platform.url, 3);
  for (const proxy of [http, broker]) {
    proxy.renew(expired);
    proxy.cut();
  }
  // All robots have tried once, and one of them again.
  const before = broker.tries;
  await poll('robots to be refused', () => broker.tries > before + 8 || undefined, { timeoutMs: 100_000 });
  for (const proxy of [http, broker]) proxy.renew(authority.issue(2));
  const { code, result, said } = await fleet.end();
  expect(result).toMatchObject({ complete: true, missed: [], violations: [] });
  expect(said).toMatch(/not by the scenario: .* certificate has expired/);
  expect(code).toBe(unlessSaturated(0, result));
  await scene.agree(platform.url, 2);
}, 240_000);

const CASES = [
  ['an expired certificate', -1, true, /certificate has expired/, /cannot connect \(certificate has expired\)/],
  [
    'a certificate of an unknown authority',
    2,
    false,
    /unable to verify the first certificate/,
    /its certificate is signed by an authority that is not trusted here; --ca FILE names one to trust/,
  ],
] as const;

/** The environment of a command that trusts the authority, or does not. */
const trust = (authority: Authority, trusted: boolean): Record<string, string> => ({
  ...(trusted && { NODE_EXTRA_CA_CERTS: authority.file }),
  MUSTER_API_KEY: 'dev',
});

it.each(CASES)(
  'ends incomplete at once when the broker has %s',
  async (_what, days, trusted, why) => {
    await using scene = new Scene();
    using authority = new Authority();
    const platform = await scene.platform();
    await using broker = await FaultyProxy.before(platform.mqtt, { tls: authority.issue(days) });
    const env = trust(authority, trusted);
    const fleet = scene.fleet({ phases: rollout, platform: { ...platform, mqtt: broker.instead(platform.mqtt) }, env });
    const { code, result } = await fleet.end();
    expect(result.incomplete_reasons.join()).toMatch(
      /no other robot would: no connection to the MQTT broker at mqtts:/,
    );
    expect(result.incomplete_reasons.join()).toMatch(why);
    expect(code).toBe(2);
  },
  240_000,
);

it.each(CASES)(
  'fleet and check say that the platform has %s, and judge nothing',
  async (_what, days, trusted, why, said) => {
    await using scene = new Scene();
    using authority = new Authority();
    const platform = await scene.platform();
    await using http = await FaultyProxy.before(platform.url, { tls: authority.issue(days) });
    const env = trust(authority, trusted);
    const url = http.instead(platform.url);
    const fleet = await scene.fleet({ phases: rollout, platform: { ...platform, url }, env }).running.ended;
    expect(fleet.stderr).toMatch(/the platform cannot be reached at https:/);
    expect(fleet.stderr).toMatch(why);
    expect(fleet.code).toBe(2);
    const check = await new Running(['check', 'platform', '--url', url, '--fast', '--section', '8'], { env }).ended;
    const words = check.stdout.replaceAll(/\s+/g, ' ');
    expect(words).toMatch(said);
    expect(words).toContain('the target could not be reached, so nothing was decided');
    expect(check.code).toBe(2);
  },
  240_000,
);

it('check fails nothing when the certificate of the platform expires on the way', async () => {
  await using scene = new Scene();
  using authority = new Authority();
  const platform = await scene.platform();
  await using http = await FaultyProxy.before(platform.url, { tls: authority.issue(2) });
  const url = http.instead(platform.url);
  const report = scene.path('report.json');
  const words = ['check', 'platform', '--url', url, '--section', '8', '--report', `json=${report}`];
  const check = new Running(words, { env: trust(authority, true) });
  const begun = () => http.tries > 2 || undefined;
  await poll('the check to begin', begun, { timeoutMs: 100_000, firstPauseMs: 1 });
  http.renew(authority.issue(-1));
  const { code } = await check.ended;
  const { checks } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const blocked = checks.filter(({ outcome }) => outcome === 'blocked');
  expect(blocked.length).toBeGreaterThan(0);
  for (const { reason } of blocked) expect(reason).toMatch(/cannot connect \(certificate has expired\)/);
  expect(checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn')).toEqual([]);
  expect(code).toBe(2);
});
