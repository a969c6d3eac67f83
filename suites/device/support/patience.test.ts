import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { recordTimeout } from './check.ts';
import { CONTENT_TYPE_ODD } from './deviations.ts';
import { frame, openTarget, runOn, STREAM } from './testing/device.ts';

it('a replay is not timed by a later event in its place', async () => {
  const open: ServerResponse[] = [];
  const target = await openTarget({}, (_request, response) => {
    response.writeHead(200, STREAM).flushHeaders();
    open.push(response);
  });
  const result = await runOn(target, async (t, streams) => {
    const replay = await streams.open({ after: 1n });
    setTimeout(() => open.at(-1)?.write(frame(9)), 50);
    expect((await replay.drain(5n)).map(({ id }) => id)).toEqual([9n]);
    expect(t.session.waits.device.slowestMs('replay')).toBe(0);
    const served = await streams.open({ after: 1n });
    setTimeout(() => open.at(-1)?.write(frame(5)), 50);
    await served.drain(5n);
    expect(t.session.waits.device.slowestMs('replay')).toBeGreaterThan(0);
  });
  expect(result).toMatchObject({ outcome: 'pass' });
});

it('running waits end once another check has timed out', async () => {
  const target = await openTarget({}, (_request, response) => {
    response.writeHead(200, STREAM).flushHeaders();
  });
  const result = await runOn(target, async (t, streams) => {
    const [live, replay] = [await streams.open(), await streams.open({ after: 1n })];
    const started = performance.now();
    const waits = [live.reach(1n).catch(() => []), replay.drain(5n)];
    recordTimeout(t, 'event');
    recordTimeout(t, 'replay');
    expect(await Promise.all(waits)).toEqual([[], []]);
    expect(performance.now() - started).toBeLessThan(t.patienceMs / 2);
  });
  expect(result).toMatchObject({ outcome: 'pass' });
});

it('an odd content type is accepted once an open stream has used it', async () => {
  const type = { 'content-type': 'application/json' };
  const target = await openTarget({}, (request, response) => {
    response.writeHead(200, type).flushHeaders();
    if (request.url?.includes('after=') === true) response.end();
  });
  const result = await runOn(target, async (t, streams) => {
    t.session.deviations.set(CONTENT_TYPE_ODD, 'device.events.content-type');
    await expect(streams.open({ after: 1n })).rejects.toThrow(/event stream/);
    await streams.open();
    const { stream } = await streams.open({ after: 1n });
    expect(stream.headers).toMatchObject(type);
  });
  expect(result).toMatchObject({ outcome: 'pass' });
});
