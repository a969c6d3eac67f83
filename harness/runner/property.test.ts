import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { NoAnswer, Unreachable } from '../client/errors.ts';
import type { Recorded, Recorder } from '../client/recorder.ts';
import { Redactor } from '../common/redact.ts';
import { sampleExchange } from '../reports/testing/samples.ts';
import { NO_TRIES } from './plan.ts';
import {
  boundedProperty,
  codePoint,
  describeCommands,
  eachAtOnce,
  type PropertyBounds,
  runProperty,
} from './property.ts';
import { Session } from './session.ts';
import { one, run } from './testing/checks.ts';
import type { CheckContext, CheckResult } from './types.ts';
import { Blocked, shortText, Violation } from './violation.ts';

const seeded = { seed: 1, runs: 1, redactor: new Redactor(), onFound: () => {} };
const violation = (actual: unknown = 'more') => new Violation({ expected: 'another', actual: String(actual) });
const replayOf = ({ id = '', seed = 0, path = '' }: Partial<CheckResult> = {}) => ({ check: id, seed, path });

it.each(['0:3', '0:3:1', 'x'])(
  'properties draws new inputs for a replay whose path %s leads to none any more',
  async (path) => {
    const found = runProperty(fc.constant(10n), () => Promise.reject(violation()), { ...seeded, path });
    await expect(found).rejects.toThrow(Violation);
  },
);

let sent = (url: string): Recorded => sampleExchange({ url });
const context = (recorder: Recorder): object => {
  sent = (url) => recorder.add(sampleExchange({ url, curl: `curl ${url}` }));
  return {};
};

