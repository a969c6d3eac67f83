import { expect, it } from 'vitest';
import { Session, throttled, throttledPauseMs } from './session.ts';
import { WAIT_POLICIES, Waits } from './waits.ts';

const PATIENCE = 10_000;
const { signal } = new AbortController();

const started = () => new Waits(WAIT_POLICIES.device);

it('a wait for a device lasts as long as its policy allows until the target proves quick', () => {
  const waits = started();
  expect(waits.within('event', PATIENCE)).toBe(PATIENCE);
  for (const kind of ['event', 'deployed']) for (let count = 0; count < 4; count += 1) waits.succeeded(kind, 20);
  expect(waits.within('event', PATIENCE)).toBe(PATIENCE);
  for (const kind of ['event', 'deployed']) waits.succeeded(kind, 20);
  expect(waits.within('event', PATIENCE)).toBe(PATIENCE / 2);
  expect(waits.within('deployed', PATIENCE)).toBe(PATIENCE);
  expect(waits.within('answer', PATIENCE)).toBe(PATIENCE);
});

it('a wait for a device is short after a timeout of its kind, and longer after a slow success', () => {
  const waits = started();
  waits.timedOut('event');
  expect([waits.within('event', PATIENCE), waits.within('event', 300)]).toEqual([1000, 300]);
  expect([waits.within('stream', PATIENCE), waits.within('replay', PATIENCE)]).toEqual([PATIENCE, PATIENCE]);
  waits.succeeded('event', 900);
  expect(waits.within('event', PATIENCE)).toBe(4500);
  waits.succeeded('event', 4000);
  expect(waits.within('event', PATIENCE)).toBe(20_000);
  expect([waits.slowestMs('event'), waits.slowestMs('stream')]).toEqual([4000, 0]);
});

it('a wait for a device is shorter for a similar kind, once that kind proves quick', () => {
  const waits = started();
  for (let count = 0; count < 5; count += 1) waits.succeeded('event', 20);
  expect(waits.within('replay', PATIENCE)).toBe(PATIENCE / 2);
  waits.timedOut('event');
  expect([waits.within('event', PATIENCE), waits.within('replay', PATIENCE)]).toEqual([1000, PATIENCE / 8]);
  expect([waits.within('deployed', PATIENCE), waits.within('answer', PATIENCE)]).toEqual([PATIENCE, PATIENCE]);
  waits.succeeded('replay', 900);
  expect([waits.within('event', PATIENCE), waits.within('replay', PATIENCE)]).toEqual([1000, 4500]);
});

it('a wait for a device of a MUST is not shortened by a timeout of a SHOULD', () => {
  const waits = started();
  waits.timedOut('stream', true);
  expect([waits.within('stream', PATIENCE), waits.within('stream', PATIENCE, true)]).toEqual([PATIENCE, 1000]);
  waits.timedOut('stream');
  expect(waits.within('stream', PATIENCE)).toBe(1000);
});

it('a wait for a platform answer lasts five times the slowest, and is whole after a success', () => {
  const waits = new Waits(WAIT_POLICIES.platform);
  waits.timedOut('POST /ping');
  expect([waits.within('POST /ping', PATIENCE), waits.within('GET /devices', PATIENCE)]).toEqual([1000, PATIENCE]);
  waits.succeeded('GET /devices', 1500);
  expect([waits.within('POST /ping', PATIENCE), waits.within('POST /ping', 5000)]).toEqual([7500, 5000]);
  waits.succeeded('POST /ping', 20);
  expect(waits.within('POST /ping', PATIENCE)).toBe(PATIENCE);
});

