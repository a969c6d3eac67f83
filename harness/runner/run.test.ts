import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { NoAnswer, Unreachable } from '../client/errors.ts';
import { Recorder } from '../client/recorder.ts';
import { Redactor } from '../client/redact.ts';
import { UsageError } from '../common/usage.ts';
import { checks, requirement, suite } from './define.ts';
import { makePlan } from './plan.ts';
import { type RunOptions, runSuite } from './run.ts';
import { runCheck } from './run-check.ts';
import type { Capability, Check, CheckContext, CheckResult, Level, Report, TargetDescription } from './types.ts';
import { Blocked } from './violation.ts';

const target: TargetDescription = { kind: 'test', address: 'nowhere', capabilities: [], control: 'none' };
const define = checks<object>();

function one(run: (context: CheckContext) => Promise<void>, level: Level = 'MUST'): Check<object> {
  return define(
    requirement({
      id: `test.${level}`,
      level,
      section: '6.2',
      since: '2026-11-21',
      text: 'Something holds.',
    }),
    {},
    run,
  );
}

function run(
  list: Check<object>[],
  options: Partial<RunOptions<object>> & { capabilities?: Capability[] } = {},
): Promise<Report> {
  const all = suite<object>('device', [list]);
  const plan = makePlan(all, { capabilities: new Set(options.capabilities) });
  return runSuite(all, {
    plan,
    target,
    context: () => ({}),
    redactor: new Redactor(),
    seed: 1,
    version: '0',
    ...options,
  });
}

const outcome = async (check: Check<object>): Promise<string | undefined> => (await run([check])).checks[0]?.outcome;

describe('outcomes', () => {
  it('passes what does not object', async () => {
    expect(await outcome(one(async () => {}))).toBe('pass');
  });

  it('tells a MUST, a SHOULD and an INFO apart', async () => {
    const broken = async (context: CheckContext): Promise<void> => context.must(false, { expected: 'one', actual: 2 });
    expect(await outcome(one(broken, 'MUST'))).toBe('fail');
    expect(await outcome(one(broken, 'SHOULD'))).toBe('warn');
    expect(await outcome(one(broken, 'INFO'))).toBe('pass');
  });

  it('lets a should go on and ends as warn', async () => {
    let reached = false;
    const check = one(async (context) => {
      context.should(false, { expected: '401', actual: 403 });
      reached = true;
    });
    expect(await outcome(check)).toBe('warn');
    expect(reached).toBe(true);
  });

  it('calls a connection that is closed on us a failure, and one that cannot be made blocked', async () => {
    const hangUp = one(async () => {
      throw new NoAnswer('GET /: closed');
    });
    const dead = one(async () => {
      throw new Unreachable('GET /: refused');
    });
    expect(await outcome(hangUp)).toBe('fail');
    expect(await outcome(dead)).toBe('blocked');
  });

  it('never takes trouble of its own for conformance', async () => {
    const report = await run([
      one(async () => {
        throw new TypeError('undefined is not a function');
      }),
    ]);
    expect(report.checks[0]).toMatchObject({ outcome: 'blocked', reason: expect.stringContaining('harness:') });
    expect(report.exit_code).toBe(2);
  });

  it('blocks a check that takes longer than its limit, and aborts what it has begun', async () => {
    let aborted = false;
    const check = one(
      ({ signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            aborted = true;
          });
        }),
    );
    const result = await runCheck({
      check,
      context: {},
      recorder: new Recorder(),
      seed: 1,
      runs: 1,
      signal: new AbortController().signal,
      limitMs: 1,
    });
    expect(result).toMatchObject({ outcome: 'blocked', reason: 'did not end within 0.001 s' });
    expect(aborted).toBe(true);
  });

  it('blocks a check whose control fails in the middle, and shows what came before', async () => {
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

  it('blocks a check that never ends once the run is interrupted', async () => {
    const stop = new AbortController();
    const ending = run([one(() => new Promise(() => {})), one(async () => {}, 'SHOULD')], {
      signal: stop.signal,
      concurrency: 1,
    });
    stop.abort();
    const report = await ending;
    expect(report.checks.map((check) => check.outcome)).toEqual(['blocked', 'blocked']);
    expect(report.complete).toBe(false);
  });
});