it('properties show the exchanges of the counterexample, not of later inputs', async () => {
  const asking = one((context: CheckContext) =>
    context.property(fc.nat(), async (value) => {
      sent(`/${value}`);
      context.should(value < 5, { expected: 'less than 5', actual: value });
      context.must(value < 10, { expected: 'less than 10', actual: value });
    }),
  );
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

it('properties show no exchange that follows the finding', async () => {
  const tidying = one(async (tools: CheckContext) => {
    try {
      for (const url of ['/first', '/second']) sent(url);
      tools.must(false, { expected: 'a', actual: 'b' });
    } finally {
      sent('/tidied');
    }
  });
  const [found] = (await run([tidying], { context })).checks;
  expect(found?.curl).toBe('curl /second');
  expect(found?.exchanges?.map(({ url }) => url)).toEqual(['/first', '/second']);
});

it('properties replay a counterexample in the property that failed, among several of a check', async () => {
  const values: number[] = [];
  const others: number[] = [];
  let least = 10;
  const two = one(async (context: CheckContext) => {
    await context.property(fc.nat(), async () => void others.push(0));
    await context.property(fc.nat(), async (value) => {
      values.push(value);
      context.must(value < least, { expected: `less than ${least}`, actual: value });
    });
  });
  const [result] = (await run([two])).checks;
  expect(result?.path).toMatch(/^1\//);
  values.length = 0;
  others.length = 0;
  const replays = [replayOf(result)];
  const again = await run([two], { replays, tries: NO_TRIES });
  expect([values, again.checks[0]?.path, others.length]).toEqual([[10], result?.path, 25]);
  values.length = 0;
  // A repaired target accepts the old counterexample.
  least = 11;
  await run([two], { replays, tries: NO_TRIES });
  expect(values).toEqual([10]);
});

it('properties draw the same inputs for the same seed, whichever checks run beside them', async () => {
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

it('properties try every example at any number of runs, and fewer inputs with --fast', async () => {
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
] as const)('properties report %s of a target that is gone afterwards', async ([, happens, actual]) => {
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

it.each<[string, unknown, object, string]>([
  ['a bigint', 2n ** 60n, {}, '1152921504606846976'],
  ['what the check calls it', 7, { describe: (value: unknown) => `seven (${value})` }, 'seven (7)'],
  ['what the finding calls it', 7, { counterexample: { of: 'its own' } }, '{"of":"its own"}'],
  ['text, cut', 'x'.repeat(3000), {}, `"${'x'.repeat(1999)}… (3002 characters)`],
])(
  'properties show the input as %s',
  async (_, value, { counterexample, ...options }: { counterexample?: object }, shown) => {
    const finding = { expected: 'a', actual: 'b', ...(counterexample === undefined ? {} : { counterexample }) };
    const fails = one((t) => t.property(fc.constant<unknown>(value), async () => t.must(false, finding), options));
    expect((await run([fails])).checks[0]?.counterexample).toBe(shown);
  },
);

it('properties report the replay path of model commands apart from their description', async () => {
  const command = { check: () => true, run: () => Promise.reject(violation('b')), toString: () => 'publish(1)' };
  let described = '';
  const commands = fc.commands([fc.constant(command)], { maxCommands: 3 });
  const describe = (value: Iterable<unknown>) => (described = describeCommands(value));
  const model = async (value: Iterable<fc.AsyncCommand<object, object>>) =>
    fc.asyncModelRun(() => ({ model: {}, real: {} }), value);
  const [result] = (await run([one((t) => t.property(commands, model, { describe }))])).checks;
  expect(result).toMatchObject({ outcome: 'fail', counterexample: 'publish(1)', replay_path: expect.any(String) });
  expect(described).toBe('publish(1)');
});

const random = fc.integer({ min: 1000, max: 2000 });
const options = { runs: 13, examples: [1, 2, 3].map((value): [unknown] => [value]) };

interface Given extends Partial<PropertyBounds>, Partial<Pick<CheckContext, 'signal' | 'session' | 'follows'>> {}

const { signal: open } = new AbortController();
function propertyWithin({ signal = open, session = new Session(), follows = false, ...bounds }: Given) {
  const notes: string[] = [];
  const property: CheckContext['property'] = (arbitrary, predicate, given) =>
    runProperty(arbitrary, predicate, seeded, given);
  const tools = { property, signal, session, follows, saw: () => {}, note: (note: string) => void notes.push(note) };
  const whole = { shrinkMs: 60_000, describeLeftOut: (some: number, all: number) => `${some}/${all}`, ...bounds };
  return { notes, property: boundedProperty(tools, whole) };
}

it('a bounded property tries at least one input when its time is over, and notes the count', async () => {
  const tried: number[] = [];
  const { property, notes } = propertyWithin({ tryMs: () => -1 });
  await property(random, async (value) => void tried.push(value), { runs: 20 });
  expect([tried.length, notes]).toEqual([1, ['1/20']]);
});

it('a bounded property shares one time limit for shrinking with the whole run', async () => {
  const session = new Session();
  const triesOf = async (): Promise<number> => {
    let tried = 0;
    const { property } = propertyWithin({ session });
    const failing = property(random, async (value) => {
      tried += 1;
      throw violation(value);
    });
    await expect(failing).rejects.toMatchObject({ finding: { counterexample: expect.any(String) } });
    return tried;
  };
  const before = session.shrinkMs;
  expect(await triesOf()).toBeGreaterThan(1);
  expect(session.shrinkMs).toBeLessThan(before);
  session.shrinkMs = 0;
  expect(await triesOf()).toBe(1);
});

it('a bounded property shrinks less when its finding may follow from another', async () => {
  const smallest = async (follows: boolean): Promise<unknown> => {
    const { property } = propertyWithin({ follows });
    const failing = property(fc.integer({ min: 500_000, max: 1_000_000 }), async (value) => {
      await sleep(50);
      if (value > 500_003) throw violation(value);
    });
    return ((await failing.catch((thrown: unknown) => thrown)) as Violation).finding.counterexample;
  };
  const [leading, following] = await Promise.all([smallest(false), smallest(true)]);
  expect(leading).toBe('500004');
  expect(following).not.toBe(leading);
});

it('a bounded property tries all examples first, even late, and then the least number of others', async () => {
  const tried: number[] = [];
  const { property, notes } = propertyWithin({ tryMs: () => -1, least: 2, examplesAtOnce: 8 });
  await property(random, async (value) => void tried.push(value), options);
  expect(tried.slice(0, 3)).toEqual([1, 2, 3]);
  expect([tried.length, notes]).toEqual([5, ['2/10']]);
});

it('a bounded property keeps a counterexample when a smaller one is blocked', async () => {
  const { property } = propertyWithin({});
  const body = async (value: number) => {
    if (value < 50) throw new Blocked('a rate limit');
    throw violation();
  };
  const run = property(fc.integer({ min: 0, max: 1000 }), body);
  await expect(run).rejects.toMatchObject({ finding: { counterexample: '50' } });
});

it('a bounded property rethrows a blocked input, and tries no input after the check ends', async () => {
  const blocked = () => Promise.reject(new Blocked('429 for a minute'));
  await expect(propertyWithin({ examplesAtOnce: 8 }).property(random, blocked, options)).rejects.toThrow(Blocked);
  const tried: number[] = [];
  const { property } = propertyWithin({ examplesAtOnce: 8, signal: AbortSignal.abort(new Blocked('over')) });
  await expect(property(random, async (value) => void tried.push(value), options)).rejects.toThrow('over');
  expect(tried).toEqual([]);
});

const ATTEMPTS: [string, (body: (value: number) => Promise<void>) => Promise<void>][] = [
  ['examples of a bounded property', (body) => propertyWithin({ examplesAtOnce: 8 }).property(random, body, options)],
  ['items at once', (body) => eachAtOnce({ signal: open }, [1, 2, 3], body)],
];

test.each(ATTEMPTS)('%s: a failed one is retried by itself, and its finding counts', async (_, tryAll) => {
  const tried: number[] = [];
  const trying = tryAll(async (value) => {
    tried.push(value);
    if (value === 2) throw violation(value);
  });
  await expect(trying).rejects.toMatchObject({ finding: { actual: '2' } });
  expect(tried.slice(0, 4)).toEqual([1, 2, 3, 2]);
});

test.each(ATTEMPTS)('%s: one that fails only beside others is reported', async (_, tryAll) => {
  let times = 0;
  const trying = tryAll(async () => {
    times += 1;
    if (times === 1) throw new NoAnswer('hung up');
  });
  await expect(trying).rejects.toThrow('hung up');
});

test('of items at once, eight run at a time', async () => {
  let now = 0;
  let most = 0;
  const body = async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise(setImmediate);
    now -= 1;
  };
  await eachAtOnce({ signal: open }, Array.from({ length: 20 }).map(String), body);
  expect(most).toBe(8);
});

test('a drawn code point is any except a lone surrogate', () => {
  const drawn = fc.sample(codePoint, { seed: 1, numRuns: 20_000 }).map((text) => text.codePointAt(0) ?? -1);
  expect(drawn.filter((point) => point >= 0xd800 && point < 0xe000)).toEqual([]);
  expect([Math.min(...drawn) < 0x80, drawn.some((point) => point >= 0xe000 && point < 0xffff)]).toEqual([true, true]);
  expect(Math.max(...drawn)).toBeGreaterThan(0x10_f000);
});

test.each<[unknown, string]>([
  ['text', 'text'],
  [undefined, 'nothing'],
  [new Error('why'), 'why'],
  [{ id: 2n ** 60n }, '{"id":"1152921504606846976"}'],
  [Symbol.for('a'), 'Symbol(a)'],
  ['x'.repeat(10), 'xxxxxxxxxx'],
  ['x'.repeat(11), 'xxxxxxxxxx… (11 characters)'],
])('%o is shown as short readable text', (value, shown) => {
  expect(shortText(value, 10 + 20 * Number(typeof value !== 'string'))).toBe(shown);
});
