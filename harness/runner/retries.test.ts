import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rateInWords } from './attempts.ts';
import { declared, failing, run } from './testing/checks.ts';
import type { Check, CheckContext, CheckResult, Report } from './types.ts';
import { Blocked } from './violation.ts';

const broken = (t: Pick<CheckContext, 'must'>, actual: unknown = 'none'): void =>
  t.must(false, { expected: 'an answer', actual });

const other = declared('test.other', {}, async () => {});
const wordsOf = ({ checks }: Report): (string | undefined)[] => checks.map(({ rate }) => rate && rateInWords(rate));

it.each<[string, number[] | undefined, Check<object>[], string]>([
  ['each time', undefined, [], '3 of 3 times'],
  ['now and then', [1, 3], [other], '2 of 3 times (alone 1 of 2)'],
  ['once', [1], [], '1 of 3 times'],
])('a finding that comes %s is reported with its rate, and is a failure', async (_, runs, beside, words) => {
  const report = await run([failing(runs).check, ...beside]);
  expect(wordsOf(report)[0]).toBe(words);
  expect(report.checks[0]).toMatchObject({ outcome: 'fail', actual: 'run 1' });
  expect(report).toMatchObject({ exit_code: 1, summary: { fail: 1, pass: beside.length } });
});

it('a finding of a SHOULD is retried, and a MUST that fails then is reported', async () => {
  expect(wordsOf(await run([failing([1, 2], { level: 'SHOULD' }).check]))).toEqual(['2 of 3 times']);
  let runs = 0;
  const check = declared('test.worse', {}, async (t: CheckContext) => {
    runs += 1;
    t.should(false, { expected: 'a', actual: 'b' });
    if (runs === 3) broken(t, 'worse');
  });
  expect((await run([check])).checks[0]).toMatchObject({ outcome: 'fail', actual: 'worse' });
});

it('a finding is retried with only its counterexample and its seed', async () => {
  const tried: number[][] = [];
  const check = declared('test.property', {}, async (t: CheckContext) => {
    const values: number[] = [];
    tried.push(values);
    await t.property(fc.nat(1000), async (value) => {
      values.push(value);
      if (value > 100) broken(t, value);
    });
  });
  expect((await run([check])).checks[0]?.counterexample).toBe('101');
  expect(tried[0]?.length).toBeGreaterThan(2);
  expect(tried.slice(1)).toEqual([[101], [101]]);
});

it('a finding is retried by a reader with the same allowances as at first', async () => {
  const deviation = { name: 'odd', allowance: 'readers allow for it' };
  const odd = declared('test.odd', { deviation, sharing: 'exclusive' }, async (t: CheckContext) => broken(t));
  const early = declared('test.early', {}, async (t: CheckContext) => {
    if (!t.allowsFor(deviation)) broken(t, 'odd');
  });
  const late = declared('test.late', { premises: ['test.odd'], sharing: 'exclusive' }, async (t: CheckContext) => {
    broken(t, t.allowsFor(deviation) ? 'other' : 'odd');
  });
  const { checks } = await run([early, odd, late]);
  expect(checks.map(({ rate }) => rate?.failed)).toEqual([3, 3, 1]);
  expect(checks[2]).toMatchObject({ allowed_for: ['odd'], consequence_of: 'test.odd' });
});

it('a finding gives the reason when its retry is undecided', async () => {
  const { check } = failing(undefined, { how: (at) => (at > 1 ? new Blocked('no disk') : 'none') });
  const report = await run([check]);
  expect(wordsOf(report)).toEqual(['not tried again: undecided when it was tried: no disk']);
  expect(report.checks[0]?.outcome).toBe('fail');
});

it('a finding that a baseline excuses is not retried', async () => {
  const { check, seen } = failing();
  const report = await run([check], { excuses: () => true });
  expect(seen.runs).toBe(1);
  expect(wordsOf(report)).toEqual([undefined]);
});

it('a finding that may follow from another is not retried', async () => {
  const { check: lead } = failing(undefined, { id: 'test.lead' });
  const { check, seen } = failing(undefined, { id: 'test.follows', premises: ['test.lead'] });
  expect(wordsOf(await run([lead, check]))[1]).toBe('not tried again: may follow from test.lead');
  expect(seen.runs).toBe(1);
});