describe('properties', () => {
  const replayOf = (result?: CheckResult) => ({
    check: result?.id ?? '',
    seed: result?.seed ?? 0,
    path: result?.path ?? '',
  });
  const smallerThan10 = one((context) =>
    context.property(fc.nat(), async (value) => context.must(value < 10, { expected: 'less than 10', actual: value })),
  );

  it('report the smallest counterexample with what replays it', async () => {
    const [result] = (await run([smallerThan10])).checks;
    expect(result).toMatchObject({ outcome: 'fail', counterexample: '10', actual: '10' });
    expect(result?.path).toBeTruthy();
    const again = await run([smallerThan10], { replays: [replayOf(result)] });
    expect(again.checks[0]).toMatchObject({ outcome: 'fail', counterexample: '10', seed: result?.seed });
  });

  it('show the exchanges of the counterexample, not of what was tried after it', async () => {
    let sent = (_: string): void => {};
    const asking = one((context: CheckContext) =>
      context.property(fc.nat(), async (value) => {
        sent(`/${value}`);
        context.should(value < 5, { expected: 'less than 5', actual: value });
        context.must(value < 10, { expected: 'less than 10', actual: value });
      }),
    );
    const context = (recorder: Recorder): object => {
      sent = (url) =>
        void recorder.add({ method: 'GET', url, request_headers: {}, duration_ms: 0, curl: `curl ${url}` });
      return {};
    };
    const [failed] = (await run([asking], { context })).checks;
    expect(failed).toMatchObject({ counterexample: '10', curl: 'curl /10' });
    expect(failed?.exchanges?.map(({ url }) => url)).toEqual(['/10']);
    const warning = one(async (tools) => {
      sent('/first');
      tools.should(false, { expected: 'a', actual: 'b' });
      sent('/second');
    });
    expect((await run([warning], { context })).checks[0]).toMatchObject({ outcome: 'warn', curl: 'curl /first' });
  });

  it('replay in the property that failed, when a check has several', async () => {
    const values: number[] = [];
    let least = 10;
    const two = one(async (context: CheckContext) => {
      await context.property(fc.nat(), async () => {});
      await context.property(fc.nat(), async (value) => {
        values.push(value);
        context.must(value < least, { expected: `less than ${least}`, actual: value });
      });
    });
    const [result] = (await run([two])).checks;
    expect(result?.path).toMatch(/^1\//);
    values.length = 0;
    const replays = [replayOf(result)];
    const again = await run([two], { replays });
    expect([values, again.checks[0]?.path]).toEqual([[10], result?.path]);
    values.length = 0;
    // Mended: that value passes, and no other is tried.
    least = 11;
    await run([two], { replays });
    expect(values).toEqual([10]);
  });

  it('draw the same for the same seed, whatever else runs', async () => {
    const drawn: number[][] = [];
    const draws = one(async (context) => {
      const values: number[] = [];
      drawn.push(values);
      await context.property(fc.nat(), async (value) => void values.push(value));
    });
    await run([draws]);
    await run([one(async () => {}, 'SHOULD'), draws]);
    await run([draws], { seed: 2 });
    expect(drawn[0]).toEqual(drawn[1]);
    expect(drawn[0]).not.toEqual(drawn[2]);
  });

  it.for([
    ['a violation', (context: CheckContext) => context.must(false, { expected: 'a', actual: 'b' }), 'b'],
    ['no answer', () => Promise.reject(new NoAnswer('GET /: closed')), 'GET /: closed'],
  ] as const)('report %s of a target that is gone once it happened', async ([, happens, actual]) => {
    let alive = true;
    const check = one((context) =>
      context.property(fc.nat(), async (value) => {
        if (!alive) throw new Unreachable('gone');
        if (value < 10) return;
        alive = false;
        await happens(context);
      }),
    );
    const [result] = (await run([check])).checks;
    expect(result).toMatchObject({ outcome: 'fail', actual });
    expect(Number(result?.counterexample)).toBeGreaterThanOrEqual(10);
  });

  it('do not shrink trouble into a verdict', async () => {
    const check = one((context) =>
      context.property(fc.nat(), async () => {
        throw new Unreachable('gone');
      }),
    );
    expect(await outcome(check)).toBe('blocked');
  });
});

test('a report that cannot be written keeps no other one from its reader', async () => {
  const told: string[] = [];
  const broken = { onEnd: () => Promise.reject(new Error('disk full')) };
  const listeners = [broken, { onEnd: () => void told.push('verdict') }];
  await expect(run([one(async () => {})], { listeners })).rejects.toThrow('disk full');
  expect(told).toEqual(['verdict']);
});

describe('the command that runs a check again', () => {
  const fails = one(async (context) => context.must(false, { expected: 'a', actual: 'b' }));

  it('stands in the result of what failed, and of nothing that passed', async () => {
    const report = await run([fails, one(async () => {}, 'SHOULD')], { replayCommand: ({ id }) => `again ${id}` });
    expect(report.checks.map((result) => result.replay_command)).toEqual(['again test.MUST', undefined]);
  });

  it('shows its shape where nobody knows how the run was started', async () => {
    expect((await run([fails])).checks[0]?.replay_command).toBe('muster check device … --only test.MUST --seed 1');
  });

  it('belongs to what the baseline excuses, but not to its stale entries', async () => {
    const settle = (results: CheckResult[]): CheckResult[] =>
      results.flatMap((result) => [
        { ...result, outcome: 'known' },
        { ...result, id: 'baseline:test.gone', outcome: 'fixed' },
      ]);
    const report = await run([fails], { settle });
    expect(report.checks.map((result) => result.replay_command !== undefined)).toEqual([true, false]);
  });
});

describe('exit codes', () => {
  const pass = one(async () => {});
  const warn = one(async (context) => context.should(false, { expected: 'a', actual: 'b' }), 'SHOULD');
  const needy = define(
    requirement({
      id: 'test.needy',
      level: 'MUST',
      section: '1',
      since: '2026-11-21',
      text: 'x',
    }),
    { needs: ['drive'] },
    async () => {},
  );

  it('are 0 with warnings, and 2 when nothing could run', async () => {
    expect((await run([pass, warn])).exit_code).toBe(0);
    expect((await run([needy])).exit_code).toBe(2);
    expect((await run([])).exit_code).toBe(2);
    expect((await run([pass], { unreachable: 'no such socket' })).exit_code).toBe(2);
  });
});

describe('sharing', () => {
  it('gives exclusive checks the target one at a time and disruptive ones for themselves', async () => {
    let running = 0;
    const seen: Record<string, number> = {};
    const named = (name: string, options: Partial<Check<object>>): Check<object> =>
      define(
        requirement({
          id: `test.${name}`,
          level: 'MUST',
          section: '1',
          since: '2026-11-21',
          text: name,
        }),
        options,
        async () => {
          running += 1;
          await new Promise(setImmediate);
          seen[name] = Math.max(seen[name] ?? 0, running);
          await new Promise(setImmediate);
          running -= 1;
        },
      );
    await run([
      named('killer', { sharing: 'disruptive' }),
      named('reader', {}),
      named('driver', { sharing: 'exclusive' }),
      named('other driver', { sharing: 'exclusive' }),
      named('waiter', { slow: true }),
    ]);
    expect(seen['killer']).toBe(1);
    expect(seen['driver']).toBeGreaterThan(1);
    expect(Math.max(seen['driver'] ?? 0, seen['other driver'] ?? 0)).toBeLessThanOrEqual(3);
  });
});

describe('plan', () => {
  const all = suite<object>('device', [
    [
      define(
        requirement({
          id: 'device.events.frame',
          level: 'MUST',
          section: '6.1',
          since: '2026-11-21',
          text: 'x',
        }),
        { needs: ['drive'] },
        async () => {},
      ),
      define(
        requirement({
          id: 'device.events.heartbeat',
          level: 'MUST',
          section: '6.2',
          since: '2026-11-21',
          text: 'x',
        }),
        { slow: true },
        async () => {},
      ),
    ],
  ]);
  const none = new Set<Capability>();

  it('refuses an id that nothing has, and says which is near', () => {
    expect(() => makePlan(all, { capabilities: none, only: ['device.events.fram'] })).toThrow(UsageError);
    expect(() => makePlan(all, { capabilities: none, only: ['device.events.fram'] })).toThrow(
      'did you mean device.events.frame',
    );
    expect(() => makePlan(all, { capabilities: none, sections: ['42'] })).toThrow('6.1, 6.2');
  });

  it('lists what it leaves out, with the reason', () => {
    const plan = makePlan(all, { capabilities: none, fast: true });
    expect(plan.checks.map(({ skip }) => skip)).toEqual([
      expect.stringContaining('drive'),
      expect.stringContaining('--fast'),
    ]);
    expect(plan.narrowedBy).toEqual(['--fast']);
  });

  it('blames --read-only, not the target, for what may not write', () => {
    const writing = define(
      requirement({
        id: 'platform.group.tree',
        level: 'MUST',
        section: '9',
        since: '2026-11-21',
        text: 'x',
      }),
      { needs: ['write'], writes: true },
      async () => {},
    );
    const plan = makePlan(suite<object>('platform', [[writing]]), { capabilities: none, readOnly: true });
    expect(plan.checks.map(({ skip }) => skip)).toEqual([expect.stringContaining('--read-only')]);
    expect(plan.narrowedBy).toEqual(['--read-only']);
  });

  it('takes patterns and sections', () => {
    const ids = (options: object): string[] =>
      makePlan(all, { capabilities: none, ...options }).checks.map(({ check }) => check.id);
    expect(ids({ only: ['*heartbeat'] })).toEqual(['device.events.heartbeat']);
    expect(ids({ only: ['device.events'] })).toHaveLength(2);
    expect(ids({ sections: ['6'] })).toHaveLength(2);
    expect(ids({ sections: ['6.2'] })).toEqual(['device.events.heartbeat']);
  });
});
