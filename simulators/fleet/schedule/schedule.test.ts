import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseScenario } from '../scenario/read.ts';
import { ARRIVALS, type Arrivals, classOf, type Phase } from '../scenario/scenario.ts';
import {
  Deadlines,
  type Moments,
  membersOf,
  monotonicMs,
  type PlanOptions,
  runSchedule,
  streamsOf,
} from './schedule.ts';

const scenario = parseScenario(
  `
name: plan
phases:
  - { do: ramp, over: 2s }
  - { do: hold, for: 3s, ping: 40/s, lists: 10/s, reads: 10/s, expands: 5/s }
  - { do: rollout, share: 30%, over: 2s, ping: 5/s, arrivals: jitter }
  - { do: storm, share: 50%, over: 1s, arrivals: constant }
  - { do: kill, share: 10%, over: 1s }
  - { do: partition, share: 20%, for: 1s }
  - { do: clock-skew, share: 20%, by: 5s }
  - { do: stop, over: 1s }
`,
  'plan.yaml',
);

const all = (moments: Moments): number[] => {
  const found: number[] = [];
  for (let at = moments.next(); at !== undefined; at = moments.next()) found.push(at);
  return found;
};

const actions = (options: PlanOptions, parts: number): string[] =>
  Array.from({ length: parts }, (_, part) => membersOf(options.robots, { index: part + 1, count: parts }))
    .flatMap((members) =>
      scenario.phases.flatMap((of, phase) =>
        streamsOf(options, phase, of, members).flatMap(({ robot, kind, moments }) =>
          all(moments).map((at) => `${robot} ${phase} ${kind} ${at}`),
        ),
      ),
    )
    .sort();

it('the plan of a fleet is the same for any split of the fleet', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 2, max: 9 }),
      (seed, robots, parts) => {
        const options = { seed, robots };
        expect(actions(options, parts)).toEqual(actions(options, 1));
      },
    ),
    { numRuns: 20 },
  );
});

it('the plan of a fleet rounds a share to the nearest number of robots, at least one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 1000 }), (robots, permille) => {
      const kill = { do: 'kill', share: `${permille / 10}%`, over: '1s' } as const;
      const streams = streamsOf({ seed: 1, robots }, 0, kill, membersOf(robots));
      // 58 % of 25 robots are 14 or 15.
      const off = Math.abs(streams.length - Math.max(1, (permille * robots) / 1000));
      expect(off).toBeLessThanOrEqual(0.5 + 1e-9);
    }),
  );
});

const stage = (share: string, own = {}) => ({ do: 'rollout' as const, release: 'v2', share, over: '1s', ...own });
const reachedBy = (phases: Phase[], robots = 100): number[][] => {
  const plan = { seed: 4, robots, classes: { arm: { share: '50%' }, cart: { share: '50%' } }, phases };
  return phases.map((phase, index) => streamsOf(plan, index, phase, membersOf(robots)).map(({ robot }) => robot));
};

const sorted = (robots: readonly number[][]) => robots.flat().toSorted((one, other) => one - other);

it('the plan of a fleet rolls a release out in stages, to each robot once and by share', () => {
  const stages = [stage('10%'), stage('10%'), stage('40%'), stage('100%')];
  expect(reachedBy(stages).map(({ length }) => length)).toEqual([10, 1, 29, 60]);
  for (const phases of [stages, [stage('100%', { class: 'arm' }), ...stages]])
    expect(sorted(reachedBy(phases))).toEqual(membersOf(100));
});

it.each([1, 2, 3, 10])(
  'the plan of a fleet reaches a robot in each stage of a release while any of %i is left',
  (robots) => {
    const reached = reachedBy([stage('1%'), stage('10%'), stage('25%'), stage('100%')], robots);
    expect(sorted(reached)).toEqual(membersOf(robots));
    expect(reached.filter(({ length }) => length > 0)).toHaveLength(Math.min(robots, 4));
  },
);

