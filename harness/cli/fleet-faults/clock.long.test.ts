/** The wall clock is turned under whole processes, by libfaketime; their steady clock goes on. */
import { existsSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { unlessSaturated } from '../testing/fleet-runs.ts';
import { Scene } from './testing/scene.ts';

const places = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib', '/usr/lib64'];
const library = places.map((place) => `${place}/faketime/libfaketimeMT.so.1`).find((path) => existsSync(path));
const reason = library === undefined ? ' (skipped: libfaketime is not installed)' : '';

/** The environment of processes whose clock `turn` turns, relative to the true one. */
function turnable(scene: Scene) {
  const file = scene.path('clock');
  const turn = (by: string): void => writeFileSync(file, `${by}\n`);
  turn('+0');
  const settings = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', DONT_FAKE_MONOTONIC: '1' };
  return { turn, env: { LD_PRELOAD: library ?? '', ...settings } };
}

it.skipIf(library === undefined)(`rolls out while the clock of the machine jumps both ways${reason}`, async () => {
  await using scene = new Scene();
  const { turn, env } = turnable(scene);
  const platform = await scene.platform({}, { env });
  const rollout = '  - { do: rollout, over: 1s, within: 90s }\n';
  const fleet = scene.fleet({ phases: rollout.repeat(5), platform, env });
  for (const [done, by] of ['+1h', '-1h', '+1y', '-1y'].entries()) {
    await fleet.deployments(platform.url, done * 8 + 3);
    turn(by);
  }
  const { code, result } = await fleet.end();
  expect(result).toMatchObject({ complete: true, missed: [], violations: [] });
  expect(result.duration_ms).toBeLessThan(3_600_000);
  expect(code).toBe(unlessSaturated(0, result));
  await scene.agree(platform.url, 5);
  const year = new Date().getFullYear();
  const years = scene.robots().flatMap(({ occurredAt }) => occurredAt.map((at) => new Date(at).getFullYear()));
  expect(new Set(years)).toEqual(new Set([year, year + 1, year - 1]));
});

it.skipIf(library === undefined)(`names the clock of a platform that is an hour fast${reason}`, async () => {
  await using scene = new Scene();
  const { turn, env } = turnable(scene);
  const platform = await scene.platform({}, { env });
  const phases = `  - { do: rollout, over: 500ms, within: 90s }
  - { do: rollout, over: 1s, within: 6s }
  - { do: rollout, over: 500ms, within: 90s }\n`;
  const fleet = scene.fleet({ phases, platform });
  await fleet.deployments(platform.url, 9);
  turn('+1h');
  await fleet.deployments(platform.url, 17);
  turn('+0');
  const { code, result, said } = await fleet.end();
  expect(result).toMatchObject({ complete: true, violations: [] });
  expect(result.missed.length).toBeGreaterThan(0);
  expect(said).toMatch(/not by the scenario: \d+ syncs of robots failed, the first with: HTTP 401 .* has expired/);
  expect(code).toBe(unlessSaturated(99, result));
  await scene.agree(platform.url, 3, 1);
});