it('a finding is retried once with --fast', async () => {
  const { check, seen } = failing();
  expect(wordsOf(await run([check], { fast: true }))).toEqual(['2 of 2 times']);
  expect(seen.runs).toBe(2);
});

it('a finding of several rounds is retried', async () => {
  expect(wordsOf(await run([failing([1, 2, 3]).check, other], { repeat: 3 }))).toEqual([
    'only beside other requests: 3 of 3 times, and 0 of 2 alone',
    '0 of 3 times',
  ]);
});

describe('the time for retries', () => {
  const MANY = 60;
  const many = (body: Check<object>['run']): Check<object>[] =>
    Array.from({ length: MANY }, (_, index) => declared(`test.number-${index}`, { sharing: 'exclusive' }, body));
  const tries = (mostMs: number) => ({ tries: { times: 2, leastMs: 0, mostMs } });
  /** Letters that differ for each count, because findings that differ only in numbers count as equal. */
  const words = (count: number): string => String.fromCodePoint(97 + (count % 26)).repeat(1 + Math.floor(count / 26));

  it('is bounded, and a finding left out says so', async () => {
    let runs = 0;
    const list = many(async (t: CheckContext) => {
      runs += 1;
      await sleep(20);
      broken(t, words(runs));
    });
    const report = await run(list, tries(500));
    expect(runs).toBeGreaterThan(MANY);
    expect(runs).toBeLessThan(2 * MANY);
    const left = wordsOf(report).filter((text) => text?.startsWith('not tried again: no time left'));
    expect([2 * MANY - runs, 2 * MANY - runs + 1]).toContain(left.length);
  });

  it('goes to each finding once before any second retry', async () => {
    const order: string[] = [];
    const named = (id: string, actual: string): Check<object> =>
      declared(id, { sharing: 'exclusive' }, async (t: CheckContext) => {
        order.push(id);
        broken(t, actual);
      });
    await run([named('test.a', 'one'), named('test.b', 'two')]);
    expect(order.slice(2)).toEqual(['test.a', 'test.b', 'test.a', 'test.b']);
  });

  it('cuts off a retry that does not end', async () => {
    let runs = 0;
    const check = declared('test.hangs', {}, async (t: CheckContext) => {
      runs += 1;
      if (runs > 1) await new Promise(() => {});
      broken(t);
    });
    expect(wordsOf(await run([check], tries(500)))[0]).toMatch(/^not tried again: no time left/);
  });

  it('is refused to a check that takes longer than is left', async () => {
    const check = declared('test.slow', {}, async (t: CheckContext) => {
      await sleep(60);
      broken(t);
    });
    expect(wordsOf(await run([check], tries(30)))[0]).toMatch(/^not tried again: no time left: it takes \d+ ms$/);
  });

  it.each<[string, Parameters<typeof run>[1], RegExp]>([
    ['--bail', { bail: 1 }, /^not tried again: the run was over: not run to its end: --bail 1$/],
    ['--max-time', { maxTimeMs: 40 }, /^not tried again: (no time left|the run was over: not decided within 40 ms)/],
  ])('ends when the run is over by %s', async (_, options, why) => {
    const check = declared('test.late', {}, async (t: CheckContext) => broken(t));
    const waits = declared('test.waits', { sharing: 'disruptive' }, () => new Promise<void>(() => {}));
    const report = await run([check, waits], options);
    expect(wordsOf(report)[0]).toMatch(why);
    expect(report.exit_code).toBe(1);
  });

  it('ends on an interrupt', async () => {
    const stop = new AbortController();
    const check = declared('test.stops', {}, async (t: CheckContext) => broken(t));
    const report = await run([check], { signal: stop.signal, listeners: [{ onCheckEnd: () => stop.abort() }] });
    expect(report.checks.map(({ outcome }: CheckResult) => outcome)).toEqual(['fail']);
    expect(wordsOf(report)).toEqual(['not tried again: the run was over: interrupted']);
  });
});
