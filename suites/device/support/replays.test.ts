import { expect, it } from 'vitest';
import { extendStretch, type LogStretch, requireRetained } from './replays.ts';
import { cursorIn, frame, growingLog, openTarget, replay, runNamed, runOn, STREAM } from './testing/device.ts';

it('the earliest cursor is searched anew when compaction overtakes it', async () => {
  // Compacts ten events between the search for a cursor and the first replay.
  let earliest = 20;
  let served = 0;
  const target = await openTarget({}, ({ url }, response) => {
    if (cursorIn(url) === earliest - 1 && served++ === 1) earliest += 10;
    if (cursorIn(url) < earliest - 1) response.writeHead(410).end();
    else replay(response, url, 50);
  });
  const result = await runOn(target, async (t, streams) => {
    const { stream } = await requireRetained(t, streams);
    expect([...stream.frames][0]?.id).toBe('30');
  });
  expect(earliest).toBe(30);
  expect(result).toMatchObject({ outcome: 'pass' });
});

it('the earliest cursor is found on a device that refuses cursors beyond the newest event', async () => {
  const target = await openTarget({}, ({ url }, response) => {
    const after = cursorIn(url);
    if (after < 39 || after > 50) response.writeHead(after > 50 ? 400 : 410).end();
    else replay(response, url, 50);
  });
  const result = await runOn(target, async (t, streams) => {
    const { stream } = await requireRetained(t, streams);
    expect([...stream.frames][0]?.id).toBe('40');
  });
  expect(result).toMatchObject({ outcome: 'pass' });
});

it.each([
  [1, 'pass', 3],
  [2, 'blocked', 0],
] as const)('a stream that ends %i times before its first event makes a check %s', async (ends, outcome, events) => {
  let opened = 0;
  const publish = async () => ({ first_id: 1, last_id: 3 });
  const target = await openTarget({ publish }, ({ url = '' }, response) => {
    if (url.includes('after=0') && opened++ >= ends) replay(response, url, 3);
    else response.writeHead(200, STREAM).end();
  });
  const stretch: LogStretch = { cursor: 0n, events: [] };
  const result = await runOn(target, (t, streams) => extendStretch(t, streams, stretch, 3));
  expect([result.outcome, stretch.events.length]).toEqual([outcome, events]);
});

const TOO_FEW = /^16000 events of \d+ bytes do not fill buffers of 4500000 bytes$/;

it.for([
  ['long', 10_000, { outcome: 'pass' }],
  ['short', 10, { outcome: 'not_applicable', reason: expect.stringMatching(TOO_FEW) }],
] as const)('a slow reader of %s events that is sent a stretch of them again', async ([, length, verdict]) => {
  const log = growingLog();
  const clients = new Set<{ write(text: string): void }>();
  const long = (id: number): string => frame(id).replace('{}', JSON.stringify({ pad: 'x'.repeat(length) }));
  const publish = async (count: number) => {
    const range = await log.publish(count);
    const ids = Array.from({ length: count }, (_, n) => range.first_id + n);
    const again = ids.slice(-21, -19);
    for (const client of clients) client.write([...ids, ...again].map(long).join(''));
    return range;
  };
  const target = await openTarget({ publish }, ({ url }, response) => {
    response.writeHead(200, STREAM).flushHeaders();
    for (let id = cursorIn(url, log.newest) + 1; id <= log.newest; id += 1) response.write(long(id));
    clients.add(response);
    response.once('close', () => clients.delete(response));
  });
  expect(await runNamed(target, 'device.events.slow-reader.complete')).toMatchObject(verdict);
});
