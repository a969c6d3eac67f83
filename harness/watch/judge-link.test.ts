import { expect, test } from 'vitest';
import { eventually } from '../../simulators/common/testing/scratch.ts';
import { JudgeLink } from './judge-link.ts';

const threadOf = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

function linkTo(code: string, fail = (): void => {}): { link: JudgeLink; troubles: string[]; ends: string[] } {
  const troubles: string[] = [];
  const ends: string[] = [];
  const trouble = (why: string): void => {
    troubles.push(why);
    fail();
  };
  const ended = (why: string): void => void ends.push(why);
  return { link: new JudgeLink({ entry: threadOf(code), data: {}, found: fail, trouble, ended }), troubles, ends };
}

const PIECE = Buffer.alloc(64 * 1024, 'x');

test('a link reports an ended judging thread once, and drops later traffic', async () => {
  const { link, troubles, ends } = linkTo('throw new Error("planted")');
  await using _ = link;
  link.opened(1);
  await eventually(() => expect(troubles).toEqual(['nothing is judged from here on: planted']));
  link.bytes(1, 'client', PIECE);
  link.ended(1, 'client', 'end');
  expect(await link.conclude()).toBeUndefined();
  expect(troubles).toHaveLength(1);
  expect(ends).toEqual(troubles);
});

const DEAF = `
import { parentPort } from 'node:worker_threads';
let bytes = 0;
parentPort.on('message', (message) => {
  if (message.kind === 'batch') bytes += message.used;
  else parentPort.postMessage({ kind: 'concluded', concluded: { judged: {}, seen: { bytes } } });
});`;

test('a link bounds the total traffic it keeps for a thread that lags', async () => {
  const { link, troubles } = linkTo(DEAF);
  await using _ = link;
  const MIB = 1024 * 1024;
  for (let connection = 1; connection <= 30; connection += 1) {
    link.opened(connection);
    for (let piece = 0; piece < 160; piece += 1) link.bytes(connection, 'server', PIECE);
  }
  const concluded = (await link.conclude()) as unknown as { seen: { bytes: number } };
  expect(concluded.seen.bytes).toBeGreaterThan(60 * MIB);
  expect(concluded.seen.bytes).toBeLessThan(66 * MIB);
  expect(troubles).toEqual([]);
});

const taking = (spentMs: string): string => `
import { parentPort } from 'node:worker_threads';
const dropped = [];
let first;
parentPort.on('message', ({ kind, memory, used }) => {
  if (kind !== 'batch') {
    parentPort.postMessage({ kind: 'concluded', concluded: { judged: {}, seen: { dropped } } });
    return;
  }
  const bytes = Buffer.from(memory, 0, used);
  for (let at = 0; at < used; at += 20 + bytes.readUInt32LE(at + 8))
    if (bytes[at] === 4) dropped.push(bytes.readUInt32LE(at + 4));
  first ??= performance.now();
  const ms = performance.now() - first;
  parentPort.postMessage({ kind: 'taken', spentMs: ${spentMs} });
});`;

async function droppedIn(lastsMs: number, spentMs: string): Promise<number[]> {
  const { link } = linkTo(taking(spentMs));
  await using _ = link;
  for (const connection of [1, 2, 3]) link.opened(connection);
  const end = performance.now() + lastsMs;
  while (performance.now() < end) {
    link.bytes(2, 'server', PIECE);
    link.bytes(3, 'server', Buffer.from('x'));
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
  return ((await link.conclude()) as unknown as { seen: { dropped: number[] } }).seen.dropped;
}

test('a link drops the busiest connections when judging is slow, and keeps idle ones', async () => {
  const dropped = await droppedIn(3300, '0.9 * ms');
  expect(dropped[0]).toBe(2);
  expect(dropped).not.toContain(1);
});

test('a link drops no connection for the time a thread takes to start', async () => {
  expect(await droppedIn(2300, '1000 + Math.min(0.5 * ms, 900)')).toEqual([]);
});

test('a link ends the judging and nothing else when its listener throws', async () => {
  const found = "parentPort.postMessage({ kind: 'found', id: 'x', judged: { sightings: 1 } });";
  const code = `import { parentPort } from 'node:worker_threads'; ${found} parentPort.on('message', () => {});`;
  const { link, troubles } = linkTo(code, () => {
    throw new Error('no space');
  });
  await using _ = link;
  await eventually(() => expect(troubles).toEqual(['nothing is judged from here on: no space']));
  link.opened(1);
  expect(await link.conclude()).toBeUndefined();
});
