import { expect, test } from 'vitest';
import { Interrupted } from '../common/usage.ts';
import type { MutationSubject } from '../reports/mutation/report.ts';
import { sampleSubject } from '../reports/mutation/testing/samples.ts';
import type { Baseline } from '../runner/baseline.ts';
import { reportOf, updatedMutationBaseline } from './mutation-report.ts';
import type { MutationResults } from './run.ts';

const ABOUT = {
  muster: '0',
  side: 'client',
  api: 'device',
  command: 'test',
  repeat: 'muster mutate client --only',
  seed: 1,
  started_at: '2026-11-26T00:00:00Z',
  duration_ms: 1,
  jobs: 1,
} as const;

const killed = (name: string) => sampleSubject({ name, state: 'killed' });
const survived = sampleSubject();

interface Given extends Partial<MutationResults> {
  minScore?: number;
  kind?: 'defect' | 'variant';
  baseline?: Baseline;
  signal?: AbortSignal;
}

function settled(subjects: readonly MutationSubject[], { minScore, kind, baseline, signal, ...more }: Given = {}) {
  const found: MutationResults = {
    first: { outcome: 'passed', how: 'ended with exit code 0', durationMs: 5, wrote: '', leftBehind: false },
    subjects,
    testTimeoutMs: 10_000,
    flaky: undefined,
    ...more,
  };
  const names = [...subjects.map(({ name }) => name), 'not-asked-for'];
  const use = baseline && { baseline, today: '2026-11-26', names };
  return reportOf(found, { ...ABOUT, minScore, kind }, use, signal ?? new AbortController().signal);
}

test('survivors fail the run, unless the score reaches the minimum', () => {
  const four = [killed('a'), killed('b'), killed('c'), survived];
  expect(settled([killed('a')])).toMatchObject({ exit_code: 0, score: 100 });
  expect(settled(four)).toMatchObject({ exit_code: 1, score: 75 });
  expect(settled(four, { minScore: 75 }).exit_code).toBe(0);
  expect(settled(four, { minScore: 76 })).toMatchObject({ exit_code: 1, meaning: 'the score is 75 %, less than 76 %' });
  const brittle = sampleSubject({ name: 'v', kind: 'variant', state: 'brittle' });
  expect(settled([...four, brittle], { minScore: 10 }).exit_code).toBe(1);
  expect(settled([...four, brittle]).meaning).toMatch(/^1 of the defects survived, and the tests fail on 1 of the /);
  expect(settled([survived], { minScore: 0 })).toMatchObject({ exit_code: 0, meaning: 'the score is 0 %' });
});

test('a run that decides nothing is incomplete', () => {
  const never = sampleSubject({ state: 'never_asked' });
  expect(settled([never])).toMatchObject({ exit_code: 2 });
  expect(settled([])).toMatchObject({ exit_code: 2 });
  const accepted = sampleSubject({ name: 'v', kind: 'variant', state: 'accepted' });
  const unscored = { exit_code: 2, meaning: expect.stringContaining('no score') };
  expect(settled([accepted], { minScore: 80 })).toMatchObject(unscored);
  expect(settled([accepted, never]).meaning).toBe('the tests asked nothing that a defect could show in');
  expect(settled([accepted], { kind: 'variant' })).toMatchObject({ exit_code: 0 });
  expect(settled([sampleSubject({ kind: 'variant', state: 'never_asked' })], { kind: 'variant' }).exit_code).toBe(2);
  const ended = { how: 'ended with exit code 7', durationMs: 5, wrote: 'oh', leftBehind: false };
  const failed = { outcome: 'failed', ...ended } as const;
  expect(settled([sampleSubject({ state: 'not_run' })], { first: failed })).toMatchObject({
    exit_code: 2,
    meaning: 'the tests do not pass on the faithful simulator: they ended with exit code 7',
    first_run: { passed: false, wrote: 'oh' },
  });
  expect(settled([killed('a')], { flaky: 'the tests timed out' }).exit_code).toBe(2);
  expect(settled([killed('a'), sampleSubject({ name: 'x', state: 'blocked' })]).exit_code).toBe(2);
  const unasked = { exit_code: 0, meaning: expect.stringContaining('1 was never') };
  expect(settled([killed('a'), never])).toMatchObject(unasked);
});

test('an interrupted run reports its results, with the exit code of the signal', () => {
  const signal = AbortSignal.abort(new Interrupted('SIGTERM'));
  expect(settled([killed('a'), sampleSubject({ name: 'b', state: 'not_run' })], { signal })).toMatchObject({
    exit_code: 143,
    interrupted: true,
    summary: { killed: 1, not_run: 1 },
  });
});

test('a baseline accepts survivors, and is stale once one is killed', () => {
  const use = { baseline: { known: [] }, today: '2026-11-26', names: ['replay-inclusive', 'a'] };
  const update = updatedMutationBaseline(ABOUT, [survived, killed('a')], use);
  expect(update.known).toMatchObject([{ check: 'mutate-device.replay-inclusive', owner: 'unassigned' }]);
  expect(settled([survived, killed('a')], { baseline: update })).toMatchObject({
    exit_code: 0,
    summary: { known: 1, survived: 0 },
    score: 100,
  });
  const stale = settled([killed('replay-inclusive')], { baseline: update });
  expect(stale).toMatchObject({ exit_code: 2, stale: [{ name: 'mutate-device.replay-inclusive' }] });
  const left = sampleSubject({ name: 'replay-inclusive', state: 'never_asked' });
  expect(settled([killed('a'), left], { baseline: update })).toMatchObject({ exit_code: 0, stale: [] });
  const over = { known: update.known.map((each) => ({ ...each, expires: '2026-11-25' })) };
  expect(settled([survived], { baseline: over })).toMatchObject({
    exit_code: 1,
    subjects: [{ state: 'survived', reason: expect.stringContaining('its excuse ended on 2026-11-25') }],
  });
  const ofSystem = updatedMutationBaseline({ side: 'system', api: 'platform' }, [survived], use);
  expect(ofSystem.known).toMatchObject([{ check: 'mutate-system-platform.replay-inclusive' }]);
  const other = { known: [{ check: 'device.events.frame', reason: 'x', expires: '2027-01-01' }] };
  expect(settled([killed('a')], { baseline: other }).stale).toEqual([]);
});
