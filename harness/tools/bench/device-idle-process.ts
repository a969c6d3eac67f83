/** Makes many of something that listens and prints what one costs; a process of `device-idle.ts`. */
import net from 'node:net';
import process from 'node:process';
import { simulateDevice } from '../../../simulators/device/index.ts';

const [what, directory = '', count = '0'] = process.argv.slice(2);
const AT_ONCE = 500;

const kept: unknown[] = [];
const make = async (at: string): Promise<void> => {
  kept.push(what === 'devices' ? await device(at) : await socket(at));
};
const device = (at: string) => simulateDevice({ dir: `${directory}/${at}`, socket: `${directory}/${at}.sock` });
const socket = (at: string) =>
  new Promise((resolve) => {
    const server = net.createServer({ allowHalfOpen: true });
    server.listen({ path: `${directory}/${at}.sock`, backlog: 4_096 }, () => resolve(server));
  });

// What the first ones bring with them (code, the parser, buffers) is not the price of one more.
for (let at = 0; at < 100; at += 1) await make(`w${at}`);
const before = memory();
const started = performance.now();
for (let from = 0; from < Number(count); from += AT_ONCE) {
  await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => make(String(from + at))));
}
const startMs = performance.now() - started;
process.stdout.write(JSON.stringify({ bytes: (memory() - before) / Number(count), startMs }));
process.exit();

/** The larger of what the process holds and what the heap accounts for. */
function memory(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return Math.max(rss, heapUsed + external);
}
