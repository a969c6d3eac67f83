/** Whatever becomes of the thread that judges, the tap takes what comes, and no more than a bound is kept. */
import { expect, test } from 'vitest';
import { eventually } from '../../simulators/common/testing/scratch.ts';
import { JudgeLink } from './judge-link.ts';

const threadOf = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

function linkTo(code: string): { link: JudgeLink; troubles: string[] } {
  const troubles: string[] = [];
  const trouble = (why: string): void => void troubles.push(why);
  return { link: new JudgeLink({ entry: threadOf(code), data: {}, found: () => {}, trouble }), troubles };
}

const PIECE = Buffer.alloc(64 * 1024, 'x');

test('a thread that ends is told once, and what comes then is let go', async () => {
  const { link, troubles } = linkTo('throw new Error("planted")');
  await using _ = link;
  link.opened(1);
  await eventually(() => expect(troubles).toEqual(['nothing is judged from here on: planted']));
  link.bytes(1, 'client', PIECE);
  link.ended(1, 'client', 'end');
  expect(await link.conclude()).toBeUndefined();
  expect(troubles).toHaveLength(1);
});

/** Takes nothing, and at the end tells which connections were dropped. */
const DEAF = `
import { parentPort } from 'node:worker_threads';
let bytes = 0;
parentPort.on('message', (message) => {
  if (message.kind === 'batch') bytes += message.used;
  else parentPort.postMessage({ kind: 'concluded', concluded: { judged: {}, seen: { bytes } } });
});`;

test('what a thread does not take in time is kept within a bound, for each connection and in all', async () => {
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
