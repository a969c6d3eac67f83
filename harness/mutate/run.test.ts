/** Runs on stubs of servers, each of which gives the exit code with which the tests end. */
import process from 'node:process';
import { expect, test } from 'vitest';
import { CannotStart, type Server, type Subject, type SubjectSource } from './plan.ts';
import { type MutateOptions, type RunEstimate, runMutation } from './run.ts';
import { stub } from './testing/subjects.ts';

const server = (code: number): Server => ({ env: { CODE: `${code}` }, secrets: [], async [Symbol.asyncDispose]() {} });

const passing = (): Server => server(0);
const subject = (name: string, start: Subject['start'] = async () => server(1)): Subject => stub(name, { start });

function worldOf(subjects: readonly Subject[], ...faithful: (() => Server)[]) {
  let starts = 0;
  const world: SubjectSource = {
    subjects,
    async faithful() {
      const made = faithful[Math.min(starts, faithful.length - 1)] ?? passing;
      starts += 1;
      return { ...made(), taken: new Set(['taken']) };
    },
  };
  return { world, starts: () => starts };
}

const optionsFor = (given: Partial<MutateOptions> = {}): MutateOptions => ({
  line: 'exit $CODE',
  env: process.env,
  jobs: 1,
  testTimeoutMs: undefined,
  firstTimeoutMs: 60_000,
  signal: new AbortController().signal,
  choose: (subjects) => [...subjects],
  listener: { onSecrets() {}, onBegin() {}, onResult() {}, onLeftBehind() {} },
  ...given,
});

const statesOf = (subjects: readonly { state: string }[]): string[] => subjects.map(({ state }) => state);

test('a run keeps its results when the faithful server cannot start a second time', async () => {
  const gone = (): Server => {
    throw new CannotStart('the platform is gone');
  };
  const { world } = worldOf([subject('a')], passing, gone);
  const { flaky, subjects } = await runMutation(world, optionsFor());
  expect(flaky).toContain('the platform is gone');
  expect(statesOf(subjects)).toEqual(['killed']);
  const { world: both } = worldOf([subject('a'), subject('b')], passing, gone);
  expect((await runMutation(both, optionsFor({ jobs: 2 }))).flaky).toContain('the platform is gone');
});

test('the faithful server runs after every 25 subjects, and its failure ends the run', async () => {
  const all = Array.from({ length: 30 }, (_, at) => subject(`d${at}`));
  const good = worldOf(all, passing);
  expect((await runMutation(good.world, optionsFor())).flaky).toBeUndefined();
  expect(good.starts()).toBe(3);
  const { flaky, subjects } = await runMutation(worldOf(all, passing, () => server(3)).world, optionsFor());
  expect(flaky).toContain('later ended with exit code 3');
  expect(statesOf(subjects).filter((state) => state === 'not_run')).toHaveLength(5);
});

test('a run has no more jobs than subjects, and a single start without subjects', async () => {
  const one = worldOf([subject('a')], passing);
  const begun: RunEstimate[] = [];
  const listener = { ...optionsFor().listener, onBegin: (begin: RunEstimate) => void begun.push(begin) };
  await runMutation(one.world, optionsFor({ jobs: 8, listener }));
  const [begin] = begun;
  expect(begin).toMatchObject({ count: 1, jobs: 1 });
  expect(begin?.expectedMs).toBeCloseTo(2 * (begin?.first.durationMs ?? 0));
  expect(one.starts()).toBe(2);
  const none = worldOf([subject('a')], passing);
  await runMutation(none.world, optionsFor({ choose: () => [] }));
  expect(none.starts()).toBe(1);
});

test('an interrupted start is not run, rather than a failed start', async () => {
  const ending = new AbortController();
  const interrupted = subject('a', async (signal) => {
    ending.abort(new Error('interrupted'));
    throw signal.reason;
  });
  const { world } = worldOf([interrupted], passing);
  const { subjects } = await runMutation(world, optionsFor({ signal: ending.signal }));
  expect(statesOf(subjects)).toEqual(['not_run']);
});

test('a failed or hanging set-up is reported, and so is a left process', async () => {
  const { world } = worldOf([subject('a')], passing);
  const failed = await runMutation(world, optionsFor({ setup: 'echo no library; exit 4' }));
  expect(failed.first).toMatchObject({ how: 'failed in --setup, which ended with exit code 4', wrote: 'no library' });
  expect(statesOf(failed.subjects)).toEqual(['not_run']);
  const late = await runMutation(world, optionsFor({ line: 'sleep 9', firstTimeoutMs: 100, testTimeoutMs: 50 }));
  expect(late.first).toMatchObject({ outcome: 'timed_out', how: 'were not over within 100 ms' });
  let left = 0;
  const counting = { ...optionsFor().listener, onLeftBehind: () => (left += 1) };
  const alone = worldOf([], passing);
  await runMutation(alone.world, optionsFor({ line: 'setsid sleep 3 & sleep 0.3', listener: counting }));
  expect(left).toBe(1);
});

test('a defect in code that the tests never call is never asked', async () => {
  const unseen = { ...subject('b'), decisions: ['untaken', 'neither'] };
  const { world } = worldOf([subject('a'), unseen, { ...subject('c'), decisions: [] }], passing);
  const { subjects } = await runMutation(world, optionsFor());
  expect(statesOf(subjects)).toEqual(['killed', 'never_asked', 'killed']);
  expect(subjects[1]?.reason).toContain('(untaken, neither)');
});
