import type { ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import { publish, readUpTo, subscribeAtKnownCursor } from './drive.ts';
import { cursorIn, frame, growingLog, openTarget, runOn, STREAM } from './testing/device.ts';

it('a missing event counts as lost once a later one arrives', async () => {
  const open = new Set<ServerResponse>();
  const log = growingLog();
  const published = async (count: number) => {
    const range = await log.publish(count);
    for (let id = range.first_id; id <= log.newest; id += 1)
      if (id !== 2) for (const stream of open) stream.write(frame(id));
    return range;
  };
  const target = await openTarget({ publish: published }, (_request, response) => {
    response.writeHead(200, STREAM).flushHeaders();
    open.add(response);
  });
  const result = await runOn(target, async (t, streams) => {
    const live = await streams.open();
    await readUpTo(live, await publish(t, 2));
  });
  expect(result).toMatchObject({
    outcome: 'fail',
    expected: 'the published events 1 to 2, on an open stream',
    actual: 'event 3, which was published after them, and not 2',
  });
});

it.each([
  ['ended', 1, 'pass'],
  ['broken off', 1, 'pass'],
  ['broken off', 2, 'fail'],
] as const)('a live stream that is %s, and %i times before an event: %s', async (how, times, outcome) => {
  const log = growingLog();
  let left = times;
  const target = await openTarget(log, ({ url }, response) => {
    response.writeHead(200, STREAM).flushHeaders();
    const after = cursorIn(url, log.newest);
    const timer = setInterval(() => {
      if (log.newest === after) return;
      clearInterval(timer);
      if (left-- > 0) return void (how === 'ended' ? response.end() : response.destroy());
      for (let id = after + 1; id <= log.newest; id += 1) response.write(frame(id));
    }, 5);
    response.once('close', () => clearInterval(timer));
  });
  const result = await runOn(target, async (t, streams) => {
    const { last } = await publish(t, 1);
    const live = await streams.open({ after: last });
    await readUpTo(live, await publish(t, 2));
  });
  expect(result.outcome).toBe(outcome);
});

it('an event that control has named falsely is no cursor of other checks', async () => {
  const named = [1, 7];
  const published = async () => {
    const id = named.shift() ?? 0;
    return { first_id: id, last_id: id };
  };
  const target = await openTarget({ publish: published }, ({ url = '' }, response) => {
    if (url.endsWith('after=1')) response.writeHead(410).end();
    else response.writeHead(200, STREAM).flushHeaders();
  });
  const result = await runOn(target, async (t, streams) => {
    vi.spyOn(t.session, 'publishesSlowly', 'get').mockReturnValue(true);
    await publish(t, 1);
    expect(await subscribeAtKnownCursor(t, streams)).toMatchObject({ cursor: 7n });
  });
  expect(result.outcome).toBe('pass');
});
