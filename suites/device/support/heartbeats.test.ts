import { expect, it } from 'vitest';
import { Session } from '../../../harness/runner/session.ts';
import { idleStreams } from '../6.2-heartbeat.ts';
import type { Device } from './check.ts';
import { publish } from './drive.ts';
import { awaitHeartbeats, expectHeartbeatsBeside, expectOpenWhileIdle } from './heartbeats.ts';
import type { Streams } from './streams.ts';
import { frame, growingLog, openTarget, runOn, STREAM } from './testing/device.ts';

const watching = (change: Partial<Device>) => async (t: Device, streams: Streams) => {
  const live = await streams.open();
  await live.stream.activity({ frames: 0, comments: 0 }, { within: 20_000, for: 'a heartbeat' });
  await expectHeartbeatsBeside({ ...t, ...change }, live);
};

it('the watch for heartbeats ends early where little of the run is left', async () => {
  const session = new Session();
  session.others = new Promise(() => {});
  const target = await openTarget({}, (_request, response) => {
    response.writeHead(200, STREAM).write(': heartbeat\n\n');
  });
  const result = await runOn(target, watching({ checkTimeLeftMs: () => 0 }), session);
  expect(result).toMatchObject({ outcome: 'not_applicable' });
});

it.for([
  ['falls silent', 'fail', /^a comment line within 0.3 s on an idle stream/],
  ['goes on', 'pass', undefined],
  ['ends in order', 'pass', undefined],
] as const)('watches for heartbeats while other checks run (a stream that %s)', async ([fate, outcome, expected]) => {
  const others = Promise.withResolvers<void>();
  const session = new Session();
  session.others = others.promise;
  const target = await openTarget({}, (_request, response) => {
    response.writeHead(200, STREAM);
    let beats = 0;
    const timer = setInterval(() => {
      beats += 1;
      if (beats > 5 && fate === 'goes on') others.resolve();
      if (beats <= 5 || fate === 'goes on') response.write(': heartbeat\n\n');
      if (beats === 5 && fate === 'ends in order') response.end();
    }, 200);
    response.once('close', () => clearInterval(timer));
  });
  const result = await runOn(target, watching({ heartbeatSeconds: 0.2 }), session);
  expect(result.outcome).toBe(outcome);
  expect(result.expected ?? '').toMatch(expected ?? /^$/);
  expect(session.forRetry().silentAfterMs > 0).toBe(fate === 'falls silent');
});

it.for([
  [0, 'fail'],
  [4, 'pass'],
] as const)('an idle stream that ends in order after %d heartbeats: %s', async ([heartbeats, outcome]) => {
  const target = await openTarget({}, (_request, response) => {
    response.writeHead(200, STREAM).flushHeaders();
    setTimeout(() => response.end(), 200 * heartbeats);
  });
  const watch = async (t: Device, streams: Streams) =>
    expectOpenWhileIdle({ ...t, heartbeatSeconds: 0.2 }, await streams.open(), 60_000);
  expect(await runOn(target, watch)).toMatchObject({ outcome });
});

it.for([
  [200, 'fail', /a comment line within 45 s/],
  [410, 'undecided', /compacted away: the log keeps at most 2/],
] as const)('a replay cut instead of a heartbeat and then answered %i: %s', async ([status, outcome, words]) => {
  const log = growingLog();
  let replays = 0;
  const target = await openTarget({ ...log, retention: 2 }, ({ url = '' }, response) => {
    const isReplay = url.includes('deployment.removed');
    if (isReplay) replays += 1;
    if (replays > 1 && isReplay && status === 410) return void response.writeHead(410).end();
    response.writeHead(200, STREAM);
    if (isReplay) response.write(': heartbeat\n\n', () => response.destroy());
    else for (let id = 1; id <= log.newest; id += 1) response.write(frame(id));
  });
  const { expected, reason, ...result } = await runOn(target, async (t, streams) => {
    const { last } = await publish(t, 1);
    const opening = { lastEventId: last, types: ['deployment.removed'] };
    await awaitHeartbeats(t, streams.follow(await streams.try(opening)), 1);
  });
  expect([result.outcome, expected ?? reason]).toEqual([outcome, expect.stringMatching(words)]);
});

it.for([
  ['none', 'pass', undefined],
  ['robot', 'pass', undefined],
  ['types', 'undecided', /^events kept coming/],
] as const)('a robot with events of its own that refuses filters (%s): %s', async ([refused, outcome, reason]) => {
  const target = await openTarget({}, ({ url = '' }, response) => {
    const isFiltered = url.includes('types');
    if (url.includes(refused)) return void response.writeHead(400).end();
    response.writeHead(200, STREAM).flushHeaders();
    let id = 0;
    // Sends an event with each heartbeat, because a busy machine may delay events and so make the stream quiet.
    const timer = setInterval(() => response.write(`${isFiltered ? '' : frame(++id)}: heartbeat\n\n`), 200);
    response.once('close', () => clearInterval(timer));
  });
  const result = await runOn(target, async (t, streams) => {
    const over = performance.now() + (outcome === 'pass' ? Number.POSITIVE_INFINITY : 2000);
    const limited = { ...t, heartbeatSeconds: 0.2, checkTimeLeftMs: () => over - performance.now() };
    await awaitHeartbeats(limited, await streams.open(), 1, { openIdle: idleStreams(limited, streams) });
  });
  expect(result.outcome).toBe(outcome);
  expect(result.reason ?? '').toMatch(reason ?? /^$/);
});
