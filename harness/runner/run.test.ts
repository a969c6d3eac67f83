import { expect, it } from 'vitest';
import { NoAnswer, Unfinished, Unreachable } from '../client/errors.ts';
import type { Recorder } from '../client/recorder.ts';
import { declared, one, run } from './testing/checks.ts';
import type { Check, CheckResult } from './types.ts';
import { Blocked } from './violation.ts';

const throwing = (error: Error) => (): never => {
  throw error;
};
it.each([
  ['closed on us', new NoAnswer('GET /: closed'), 'fail'],
  ['refused', new Unreachable('GET /: refused'), 'blocked'],
  ['larger than Muster reads', new Unfinished('GET /: a body larger than 16 MiB'), 'blocked'],
])('outcomes of a connection that is %s', async (_, error, expected) => {
  expect((await run([one(throwing(error))])).checks[0]?.outcome).toBe(expected);
});

const tooMany = Object.assign(new Error('EMFILE: too many open files, open x'), { code: 'EMFILE' });
it.each([
  ['trouble of its own', new TypeError('no function'), true, 'a fault in Muster: TypeError', 3],
  ['a limit of this machine', new Error('cannot read', { cause: tooMany }), undefined, 'raise `ulimit -n`', 2],
])('outcomes are blocked by %s, with the reason', async (_, error, fault, reason, code) => {
  const report = await run([one(throwing(error))]);
  expect(report.checks).toMatchObject([{ outcome: 'blocked', reason: expect.stringContaining(reason) }]);
  expect(report.checks[0]?.fault).toBe(fault);
  expect(report.exit_code).toBe(code);
});

it.each([
  [0, 2],
  [1, 0],
])('outcomes of a watch with %i answers of the server give exit code %i', async (answers, code) => {
  const watched = { connections: 1, exchanges: 1, events: 0, gaps: [], began: Date.now(), answers };
  expect((await run([one(async () => {})], { watched })).exit_code).toBe(code);
});

it('outcomes are blocked when control fails midway, with the exchanges before it', async () => {
  class ControlFailed extends Blocked {}
  const context = (recorder: Recorder): object => {
    recorder.add({ method: 'GET', url: 'http://x/', request_headers: {}, duration_ms: 0, curl: 'curl x' });
    return {};
  };
  const check = one(async (tools) => {
    tools.should(false, { expected: 'a', actual: 'b' });
    throw new ControlFailed('control: POST /publish answered 500');
  });
  const report = await run([check, one(async () => {}, 'SHOULD')], { context });
  expect(report.checks).toMatchObject([
    { outcome: 'blocked', reason: 'control: POST /publish answered 500', curl: 'curl x' },
    { outcome: 'pass' },
  ]);
  expect(report.checks[0]?.observations).toHaveLength(1);
  expect(report).toMatchObject({ exit_code: 2, complete: false });
});

const fails = one(async (context) => context.must(false, { expected: 'a', actual: 'b' }));

it('the replay command shows a placeholder when the start of the run is unknown', async () => {
  expect((await run([fails])).checks[0]?.replay_command).toBe('muster check device … --only test.MUST --seed 1');
});

it('the replay command is given for known failures, but not for stale entries of the baseline', async () => {
  const settle = (results: CheckResult[]): CheckResult[] =>
    results.flatMap((result) => [
      { ...result, outcome: 'known' },
      { ...result, id: 'baseline:test.gone', outcome: 'fixed' },
    ]);
  const report = await run([fails], { settle });
  expect(report.checks.map((result) => result.replay_command !== undefined)).toEqual([true, false]);
});

it('the exit code is 2 when nothing could run', async () => {
  expect((await run([declared('test.needy', { needs: ['drive'] })])).exit_code).toBe(2);
  expect((await run([])).exit_code).toBe(2);
  expect((await run([one(async () => {})], { unreachable: 'no such socket' })).exit_code).toBe(2);
});

it('a run has exclusive checks one at a time, and disruptive checks alone', async () => {
  let running = 0;
  const seen: Record<string, number> = {};
  const named = (name: string, options: Partial<Check<object>>): Check<object> =>
    declared(`test.${name}`, options, async () => {
      running += 1;
      await new Promise(setImmediate);
      seen[name] = Math.max(seen[name] ?? 0, running);
      await new Promise(setImmediate);
      running -= 1;
    });
  await run([
    named('killer', { sharing: 'disruptive' }),
    named('reader', {}),
    named('driver', { sharing: 'exclusive' }),
    named('other driver', { sharing: 'exclusive' }),
    named('waiter', { slow: true }),
  ]);
  expect(seen['killer']).toBe(1);
  expect(Math.max(seen['driver'] ?? 0, seen['other driver'] ?? 0)).toBeGreaterThan(1);
  expect(Math.max(seen['driver'] ?? 0, seen['other driver'] ?? 0)).toBeLessThanOrEqual(3);
});