it('the plan of a fleet restarts the stages of a release after another release', () => {
  const phases = [stage('10%', { release: 'next' }), stage('100%'), stage('100%', { release: 'next' })];
  expect(reachedBy(phases).map(({ length }) => length)).toEqual([10, 100, 100]);
});

it('the plan of a fleet differs by seed, and chooses other robots in another phase', () => {
  expect(actions({ seed: 1, robots: 20 }, 1)).not.toEqual(actions({ seed: 2, robots: 20 }, 1));
  const robotsIn = (kind: string) =>
    actions({ seed: 3, robots: 200 }, 1)
      .filter((line) => line.split(' ')[2] === kind)
      .map((line) => line.split(' ')[0]);
  expect(robotsIn('partition')).not.toEqual(robotsIn('clock-skew'));
});

const pingsOf = (robots: number, hold: Omit<Extract<Phase, { do: 'hold' }>, 'do'>): number[] =>
  streamsOf({ seed: 7, robots }, 0, { do: 'hold', ...hold }, membersOf(robots))
    .flatMap(({ moments }) => all(moments))
    .sort((a, b) => a - b);

describe('a rate over the whole fleet', () => {
  it('constant: evenly spaced; jitter: one in each interval', () => {
    const pings = (arrivals: Arrivals) => pingsOf(20, { for: '2s', ping: '50/s', arrivals });
    const intervals = Array.from({ length: 100 }, (_, index) => index);
    expect(pings('constant').map((at) => Math.round(1e6 * at) / 20e6)).toEqual(intervals);
    expect(pings('jitter').map((at) => Math.floor(at / 20))).toEqual(intervals);
  });

  it('poisson: the right number within five standard deviations, with memoryless gaps', () => {
    const at = pingsOf(50, { for: '100s', ping: '100/s', arrivals: 'poisson' });
    expect(Math.abs(at.length - 10_000)).toBeLessThan(500);
    const gaps = at.slice(1).map((moment, index) => moment - (at[index] ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    expect(deviation / mean).toBeCloseTo(1, 1);
  });

  it('ascends and stays within the phase', () => {
    const [rates, robots] = [fc.integer({ min: 0, max: 500 }), fc.integer({ min: 1, max: 50 })];
    fc.assert(
      fc.property(fc.constantFrom(...ARRIVALS), rates, robots, fc.nat(5000), (arrivals, rate, count, ms) => {
        const phase = { do: 'hold', for: `${ms}ms`, ping: `${rate}/s`, arrivals } as const;
        const at = streamsOf({ seed: rate, robots: count }, 0, phase, [count - 1]).flatMap(({ moments }) =>
          all(moments),
        );
        return at.every((moment, index) => moment >= (at[index - 1] ?? 0) && moment < ms);
      }),
    );
  });
});

it.each(ARRIVALS)('a share of the robots performs an action once, within the time (%s)', (arrivals) => {
  const phase = { do: 'storm', share: '25%', over: '1s', arrivals } as const;
  const at = streamsOf({ seed: 1, robots: 100 }, 0, phase, membersOf(100)).map(({ moments }) => all(moments));
  expect(at).toHaveLength(25);
  expect(at.every(([moment = -1, ...more]) => moment >= 0 && moment < 1000 && more.length === 0)).toBe(true);
});

it('the pages of a list depend only on its robot and phase', () => {
  const phase = { do: 'hold', for: '10s', lists: '10/s' } as const;
  const pagesOf = (robot: number, members: number[], index = 0): number[] => {
    const streams = streamsOf({ seed: 1, robots: 100 }, index, phase, members);
    const pages = streams.find((stream) => stream.robot === robot)?.pages;
    return Array.from({ length: 5 }, () => pages?.integer(0, 99) ?? -1);
  };
  const pages = pagesOf(3, [3]);
  expect(new Set(pages).size).toBeGreaterThan(1);
  expect(pages.every((page) => page >= 0)).toBe(true);
  expect(pagesOf(3, [1, 3, 7])).toEqual(pages);
  expect(pagesOf(7, [3, 7])).not.toEqual(pages);
  expect(pagesOf(3, [3], 1)).not.toEqual(pages);
});

const moments = (at: number[]): Moments => ({ next: () => at.shift() });

it('an open-loop schedule starts actions by time, and by stream at equal times', async () => {
  const seen: string[] = [];
  await runSchedule({
    epoch: 1000,
    now: () => 1_000_000,
    streams: [moments([5, 9]), moments([]), moments([1, 5, 12])],
    fire: (stream, intended) => seen.push(`${stream} ${intended}`),
  });
  expect(seen).toEqual(['2 1001', '0 1005', '2 1005', '0 1009', '2 1012']);
});

it('an open-loop schedule passes the due time of each action, even when it starts late', async () => {
  let clock = 0;
  const late: number[] = [];
  await runSchedule({
    epoch: 0,
    now: () => clock,
    streams: [moments([0, 10, 20])],
    fire: (_stream, intended) => {
      late.push(clock - intended);
      clock += 25; // A blocking action makes the following actions late.
    },
  });
  expect(late).toEqual([0, 15, 30]);
});

it('an open-loop schedule never starts an action early', async () => {
  const epoch = monotonicMs() + 5;
  const late: number[] = [];
  const streams = [moments([0, 3, 7.5]), moments([4, 11])];
  await runSchedule({ epoch, streams, fire: (_stream, intended) => late.push(monotonicMs() - intended) });
  expect(late).toHaveLength(5);
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
});

it('an open-loop schedule lets the event loop turn while it is behind', async () => {
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  const turnedAt: boolean[] = [];
  const streams = [moments(Array.from({ length: 1000 }, (_, index) => index))];
  await runSchedule({ epoch: 0, now: () => 1e9, streams, fire: () => turnedAt.push(turned) });
  expect(turnedAt[0]).toBe(false);
  expect(turnedAt.at(-1)).toBe(true);
});

const never = new Promise<void>(() => {});
const farOff = (): number => monotonicMs() + 3_600_000;

it('waits of a run may be longer than the 24 days of a timer', async () => {
  const deadlines = new Deadlines();
  const ended = deadlines.until(monotonicMs() + 30 * 86_400_000).then(() => 'ended');
  expect(await Promise.race([ended, setTimeout(50, 'waits')])).toBe('waits');
  deadlines.end();
  expect(await ended).toBe('ended');
});

it('waits of a run report whether work was done in time or the run ended, also to later ones', async () => {
  const deadlines = new Deadlines();
  expect(await deadlines.reached(farOff(), Promise.resolve())).toBe(true);
  expect(await deadlines.reached(monotonicMs(), never)).toBe(false);
  await expect(deadlines.reached(farOff(), Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  const open = deadlines.reached(farOff(), never);
  deadlines.end();
  expect(await Promise.all([open, deadlines.reached(farOff(), never)])).toEqual([true, true]);
});

it('a phase for a class uses only its robots, by share and whole rate', () => {
  const classes = { arm: { share: '75%' }, cart: { share: '25%' } };
  const whole = { seed: 1, robots: 400, classes };
  const phase = { do: 'rollout', class: 'cart', share: '50%', over: '10s', ping: '20/s', arrivals: 'jitter' } as const;
  const streams = streamsOf(whole, 1, phase, membersOf(400));
  expect(streams.every(({ robot }) => classOf({ classes }, robot) === 'cart')).toBe(true);
  expect(streams.filter(({ kind }) => kind === 'rollout')).toHaveLength(50);
  const pings = streams.filter(({ kind }) => kind === 'ping').flatMap(({ moments }) => all(moments));
  expect(pings).toHaveLength(200);
  const halves = [1, 2].map((index) => streamsOf(whole, 1, phase, membersOf(400, { index, count: 2 })));
  const told = (of: typeof streams) => of.map(({ robot, kind }) => `${robot} ${kind}`).sort();
  expect(told(halves.flat())).toEqual(told(streams));
});