it('a wait for an effect is shorter after any timeout or many quick ones, and five times the slowest success', () => {
  const waits = new Waits(WAIT_POLICIES.effect);
  expect(waits.within('archived', PATIENCE)).toBe(PATIENCE);
  for (let count = 0; count < 5; count += 1) waits.succeeded('deployed', 50);
  expect(waits.within('archived', PATIENCE)).toBe(PATIENCE / 2);
  waits.timedOut('failed');
  expect([waits.within('archived', PATIENCE), waits.within('failed', PATIENCE)]).toEqual([PATIENCE / 8, 1000]);
  waits.succeeded('failed', 4000);
  expect([waits.within('archived', PATIENCE), waits.within('failed', PATIENCE)]).toEqual([20_000, 20_000]);
  const slow = new Waits(WAIT_POLICIES.effect);
  slow.timedOut('deployed');
  expect(slow.within('archived', PATIENCE)).toBe(PATIENCE);
  slow.succeeded('failed', 50);
  expect(slow.within('archived', PATIENCE)).toBe(PATIENCE / 8);
});

it('the pace of a target limits nothing while it is unknown or quick', () => {
  const session = new Session();
  expect([session.rounds(3), session.isSlow()]).toEqual([3, false]);
  session.took('event', 2);
  expect([session.rounds(3), session.isSlow()]).toEqual([3, false]);
  expect(session.whyTooMuch('event', 2000, Number.POSITIVE_INFINITY)).toBeUndefined();
});

it('the pace of a target is slow only when each of the last few answers was slow', () => {
  const session = new Session();
  for (const ms of [3, 4000, 5]) session.took('answer', ms);
  expect(session.isSlow()).toBe(false);
  for (let count = 0; count < 5; count += 1) session.took('answer', 300);
  expect([session.isSlow(), session.isSlow('event'), session.rounds(3)]).toEqual([true, false, 1]);
});

it('the pace of a target is slow to publish when the median of the last few is slow', () => {
  const session = new Session();
  expect(session.publishesSlowly).toBe(false);
  for (const ms of [5, 1000, 1000]) session.took('publish', ms);
  expect(session.publishesSlowly).toBe(true);
  for (const ms of [5, 5, 5]) session.took('publish', ms);
  expect(session.publishesSlowly).toBe(false);
});

it('the pace of a target of publishing is slow once two recent publishes were slow', () => {
  const session = new Session();
  for (const ms of [100, 1000, 100, 100, 100, 100, 100, 100]) session.took('publish', ms);
  expect(session.isSlow('publish')).toBe(false);
  for (const ms of [900, 100, 100, 100, 100, 100]) session.took('publish', ms);
  expect([session.isSlow('publish'), session.typicalMs('publish')]).toEqual([true, 900]);
  expect(session.whyTooMuch('publish', 300, 600_000)).toBeUndefined();
  expect(session.whyTooMuch('publish', 2001, 600_000)).toContain('and 600 s of --max-time are left');
});

it('the pace of a target follows the last batch for many events, and single events for a few', () => {
  const session = new Session();
  session.took('publish', 400, 9);
  expect([session.knowsBatches, session.typicalMs('publish')]).toEqual([false, 400]);
  session.took('publish', 30, 10);
  for (const ms of [900, 800, 700, 600]) session.took('publish', ms);
  expect([session.knowsBatches, session.typicalMs('publish')]).toEqual([true, 30]);
  for (let count = 0; count < 5; count += 1) session.took('publish', 1000);
  expect(session.whyTooMuch('publish', 10, 9000)).toContain('10 events at 1 s each take 10 s, and 9 s of --max-time');
  expect(session.whyTooMuch('publish', 11, 9000)).toBeUndefined();
  for (let count = 0; count < 20; count += 1) session.took('publish', 1000);
  expect(session.knowsBatches).toBe(false);
});

it('the pace of a target is given in milliseconds when short, and in seconds when long', () => {
  const session = new Session();
  session.took('deployment', 99.5);
  expect(session.whyTooMuch('deployment', 10, 99)).toContain('at 100 ms each take 1 s, and 99 ms of --max-time');
  session.took('restart', 12_345);
  expect(session.whyTooMuch('restart', 1, 0)).toContain('1 restart at 12 s each take 12 s, and 0 s of --max-time');
  session.took('answer', 19);
  expect(session.whyTooMuch('answer', 10, 0)).toBeUndefined();
  expect(session.whyTooMuch('answer', 11, 0)).toContain('11 answers at 19 ms each take 0.2 s');
});

