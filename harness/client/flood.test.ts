/** Tests how many items and bytes Muster holds of a target that never stops sending. */
import { expect, it, onTestFinished } from 'vitest';
import { poll, socketsRead } from '../common/waiting.ts';
import { Unfinished } from './errors.ts';
import { EventSourceClient } from './eventsource.ts';
import { type EventStream, openEvents } from './sse.ts';
import { pouring } from './testing/served.ts';

const within = 20_000;
const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';

async function poured(piece: (index: number) => string): Promise<EventStream> {
  const stream = await openEvents(await pouring(HEAD, piece));
  onTestFinished(() => stream.close());
  return stream;
}

const event = (id: number): string => `id: ${id}\nevent: a.b\ndata: {"id":${id}}\n\n`;
const events = (index: number): string => Array.from({ length: 100 }, (_, at) => event(100 * index + at)).join('');

it('a stream of a flooding target holds few comments, and counts all', async () => {
  const stream = await poured(() => ': heartbeat\n\n'.repeat(1000));
  await poll('many comments', () => stream.comments.length > 50_000 || undefined, { timeoutMs: within });
  expect([...stream.comments].length).toBeLessThan(1000);
  expect(stream.comments.dropped + [...stream.comments].length).toBe(stream.comments.length);
  expect(stream.comments.at(-1)?.text).toBe('heartbeat');
});

it('a stream of a flooding target holds only the beginning of a long comment', async () => {
  const stream = await poured(() => `: ${'x'.repeat(MIB)}\n`);
  await stream.activity({ frames: 0, comments: 0 }, { within, for: 'a comment' });
  expect(stream.comments.at(0)?.text).toHaveLength(1000);
});

it('a stream of a flooding target stops reading when enough frames wait for the check', async () => {
  const stream = await poured(events);
  await poll('reading to stop', () => stream.frames.unreadCost >= 2 * MIB || undefined, { timeoutMs: within });
  const { bytes } = stream;
  for (let turn = 0; turn < 50; turn += 1) await socketsRead();
  expect(stream.bytes).toBeLessThanOrEqual(bytes + CHUNK);
});

it('a stream of a flooding target yields every frame in order, and holds few yielded ones', async () => {
  const stream = await poured(events);
  for (let id = 0; id < 20_000; id += 1)
    expect((await stream.next({ within, for: `event ${id}` })).id).toBe(String(id));
  expect([...stream.frames].length - stream.unread).toBeLessThan(3000);
  expect(stream.frames.at(0)).toBeUndefined();
});

it('a stream of a flooding target shows every frame once, and holds few shown ones', async () => {
  const stream = await poured(events);
  let looked = 0;
  while (looked < 20_000) {
    await stream.activity({ frames: looked, comments: 0 }, { within, for: `frame ${looked}` });
    for (const frame of stream.frames.slice(looked)) {
      expect(frame.id).toBe(String(looked));
      looked += 1;
    }
  }
  expect([...stream.frames].length).toBeLessThan(6000);
});

it.each([
  ['a block', () => 'data: and another line\n'.repeat(100)],
  ['a block of odd fields', (index: number) => `field-${index}\n`],
  ['a line', () => 'x'.repeat(8000)],
  ['a comment', () => `: ${'x'.repeat(8000)}`],
])('a stream of a flooding target ends at %s without end', async (_, piece) => {
  const stream = await poured(piece);
  await expect(stream.next({ within, for: 'an event' })).rejects.toBeInstanceOf(Unfinished);
  expect(stream.ended?.reason).toMatch(/^a (line|block) larger than 2097152 bytes$/);
});

it('an EventSource client gives up on a flooding target', async () => {
  const client = new EventSourceClient(await pouring(HEAD, events), { path: '/events', types: ['a.b'] });
  const never = client.until(() => false, { within, for: 'an event that does not come' });
  const error = await never.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Unfinished);
  expect(String(error)).toMatch(/the client gave up .*more than \d+ bytes came/);
  expect(client.messages.length).toBeLessThan(50_000);
});
