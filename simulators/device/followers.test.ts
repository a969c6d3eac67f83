/**
 * Real clients follow a stream through ten restarts: the `eventsource` package by Last-Event-ID, `curl` by its cursor.
 */
import { spawn } from 'node:child_process';
import { EventSource } from 'eventsource';
import { Agent, fetch as request } from 'undici';
import { expect, test } from 'vitest';
import { referenceBehaviour } from './behaviour.ts';
import { robot } from './testing/robot.ts';

const RESTARTS = 10;
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** Restarts the agent in every way, with events before, between and after. Resolves with the newest id. */
async function restarts(
  device: Awaited<ReturnType<typeof robot>>['device'],
  follow: () => Promise<void>,
): Promise<number> {
  for (let round = 0; round < RESTARTS; round += 1) {
    await device.publish(3);
    if (round % 3 !== 0) await follow();
    await device.stop(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    await device.start();
    await device.publish(2);
  }
  return device.stats().latestId;
}

/** A promise that resolves when `check` is called while `ready` is true. */
function signal(ready: () => boolean): { promise: Promise<void>; check: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, check: () => (ready() ? resolve() : undefined) };
}

test('an EventSource misses nothing', async () => {
  // With `retry` the package comes back soon; its default of three seconds would be waited for ten times.
  const stream = { ...referenceBehaviour.stream, preamble: 'retry: 20\n\n' };
  await using on = await robot({ behaviour: { ...referenceBehaviour, stream } });
  const dispatcher = new Agent({ connect: { socketPath: on.socket } });
  const ids: number[] = [];
  const heard = new Set<() => void>();
  const source = new EventSource('http://device/v0.2/events', {
    fetch: (url, init) => request(url, { ...init, dispatcher } as Parameters<typeof request>[1]) as never,
  });
  try {
    await new Promise<void>((resolve) => source.addEventListener('open', () => resolve(), { once: true }));
    for (const type of ['deployment.deployed', 'deployment.removed']) {
      source.addEventListener(type, ({ lastEventId, data }) => {
        expect((JSON.parse(data) as { id: number }).id).toBe(Number(lastEventId));
        ids.push(Number(lastEventId));
        for (const look of heard) look();
      });
    }
    const reach = async (id: number): Promise<void> => {
      const { promise, check } = signal(() => (ids.at(-1) ?? 0) >= id);
      heard.add(check);
      check();
      await promise;
    };
    const latest = await restarts(on.device, () => reach(on.device.stats().latestId));
    await reach(latest);
    expect(ids).toEqual(range(1, latest));
  } finally {
    source.close();
    await dispatcher.destroy();
  }
});

test('curl, started again with its cursor whenever it ends, misses nothing', async () => {
  await using on = await robot();
  const ids: number[] = [];
  let look = (): void => {};
  let over = false;
  const follow = async (): Promise<void> => {
    while (!over) {
      const url = `http://device/v0.2/events?after=${ids.at(-1) ?? 0}`;
      const curl = spawn('curl', ['--silent', '--no-buffer', '--fail', '--unix-socket', on.socket, url]);
      stop = () => curl.kill();
      let text = '';
      curl.stdout.on('data', (part) => {
        const lines = (text + part).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) if (line.startsWith('id: ')) ids.push(Number(line.slice(4)));
        look();
      });
      await new Promise((resolve) => curl.once('close', resolve));
    }
  };
  let stop = (): void => {};
  const following = follow();
  const reach = async (id: number): Promise<void> => {
    const { promise, check } = signal(() => (ids.at(-1) ?? 0) >= id);
    look = check;
    check();
    await promise;
  };
  const latest = await restarts(on.device, () => reach(on.device.stats().latestId));
  await reach(latest);
  over = true;
  stop();
  await following;
  expect(ids).toEqual(range(1, latest));
});
