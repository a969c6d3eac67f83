import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NoAnswer, Unreachable } from '../client/errors.ts';
import type { Recorder } from '../client/recorder.ts';
import { one, outcome, run } from './testing/checks.ts';
import type { CheckContext, CheckResult } from './types.ts';

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

  it('try every example however few the runs are, and fewer drawn inputs with --fast', async () => {
    const tried: number[] = [];
    const draws = one((context) =>
      context.property(fc.nat(), async (value) => void tried.push(value), { runs: 20, examples: [[1], [2], [3]] }),
    );
    await run([draws], { runs: 0.1 });
    expect(tried.splice(0)).toEqual([1, 2, 3]);
    await run([draws], { fast: true });
    expect(tried).toHaveLength(8);
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