it('the pace of a target counts as slow when the run is late', () => {
  let now = 0;
  const session = new Session(() => now);
  now = 90_000;
  expect([session.isSlow(), session.isSlow('event'), session.rounds(3)]).toEqual([true, false, 1]);
});

it('the pace of a target rules out work beyond the time left, with the arithmetic', () => {
  let now = 0;
  const session = new Session(() => now);
  session.took('event', 1000);
  expect(session.whyTooMuch('event', 2000, 600_000)).toBe(
    'not decided: 2,000 events at 1 s each take 2000 s, and 150 s of the 150 s that a slow target gets, ' +
      'a quarter of --max-time, are left',
  );
  expect(session.whyTooMuch('event', 5, 600_000)).toBeUndefined();
  expect(session.whyTooMuch('event', 200, 2_400_000)).toBeUndefined();
  expect(session.whyTooMuch('event', 5, 4000)).toContain('5 events at 1 s each take 5 s, and 1 s of the 1 s');
  now = 149_500;
  expect(session.whyTooMuch('event', 1, 450_500)).toContain('1 event at 1 s each take 1 s, and 0.5 s of the 150 s');
  expect(session.whyTooMuch('deployment', 1, 600_000)).toBeUndefined();
});

it('a driving check waits for a check that watches an idle stream', async () => {
  const session = new Session();
  await session.quiet();
  const watch = Promise.withResolvers<void>();
  session.askForQuiet(watch.promise);
  let began = false;
  const driving = session.quiet().then(() => (began = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(began).toBe(false);
  watch.resolve();
  await driving;
});

it('a gate is shared by name, and delays requests only while it is closed', async () => {
  const session = new Session();
  expect(session.gate('a')).toBe(session.gate('a'));
  expect([session.gate('b'), new Session().gate('a')]).not.toContain(session.gate('a'));
  const gate = session.gate();
  await gate.pass(signal);
  const closed = performance.now();
  gate.close(100);
  await Promise.all([gate.pass(signal), gate.pass(signal)]);
  expect(performance.now() - closed).toBeGreaterThanOrEqual(100);
});

const sending = async (statuses: number[], pauseMs: (answer: number, attempt: number) => number | undefined) => {
  const discarded: number[] = [];
  const left = [...statuses];
  const isDueAgain = throttled<number>({
    signal,
    isThrottled: (status) => status === 429,
    pauseMs,
    discard: async (refused) => void discarded.push(refused),
  });
  let answer: number;
  do answer = left.shift() ?? 200;
  while (await isDueAgain(answer));
  return { answer, discarded };
};

it('a throttled request is sent until it passes, or its answer is returned where no pause is due', async () => {
  const attempts: number[] = [];
  const pause = (_: number, attempt: number) => {
    attempts.push(attempt);
    return 1;
  };
  expect(await sending([429, 429, 200], pause)).toEqual({ answer: 200, discarded: [429, 429] });
  expect(attempts).toEqual([0, 1]);
  expect(await sending([429, 200], () => undefined)).toEqual({ answer: 429, discarded: [] });
});

it.each<[number, string | undefined, number, number | undefined]>([
  [429, undefined, 0, 50],
  [429, undefined, 3, 400],
  [429, '0', 0, 50],
  [503, '2', 0, 2000],
  [503, '3600', 0, 10_000],
  [503, undefined, 0, undefined],
])('a throttled request pauses after %i with Retry-After %s at attempt %i for %s ms', (status, after, attempt, ms) => {
  expect(throttledPauseMs({ status, headers: { 'retry-after': after } }, attempt, 10_000)).toBe(ms);
});
