import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { Patience, runningMs, socketsRead } from './patience.ts';
import { PollTimeout, poll } from './waiting.ts';

const HELD_UP_MS = 400;
/** What a loaded machine may add to the time for which a test holds up its own process. */
const UNMEASURED_MS = 150;

function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it('the clock stands still while the process is held up, and goes on before the next timer has run', async () => {
  const before = runningMs();
  const since = performance.now();
  holdUp(HELD_UP_MS);
  const during = runningMs() - before;
  await delay(1);
  const after = runningMs() - before;
  expect(performance.now() - since).toBeGreaterThanOrEqual(HELD_UP_MS);
  expect(during).toBeLessThan(HELD_UP_MS);
  expect(after).toBeGreaterThanOrEqual(during);
  expect(after).toBeLessThan(performance.now() - since - HELD_UP_MS + UNMEASURED_MS);
});

it('the clock never goes back', async () => {
  let last = runningMs();
  for (const ms of [0, 60, 0, 30, 90]) {
    holdUp(ms);
    for (const pause of [0, 1, 30]) {
      await delay(pause);
      const now = runningMs();
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
    }
  }
});

it('what another thread sends while this one is held up comes in time', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const worker = new Worker(
    `const { workerData } = require('node:worker_threads');
     require('node:net').connect(workerData, '127.0.0.1').on('error', () => {}).end('here');`,
    { eval: true, workerData: port },
  );
  let came = false;
  server.on('connection', (socket) => socket.on('error', () => {}).once('data', () => (came = true)));
  const patience = new Patience(HELD_UP_MS / 4);
  // The worker connects as soon as it has started, and this process learns of it when it runs again.
  holdUp(3 * HELD_UP_MS);
  const gaveUp = await new Promise<boolean>((resolve) => {
    patience.watch(() => resolve(!came));
  });
  expect(gaveUp).toBe(false);
  await worker.terminate();
  server.close();
});

it('ends without progress, and says so', async () => {
  const why = await new Promise((resolve) => new Patience(1).watch(resolve));
  expect(why).toBe('silent');
});

it('goes on as long as there is progress, up to the bound on the whole', async () => {
  const patience = new Patience(60, 300);
  const since = runningMs();
  const renewing = setInterval(() => patience.renew(), 1);
  const why = await new Promise((resolve) => patience.watch(resolve));
  clearInterval(renewing);
  expect(why).toBe('endless');
  expect(runningMs() - since).toBeGreaterThanOrEqual(300);
});

it('does not count the time in which it is held', async () => {
  const patience = new Patience(20);
  const ready = Promise.withResolvers<void>();
  const held = patience.hold(ready.promise);
  let gaveUp = false;
  const over = new Promise<void>((resolve) =>
    patience.watch(() => {
      gaveUp = true;
      resolve();
    }),
  );
  await new Promise((resolve) => new Patience(60).watch(resolve));
  expect(gaveUp).toBe(false);
  ready.resolve();
  await held;
  await over;
});

it('a watch that was stopped never gives up', async () => {
  const patience = new Patience(0);
  let gaveUp = false;
  patience.watch(() => (gaveUp = true))();
  await new Promise((resolve) => patience.watch(resolve));
  expect(gaveUp).toBe(false);
});

it('waits longer than a timer can', () => {
  const stop = new Patience(Number.POSITIVE_INFINITY).watch(() => expect.unreachable());
  stop();
});

it('poll does not count the time in which the process was held up', async () => {
  let looks = 0;
  const look = (): true | undefined => {
    looks += 1;
    if (looks === 1) holdUp(HELD_UP_MS);
    return looks > 3 ? true : undefined;
  };
  await expect(poll('the fourth look', look, { timeoutMs: HELD_UP_MS / 2, firstPauseMs: 1 })).resolves.toBe(true);
  await expect(poll('nothing', () => undefined, { timeoutMs: 5 })).rejects.toBeInstanceOf(PollTimeout);
});

it('what has come is read before a wait is given up', async () => {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [accepted] = await once(server, 'connection');
  let read = false;
  socket.on('error', () => {}).once('data', () => (read = true));
  await delay(1);
  accepted.write('x');
  expect(read).toBe(false);
  await socketsRead();
  expect(read).toBe(true);
  socket.destroy();
  server.close();
});
