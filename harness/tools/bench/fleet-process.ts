/** What is measured of a fleet in processes of its own: memory and start-up, which need a fresh one, and requests at full load. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { Pool } from 'undici';
import { random } from '../../../simulators/common/random.ts';
import { histogram, recordMs, type Summary, summary } from '../../../simulators/fleet/measure/metrics.ts';
import { SaturationSampler } from '../../../simulators/fleet/measure/saturation.ts';
import { WORKER_FLAGS } from '../../../simulators/fleet/processes/process-host.ts';
import { baseDirFor } from '../../../simulators/fleet/run/capacity.ts';
import { atRate, ranks } from '../../../simulators/fleet/schedule/plan.ts';
import { monotonicMs, runSchedule } from '../../../simulators/fleet/schedule/scheduler.ts';
import { KIB, settledMemory } from './figure.ts';

interface Task {
  count: number;
}

export interface Measured {
  startMs: number;
  bytesEach: number;
}

/** Started before the memory is looked at, so that code and shared tables are not counted as a robot's. */
const WARM_UP = 500;
const ROBOT_BYTES = 64 * KIB;

/** Bare listening unix sockets in a fresh process: what a robot costs at the very least. */
export async function inProcess(task: Task): Promise<Measured> {
  const child = fork(import.meta.filename, ['start'], { execArgv: WORKER_FLAGS });
  try {
    child.send(task);
    return await new Promise<Measured>((resolve, reject) => {
      child.once('message', (message) => resolve(message as Measured));
      child.once('exit', (code) => reject(new Error(`the measuring process ended with exit code ${code}`)));
    });
  } finally {
    child.kill('SIGKILL');
  }
}

async function startMany(task: Task): Promise<Measured> {
  const place = mkdtempSync(join(baseDirFor(task.count * ROBOT_BYTES), 'muster-bench-'));
  process.on('disconnect', () => process.exit());
  const warm = await sockets(place, 'w', WARM_UP);
  const before = await settledMemory();
  const measured = await sockets(place, 'm', task.count);
  const bytesEach = grown(before, await settledMemory()) / task.count;
  await Promise.all([warm.stop(), measured.stop()]);
  rmSync(place, { recursive: true, force: true });
  return { startMs: measured.ms, bytesEach };
}

/** What the warm-up left free is taken again before the process grows, so that growth alone may say too little. */
const grown = (before: NodeJS.MemoryUsage, after: NodeJS.MemoryUsage): number =>
  Math.max(after.rss - before.rss, after.heapUsed + after.external - before.heapUsed - before.external);

interface Started {
  ms: number;
  stop(): Promise<void>;
}

async function sockets(place: string, name: string, count: number): Promise<Started> {
  const dir = join(place, name);
  mkdirSync(dir);
  const began = performance.now();
  const servers = await Promise.all(
    Array.from(
      { length: count },
      (_, index) =>
        new Promise<Server>((resolve) => {
          const server = createServer(() => {});
          server.listen(join(dir, String(index)), () => resolve(server));
        }),
    ),
  );
  return {
    ms: performance.now() - began,
    stop: async () => {
      for (const server of servers) server.close();
    },
  };
}

interface OpenLoop {
  lateness: Summary;
  started: number;
  answered: number;
  /** Cores this process used. */
  cpu: number;
  /** Share of the time in which it waited for a processor that others had. */
  waited: number;
}

/** As many as a worker has robots. */
const STREAMS = 5000;

/** A process that was kept from its core says nothing about itself: it is measured again, a few times at most. */
const MAX_WAITED = 0.05;
const ATTEMPTS = 5;

/**
 * Open-loop requests: how late does the scheduler start them when one core is asked for 20,000 a second? Keeps up `rate` requests a second for `durationMs` against a bare server in another process, after a warm-up. Resolves with
 * the attempt that had to wait least for a processor.
 */
export async function openLoop(rate: number, durationMs: number): Promise<OpenLoop> {
  const worker = fork(import.meta.filename, ['generate', String(rate), String(durationMs)], { execArgv: WORKER_FLAGS });
  try {
    const [measured] = (await once(worker, 'message')) as [OpenLoop];
    return measured;
  } finally {
    worker.kill();
  }
}

async function generate(rate: number, durationMs: number): Promise<OpenLoop> {
  const server = fork(import.meta.filename, ['serve']);
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 32, pipelining: 8 });
    await measure(pool, rate, Math.min(durationMs, 2000));
    let best = await measure(pool, rate, durationMs);
    for (let attempt = 1; attempt < ATTEMPTS && best.waited > MAX_WAITED; attempt += 1) {
      const again = await measure(pool, rate, durationMs);
      if (again.waited < best.waited) best = again;
    }
    await pool.destroy();
    return best;
  } finally {
    server.kill();
  }
}

async function measure(pool: Pool, rate: number, durationMs: number): Promise<OpenLoop> {
  const late = histogram();
  let started = 0;
  let answered = 0;
  const rank = ranks(STREAMS, random('bench'));
  const streams = Array.from({ length: STREAMS }, (_, robot) =>
    atRate({ rate, robots: STREAMS, rank: rank[robot] ?? 0, durationMs, arrivals: 'poisson', draw: random(robot) }),
  );
  const sampler = new SaturationSampler();
  const open = new Set<Promise<void>>();
  await runSchedule({
    epoch: monotonicMs() + 20,
    streams,
    fire: (_stream, _intended, lateMs) => {
      recordMs(late, lateMs);
      started += 1;
      const request = pool
        .request({ path: '/', method: 'GET' })
        .then(({ body }) => body.dump())
        .then(
          () => {
            answered += 1;
          },
          () => {},
        )
        .finally(() => open.delete(request));
      open.add(request);
    },
  });
  const { cpu, cpu_wait: waited } = sampler.take();
  await Promise.all(open);
  return { lateness: summary(late), started, answered, cpu, waited };
}

function serve(): void {
  const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      let requests = 0;
      for (let at = bytes.indexOf('\r\n\r\n'); at >= 0; at = bytes.indexOf('\r\n\r\n', at + 4)) requests += 1;
      socket.write(Buffer.concat(Array.from({ length: requests }, () => answer)));
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
  process.on('disconnect', () => process.exit());
}

if (import.meta.main) {
  const [role, rate, durationMs] = process.argv.slice(2);
  if (role === 'serve') serve();
  else if (role === 'generate') process.send?.(await generate(Number(rate), Number(durationMs)));
  else process.once('message', async (task: Task) => process.send?.(await startMany(task)));
}
