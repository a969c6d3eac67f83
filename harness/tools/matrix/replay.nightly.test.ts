import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { deviceDefect } from '../../../simulators/defects/device/index.ts';
import { platformDefect } from '../../../simulators/defects/platform/index.ts';
import { referenceBehaviour as referenceDevice } from '../../../simulators/device/index.ts';
import { referenceBehaviour, simulatePlatform } from '../../../simulators/platform/index.ts';
import { Running, reportIn } from '../../cli/testing/muster.ts';
import type { CheckResult } from '../../runner/types.ts';
import { optionsFor, startRobot } from '../subjects/simulators.ts';

const SEED = '11';

async function checkAndReplay(api: string, only: string, place: readonly string[], env = {}) {
  using folder = scratch();
  const [first, second] = [join(folder.path, 'run.json'), join(folder.path, 'again.json')];
  const check = ['check', api, ...place, '--only', only, '--seed', SEED, '--report', `json=${first}`];
  const checked = await new Running(check, { env }).ended;
  const replay = ['replay', first, '--only', only, '--', '--report', `json=${second}`];
  const replayed = await new Running(replay, { env }).ended;
  expect(replayed.stderr).toMatch(/^(muster: records that this run makes stay on the platform.*\n)?$/);
  return { codes: [checked.code, replayed.code], found: resultOf(first, only), again: resultOf(second, only) };
}

function resultOf(file: string, id: string): CheckResult {
  const found = reportIn(file).checks.find((check) => check.id === id);
  if (found === undefined) throw new Error(`${file} has no ${id}`);
  return found;
}

/** Ids of resources differ between runs. */
const withoutIds = (text: string): string => text.replaceAll(/\b([a-z]+_)[a-z0-9]{20}\b/g, '$1…');

function expectTheSame(found: CheckResult, again: CheckResult): void {
  expect(found.counterexample, found.actual).toBeDefined();
  const shown = ({ outcome, counterexample, seed, path }: CheckResult) => [
    outcome,
    withoutIds(String(counterexample)),
    seed,
    path,
  ];
  expect(shown(again)).toEqual(shown(found));
  expect(again.replay_path).toBe(found.replay_path);
}

it.for([
  ['unknown-query-refused', 'device.deployment.safe'],
  ['malformed-is-none', 'device.events.cursor.malformed'],
  ['non-ascii-lost', 'device.events.framing-safe'],
] as const)('a counterexample is replayed of a device: %s by %s', async ([defect, only]) => {
  await using robot = await startRobot({
    transport: 'unix',
    behaviour: deviceDefect(defect).behaviour(referenceDevice),
  });
  const place = ['--patience', '2', ...optionsFor(robot.place)];
  const { codes, found, again } = await checkAndReplay('device', only, place);
  expectTheSame(found, again);
  expect(codes).toEqual(found.outcome === 'fail' ? [1, 1] : [0, 0]);
});

it.for([
  ['limit-unbounded', 'platform.list.clamp.high', 'explored'],
  ['has-more-on-full-page', 'platform.list.has-more', 'explored'],
  ['pages-skip', 'platform.list.walk-once', 'explored'],
  ['replaced-is-staged-again', 'platform.deployment.forward-only', 'directed'],
] as const)('a counterexample is replayed of a platform: %s by %s', async ([defect, only, kind]) => {
  const behaviour = platformDefect(defect).behaviour(referenceBehaviour);
  await using platform = await simulatePlatform({ behaviour, seed: 1, devices: 24, mqtt: false });
  // In the environment, because a report contains no key.
  const key = { MUSTER_API_KEY: platform.apiKey };
  const { codes, found, again } = await checkAndReplay('platform', only, ['--url', platform.url], key);
  // A replay of an exploration may find a different failing request.
  if (kind === 'directed') expectTheSame(found, again);
  else expect(again).toMatchObject({ outcome: found.outcome, counterexample: expect.any(String) });
  expect(codes).toEqual(found.outcome === 'fail' ? [1, 1] : [0, 0]);
});
