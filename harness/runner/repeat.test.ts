import { expect, it } from 'vitest';
import type { Recorder } from '../client/recorder.ts';
import { NO_TRIES } from './plan.ts';
import type { Rule } from './rules.ts';
import { answered, declared, failing, run } from './testing/checks.ts';
import type { CheckResult } from './types.ts';
import { Blocked, TooLittleSeen } from './violation.ts';

const never = { tries: NO_TRIES };
const blocked = (): Error => new Blocked('no disk');

it.each<[string, number[], object, number, how?: () => Error]>([
  ['passes when each run of it did', [], { outcome: 'pass', rate: { times: 5, failed: 0 } }, 0],
  ['fails when any did, with its finding', [2, 3], { actual: 'run 2', rate: { times: 5, failed: 2 } }, 1],
  ['is blocked when a run was and none failed', [2], { reason: 'no disk', rate: { times: 4 } }, 2, blocked],
])('a check that is run several times %s', async (_, runs, result, code, how) => {
  const report = await run([failing(runs, how && { how }).check], { repeat: 5, ...never });
  expect(report).toMatchObject({ checks: [result], exit_code: code, summary: { fail: code === 1 ? 1 : 0 } });
});

it('a check that is run several times fails for its first finding that the baseline does not excuse', async () => {
  const excuses = ({ actual }: CheckResult): boolean => actual !== 'run 4';
  const report = await run([failing([1, 2, 4]).check], { repeat: 5, excuses, ...never });
  expect(report.checks).toMatchObject([{ outcome: 'fail', actual: 'run 4', rate: { times: 5, failed: 3 } }]);
});

it('a check that is run several times takes its outcome from the runs that saw enough', async () => {
  const little = (): Error => new TooLittleSeen('no event came');
  const passes = await run([failing([1], { how: little }).check], { repeat: 3, ...never });
  expect(passes.checks).toMatchObject([{ outcome: 'pass', rate: { times: 2, failed: 0 } }]);
  const { check } = failing([1, 2], { how: (at) => (at === 1 ? little() : 'none') });
  const fails = await run([check], { repeat: 3, ...never });
  expect(fails.checks).toMatchObject([{ outcome: 'fail', rate: { times: 2, failed: 1 } }]);
});

it('a check that is run several times allows in each run for the same deviations as in the first', async () => {
  const deviation = { name: 'odd', allowance: 'readers allow for it' };
  const { check: odd } = failing(undefined, { id: 'test.odd', deviation, sharing: 'exclusive' });
  const reader = declared('test.reader', {}, async (t) =>
    t.must(t.allowsFor(deviation), { expected: 'even', actual: 'odd' }),
  );
  const report = await run([reader, odd], { repeat: 3, concurrency: 1, ...never });
  expect(report.checks[0]).toMatchObject({ outcome: 'fail', rate: { times: 3, failed: 3 } });
});

it('a check that is run several times counts a rule that broke in one round once', async () => {
  let round = 0;
  const context = ({ happened }: Recorder): object => {
    round += 1;
    happened(answered(`${round}`));
    return {};
  };
  const rule = (): Rule => (seen, judge) =>
    judge.must(seen.kind !== 'answer' || seen.answer.text !== '2', { expected: 'another text', actual: '2' });
  const judged = { ...declared('test.judged'), rule };
  const report = await run([declared('test.asking'), judged], { repeat: 4, context, ...never });
  expect(report.checks[1]).toMatchObject({ outcome: 'fail', rate: { times: 4, failed: 1 } });
});

it('a check that is run several times counts its runs alone with the target apart from the others', async () => {
  const alone = declared('test.alone', { sharing: 'disruptive' });
  let [met, running] = [Promise.withResolvers<void>(), 0];
  const meet = async (): Promise<void> => {
    const { promise, resolve } = met;
    running += 1;
    if (running % 2 === 0) met = Promise.withResolvers();
    if (running % 2 === 0) resolve();
    await promise;
  };
  const [one, other] = [declared('test.one', {}, meet), declared('test.other', {}, meet)];
  const report = await run([alone, one, other], { repeat: 2, ...never });
  expect(report.checks.map(({ rate }) => rate?.alone.times)).toEqual([2, 0, 0]);
});

it('a run that ends before all of its rounds counts the decided rounds, and is incomplete', async () => {
  const stop = new AbortController();
  let count = 0;
  const check = declared('test.stopping', {}, async () => {
    count += 1;
    if (count === 3) stop.abort();
    if (count === 3) await new Promise(() => {});
  });
  const report = await run([check], { repeat: 10, signal: stop.signal, ...never });
  expect(report.checks).toMatchObject([{ outcome: 'pass', rate: { times: 2, failed: 0 } }]);
  expect(report).toMatchObject({ exit_code: 130, complete: false });
  expect(report.unmet).toEqual(['--repeat 10: the run ended in round 3']);
});

it('a run that ends before all of its rounds counts a repeatedly failing check once for --bail', async () => {
  expect((await run([failing().check], { repeat: 4, bail: 2, ...never })).checks[0]?.rate?.times).toBe(4);
  const other = declared('test.other', {}, async (t) => t.must(false, { expected: 'a', actual: 'b' }));
  const report = await run([failing().check, other], { repeat: 3, bail: 2, concurrency: 1, ...never });
  expect(report.unmet).toEqual(['--repeat 3: the run ended in round 1']);
});
