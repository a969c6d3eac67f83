import { MessageChannel } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { Batch, type Observation } from './batch.ts';
import { type FromThread, Readers, serveJudge, type ToThread } from './judge-thread.ts';
import type { TrafficJudge } from './judging.ts';
import type { Traffic } from './traffic.ts';

const MIB = 1024 * 1024;
const POST = Buffer.from('POST / HTTP/1.1\r\nContent-Length: 4000000\r\n\r\n');
const GET = Buffer.from('GET / HTTP/1.1\r\n\r\n');
const opened = (connection: number): Observation => ({ what: 'opened', connection, at: 1 });
const CLIENT = { what: 'bytes', at: 2, from: 'client' } as const;
const sent = (connection: number, piece: Buffer): Observation => ({ ...CLIENT, connection, piece });

function reading(most?: number): { readers: Readers; seen: Traffic[] } {
  const seen: Traffic[] = [];
  const readers: Readers = new Readers((traffic) => {
    seen.push(traffic);
    if (traffic.kind === 'lost' || traffic.kind === 'closed') readers.forget(traffic.connection);
  }, most);
  return { readers, seen };
}

const lost = (seen: readonly Traffic[]): number[] =>
  seen.flatMap((each) => (each.kind === 'lost' ? [each.connection] : []));

test('readers hold a bounded total, and lose the connection that holds most', () => {
  const { readers, seen } = reading(4 * MIB);
  for (let connection = 1; connection <= 10; connection += 1) {
    readers.take(opened(connection));
    readers.take(sent(connection, POST));
    readers.take(sent(connection, Buffer.alloc(connection === 3 ? 2 * MIB : 0.75 * MIB)));
    expect(readers.held).toBeLessThanOrEqual(4 * MIB);
  }
  expect(lost(seen)[0]).toBe(3);
  const why = 'unfinished messages took more than 4194304 bytes together';
  expect(seen.find(({ kind }) => kind === 'lost')).toMatchObject({ why });
  readers.end();
  expect(readers.held).toBe(0);
});

test('readers lose a connection that keeps sending requests without an answer', () => {
  const { readers, seen } = reading(MIB);
  readers.take(opened(1));
  const head = Buffer.from(`GET / HTTP/1.1\r\nx: ${'x'.repeat(50_000)}\r\n\r\n`);
  for (let request = 0; request < 20; request += 1) readers.take(sent(1, head));
  expect(lost(seen)).toEqual([1]);
});

test('readers hold nothing for an answered or ended connection', () => {
  const { readers } = reading();
  readers.take(opened(1));
  readers.take(sent(1, Buffer.concat([GET, GET])));
  const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'.repeat(2));
  readers.take({ what: 'bytes', connection: 1, at: 3, from: 'server', piece: answer });
  expect(readers.held).toBe(0);
  readers.take(sent(1, POST));
  expect(readers.held).toBeGreaterThan(0);
  readers.take({ what: 'ended', connection: 1, at: 4, from: 'client', how: 'cut' });
  expect(readers.held).toBe(0);
});

function served(judging: (traffic: Traffic) => void) {
  const { port1, port2 } = new MessageChannel();
  const steps: string[] = [];
  const keeping = {
    take: (traffic: Traffic) => void steps.push(`kept ${traffic.kind}`),
    flush: () => void steps.push('flushed'),
    close: () => void steps.push('closed'),
  };
  const judge = { learn: () => {}, take: judging, judged: () => ({}), seen: {}, decided: 7 } as unknown as TrafficJudge;
  serveJudge(() => ({ judge, keeping, isShown: true }), port2);
  const said: FromThread[] = [];
  port1.on('message', (message: FromThread) => void said.push(message));
  const send = (glimpses: readonly Observation[]): void => {
    const batch = new Batch();
    for (const glimpse of glimpses) batch.add(glimpse);
    port1.postMessage({ kind: 'batch', ...batch.take() } satisfies ToThread);
  };
  const conclude = (): void => port1.postMessage({ kind: 'conclude' } satisfies ToThread);
  const until = async (kind: string): Promise<void> => {
    while (!said.some((each) => each.kind === kind)) await new Promise((resolve) => void setTimeout(resolve, 5));
  };
  return { steps, said, send, conclude, until, close: () => port1.close() };
}

test('a thread flushes a batch before judging, and loses a connection on a fault', async () => {
  const flushed: boolean[] = [];
  const thread = served((traffic) => {
    flushed.push(thread.steps.includes('flushed'));
    if (traffic.kind === 'request') throw new Error('planted');
  });
  thread.send([opened(1), sent(1, GET)]);
  await thread.until('taken');
  expect(flushed).not.toContain(false);
  const kept = thread.steps.filter((step) => step !== 'flushed').join();
  expect(kept).toBe('kept opened,kept request,kept asked,kept over,kept lost');
  expect(thread.steps.at(-1)).toBe('flushed');
  thread.close();
});

test('a thread drops traffic after a request to conclude, and updates the page', async () => {
  const thread = served(() => {});
  thread.send([opened(1), sent(1, GET)]);
  thread.conclude();
  thread.send([opened(2)]);
  await thread.until('concluded');
  await new Promise((resolve) => void setTimeout(resolve, 20));
  expect(thread.steps.at(-1)).toBe('closed');
  expect(thread.said.map(({ kind }) => kind)).toEqual(['taken', 'live', 'concluded']);
  expect(thread.said[1]).toMatchObject({ live: { decided: 7 } });
  thread.close();
});
