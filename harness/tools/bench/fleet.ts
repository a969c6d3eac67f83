/** Measures memory and startup of the command `muster fleet`, compared with bare sockets or absolute goals. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { type CostPart, costParts } from '../../../simulators/fleet/measure/costs.ts';
import { descriptorLimit } from '../../../simulators/fleet/measure/saturation.ts';
import { WORKER_FLAGS } from '../../../simulators/fleet/processes/workers.ts';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { baseDirFor } from '../../../simulators/fleet/run/capacity.ts';
import type { Running } from '../../cli/testing/muster.ts';
import { defined } from '../../common/defined.ts';
import { atMost, type Figure, KIB, MIB } from '../measure/figure.ts';
import { listenAnywhere, pssBytes, serveTask, startMuster, Task, treeOf, wordsOf } from '../measure/process.ts';

interface FleetRun {
  robots: number;
  workers?: number;
  platform?: string;
  scenario: string;
  meanwhile?(fleet: Running): Promise<void>;
}

export async function fleetCommand(run: FleetRun): Promise<FleetResult> {
  const { scenario, meanwhile, ...more } = run;
  using home = scratch();
  const [file, out] = [join(home.path, 'scenario.yaml'), join(home.path, 'out')];
  writeFileSync(file, scenario);
  const words = wordsOf({ ...more, 'api-key': 'bench', scenario: file, out, state: home.path });
  await using fleet = startMuster(['fleet', ...words]);
  await meanwhile?.(fleet);
  const { stderr } = await fleet.ended;
  try {
    return JSON.parse(readFileSync(join(out, 'result.json'), 'utf8')) as FleetResult;
  } catch (error) {
    throw new Error(`muster fleet left no result: ${stderr}`, { cause: error });
  }
}

export const untilOnline = (fleet: Running, robots: number): Promise<unknown> =>
  fleet.said(new RegExp(`hold .*robots online ${robots}\\b`));

/** Text such as `parent 4, workers 61, platform 38 s`; undefined if the result has no costs. */
export function partsOf({ costs }: FleetResult, taken: (part: CostPart) => number, unit: string): string | undefined {
  if (costs === undefined) return undefined;
  const parts = costParts(costs).filter(([name]) => name !== 'whole');
  return `${parts.map(([name, part]) => `${name} ${taken(part).toFixed(0)}`).join(', ')} ${unit}`;
}

/** One open file a robot, with 2,500 left for other uses. */
const ROBOTS = Math.min(10_000, descriptorLimit() - 2500);
export const UNCONNECTED = 'name: bench\nuplink: none\nsubscribers: 0\n';
/** Disk space of a robot in the fleet's folder. */
export const ROBOT_BYTES = 64 * KIB;
const WARM_UP = 100;

interface RobotKind {
  name: string;
  head: string;
  platform?: string;
  perSecond: number;
  /** Maximum KiB per robot: `whole` counts all memory of the fleet, `marginal` only the memory of one more robot. */
  goals: { whole: number; marginal: number };
}

export async function benchFleet(): Promise<Figure[]> {
  const bare = await bytesOf('listen', ROBOTS);
  // At most 3,000, because the one process of the floor needs five descriptors for each robot.
  const bareConnected = await bytesOf('connect', Math.min(ROBOTS, 3000));
  const idle = { name: 'an idle robot', head: UNCONNECTED, perSecond: 1000, goals: { whole: 28, marginal: 8 } };
  const connected = {
    name: 'a robot with a live MQTT uplink and a subscriber',
    head: 'name: memory\nkey_bits: 1024\n',
    platform: 'embedded',
    perSecond: 100,
    goals: { whole: 64, marginal: 40 },
  };
  return [...(await weighRobots(idle, bare)), ...(await weighRobots(connected, bareConnected))];
}

const tasks = {
  listen: async (folder: string, from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number += 1)
      await once(createServer({ allowHalfOpen: true }).listen(join(folder, `${number}`)), 'listening');
  },

  connect: async (folder: string, from: number, to: number): Promise<void> => {
    await tasks.listen(folder, from, to);
    const port = await listenAnywhere(createServer());
    for (let number = from; number < to; number += 1)
      for (const socket of [connect(join(folder, `${number}`)), connect(port, '127.0.0.1')])
        await once(socket, 'connect');
  },
};

async function bytesOf(kind: 'listen' | 'connect', count: number): Promise<number> {
  using place = scratch(baseDirFor(count * ROBOT_BYTES));
  await using task = new Task<typeof tasks>(import.meta.url, { flags: WORKER_FLAGS });
  // The first robots also load code and buffers.
  await task.call(kind, place.path, 0, WARM_UP);
  const before = pssBytes([task.pid]);
  await task.call(kind, place.path, WARM_UP, WARM_UP + count);
  return (pssBytes([task.pid]) - before) / count;
}

async function weighRobots(kind: RobotKind, floor: number): Promise<Figure[]> {
  const over = Math.ceil(ROBOTS / kind.perSecond);
  const scenario = `${kind.head}phases:\n  - { do: ramp, over: ${over}s }\n  - { do: hold, for: 1h }\n`;
  let bytes = Number.NaN;
  const meanwhile = async (fleet: Running): Promise<void> => {
    await untilOnline(fleet, ROBOTS);
    // Memory becomes steady some seconds after all robots are online.
    await wait(10_000);
    bytes = pssBytes(treeOf(fleet.child.pid ?? 0));
    fleet.child.kill('SIGTERM');
  };
  const result = await fleetCommand({ robots: ROBOTS, scenario, meanwhile, ...defined({ platform: kind.platform }) });
  const whole = result.costs?.parts.whole;
  const name = `muster fleet: ${kind.name}, ${ROBOTS.toLocaleString('en')} of them`;
  const told = (whole?.end_bytes ?? 0) / MIB;
  const why = partsOf(result, (part) => part.end_bytes / MIB, 'MiB');
  const ratio = told / (bytes / MIB);
  const more = (whole?.robot_marginal_bytes ?? Number.NaN) / KIB;
  return [
    atMost(`${name}: all processes (PSS), each`, bytes / ROBOTS / KIB, kind.goals.whole, 'KiB', defined({ why })),
    atMost(`${name}: one more`, more, kind.goals.marginal, 'KiB', { floor: floor / KIB }),
    {
      name: `${name}: what the result says beside what was weighed`,
      value: told,
      floor: bytes / MIB,
      goal: '0.85 to 1.15 × floor',
      unit: 'MiB',
      met: ratio >= 0.85 && ratio <= 1.15,
    },
  ];
}

const MANY = 100_000;

export async function benchFleetMany(): Promise<Figure[]> {
  const workers = Math.ceil((MANY * 1.4) / (descriptorLimit() * 0.85));
  const scenario = `${UNCONNECTED}phases:\n  - { do: ramp, over: 0s }\n`;
  const result = await fleetCommand({ robots: MANY, workers, scenario });
  const started = result.metrics['start.ms']?.count ?? 0;
  const each = (result.costs?.parts.whole.robot_whole_bytes ?? Number.NaN) / KIB;
  const beside = `started in ${(result.start_ms / 1000).toFixed(1)} s, ${each.toFixed(1)} KiB`;
  return [
    {
      name: `muster fleet: idle robots on this machine, over ${workers} workers`,
      value: started,
      goal: `${MANY.toLocaleString('en')} (${beside} each over all processes)`,
      unit: 'robots',
      met: started === MANY,
    },
  ];
}

if (import.meta.main) serveTask(tasks);
