import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAULTS, parseFault } from '../faults.ts';
import { robot } from '../testing/robot.ts';

test.for([
  ['latency=50ms', { kind: 'latency', low: 50, high: 50 }],
  ['latency=20ms..2s', { kind: 'latency', low: 20, high: 2_000 }],
  ['reset=1..5kB', { kind: 'reset', low: 1, high: 5_000 }],
  ['half-open=1000', { kind: 'half-open', low: 1_000, high: 1_000 }],
  ['torn-write=0.5', { kind: 'torn-write', chance: 0.5 }],
  ['crash=before-rename', { kind: 'crash', when: 'before-rename', nth: 1 }],
  ['crash=after-rename:3', { kind: 'crash', when: 'after-rename', nth: 3 }],
  ['clock-skew=+2h', { kind: 'clock-skew', ms: 7_200_000 }],
  ['clock-skew=-90s', { kind: 'clock-skew', ms: -90_000 }],
  ['enospc=1MB', { kind: 'enospc', bytes: 1_000_000 }],
] as const)('a fault specification is parsed: %s', ([spec, fault]) => {
  expect(parseFault(spec)).toEqual(fault);
});

test.for([
  ...['', 'latency', 'latency=', 'latency=5', 'latency=2s..1s', 'latency=1s..25d', 'reset=-1', 'enospc=lots'],
  ...['clock-skew=999999999d', 'clock-skew=later', 'torn-write=2', 'torn-write=', 'crash=now'],
  ...['crash=after-rename:0', 'nonsense=1', 'toString=1'],
])('a fault specification is refused with the accepted form: %j', (spec) => {
  expect(() => parseFault(spec)).toThrow(RangeError);
  const [name = ''] = spec.split('=');
  const accepted = Object.hasOwn(FAULTS, name) ? `${name}=` : 'clock-skew=+2h';
  expect(() => parseFault(spec)).toThrow(accepted);
});

test('latency: an answer is delayed', async () => {
  await using on = await robot({ faults: ['latency=120ms'] });
  const before = performance.now();
  await on.ask('/health');
  expect(performance.now() - before).toBeGreaterThan(100);
});

test('reset: a client that reconnects after each cut gets every event once', async () => {
  await using on = await robot({ faults: ['reset=100..2000'] });
  await on.device.publish(40);
  const ids: number[] = [];
  while ((ids.at(-1) ?? 0) < 40) {
    const stream = await on.listen(`?after=${ids.at(-1) ?? 0}`);
    await Promise.race([stream.ended, stream.reach(40)]).catch(() => undefined);
    stream.close();
    ids.push(...stream.ids);
  }
  expect(ids).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
});

test('half-open: a stream stays open but sends no further events', async () => {
  await using on = await robot({ faults: ['half-open=500'] });
  const stream = await on.listen();
  await on.device.publish(1);
  await stream.count(1);
  await on.device.publish(2);
  const other = await on.listen('?after=2');
  await other.count(1);
  expect(stream.ids).toEqual([1]);
  expect(stream.over).toBe(false);
});

test('clock-skew: events have the wrong time', async () => {
  await using on = await robot({ faults: ['clock-skew=-2h'] });
  const stream = await on.listen();
  await on.device.publish(1);
  const [event] = await stream.count(1);
  const late = Date.now() - Date.parse(event?.envelope.occurred_at ?? '');
  expect(late).toBeGreaterThan(7_100_000);
});

test('enospc: publishing stops with a clear error, and stored events are still served', async () => {
  await using on = await robot({ faults: ['enospc=10kB'] });
  let published = 0;
  const filling = async () => {
    for (;;) published = (await on.device.publish(5)).last_id;
  };
  await expect(filling()).rejects.toThrow(/cannot store events in .*ENOSPC/);
  expect(published).toBeGreaterThan(5);
  const stream = await on.listen('?after=0');
  await stream.reach(published);
  expect(stream.ids).toHaveLength(published);
});

test('torn-write: the agent crashes during a write, and keeps every event a client saw', async () => {
  await using on = await robot({ faults: ['torn-write=0.2'], retain: 1_000 });
  const seen: number[] = [];
  let crashes = 0;
  for (let round = 0; round < 60; round += 1) {
    if (!on.device.running) {
      crashes += 1;
      await on.device.start();
    }
    const live = await on.listen(`?after=${on.device.stats().earliestId - 1}`);
    await on.device.publish(3).catch(() => undefined);
    if (on.device.running) await live.reach(on.device.stats().latestId);
    else await live.ended;
    const ids = live.ids;
    expect(ids.filter((id) => id <= (seen.at(-1) ?? 0))).toEqual(seen.filter((id) => id >= (ids[0] ?? Infinity)));
    seen.push(...ids.filter((id) => id > (seen.at(-1) ?? 0)));
    live.close();
  }
  expect(crashes).toBeGreaterThan(3);
  expect(new Set(seen).size).toBe(seen.length);
});

test('the same seed gives the same faults', async () => {
  const lines: string[] = [];
  for (const seed of ['a', 'a', 'b']) {
    await using on = await robot({ faults: ['torn-write=0.1'], seed, clock: { now: () => 0 }, durability: 'os' });
    while (on.device.running) await on.device.publish(1).catch(() => undefined);
    lines.push(readFileSync(`${on.dir}/events.jsonl`, 'utf8'));
  }
  expect(lines[1]).toBe(lines[0]);
  expect(lines[2]).not.toBe(lines[0]);
});
