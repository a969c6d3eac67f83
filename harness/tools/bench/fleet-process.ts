/** A process of its own for one measurement of the fleet: memory and start-up can only be told apart in a fresh one. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RobotHost } from '../../../simulators/fleet/host/robot-host.ts';
import type { PlatformAddress } from '../../../simulators/fleet/platform/client.ts';
import { membersOf } from '../../../simulators/fleet/schedule/plan.ts';
import { monotonicMs } from '../../../simulators/fleet/schedule/scheduler.ts';

export type FleetTask =
  /** Bare listening unix sockets: what a robot costs at the very least. */
  | { kind: 'sockets'; count: number; dir: string }
  /** Whole robots; with a platform each has a live uplink. */
  | { kind: 'robots'; count: number; dir: string; stateDir: string; platform?: PlatformAddress };

export interface FleetMeasurement {
  startMs: number;
  bytesEach: number;
}

/** Started before the memory is looked at, so that code and shared tables are not counted as a robot's. */
const WARM_UP = 500;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

interface Memory {
  resident: number;
  /** On the heap and tied to it; the kernel's part and the allocator's are not in it. */
  heap: number;
}

/** Keys, sockets and buffers outside the heap are only given back some turns after they are collected. */
async function memory(): Promise<Memory> {
  for (let round = 0; round < 5; round++) {
    collect();
    await wait(100);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { resident: rss, heap: heapUsed + external };
}

/** What the warm-up left free is taken again before the process grows, so that growth alone may say too little. */
const grown = (before: Memory, after: Memory): number =>
  Math.max(after.resident - before.resident, after.heap - before.heap);

process.once('message', async (message) => {
  const task = message as FleetTask;
  const place = mkdtempSync(join(task.dir, 'muster-bench-'));
  process.on('disconnect', () => process.exit());
  const warm = await (task.kind === 'sockets' ? sockets(place, 'w', WARM_UP) : robots(place, 'w', WARM_UP, task));
  const before = await memory();
  const measured = await (task.kind === 'sockets'
    ? sockets(place, 'm', task.count)
    : robots(place, 'm', task.count, task));
  const bytesEach = grown(before, await memory()) / task.count;
  await Promise.all([warm.stop(), measured.stop()]);
  rmSync(place, { recursive: true, force: true });
  process.send?.({ startMs: measured.ms, bytesEach } satisfies FleetMeasurement);
});

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

async function robots(
  place: string,
  name: string,
  count: number,
  { platform, stateDir }: Extract<FleetTask, { kind: 'robots' }>,
): Promise<Started> {
  const host = new RobotHost(
    {
      name,
      members: membersOf(count, { index: 1, count: 1 }),
      robots: count,
      seed: 1,
      scenario: {
        name: 'bench',
        phases: [{ do: 'ramp', over: '0s' }],
        subscribers: 0,
        uplink: platform === undefined ? 'none' : 'agent',
      },
      platform,
      keyBits: 1024,
      namePrefix: `bench-${name}`,
      stateDir,
      robotsDir: join(place, name, 'r'),
      socketsDir: join(place, name, 's'),
      retain: 200,
      durability: 'os',
      trace: false,
      defects: {},
    },
    { onTick: () => {}, onKeys: () => {}, onViolation: () => {} },
  );
  mkdirSync(join(place, name, 'r'), { recursive: true });
  await host.prepare();
  // Robots with an uplink come up at the pace of a platform on the same machine.
  const over = platform === undefined ? '0s' : `${Math.ceil(count / 200)}s`;
  const epoch = monotonicMs();
  const { errors } = await host.runPhase({ index: 0, phase: { do: 'ramp', over }, epoch });
  if (errors.length > 0) throw new Error(errors[0]);
  return { ms: monotonicMs() - epoch, stop: () => host.stop('abandon') };
}
