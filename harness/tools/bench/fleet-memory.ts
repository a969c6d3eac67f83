/** Memory of the whole process tree of `muster fleet`, run as a user does, weighed from outside and beside what the command says of itself. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { childrenOf, pssOf } from '../soak/samples.ts';
import { atMost, type Figure, inScratch, KIB } from './figure.ts';
import { MAIN, partsOf, untilOnline, wordsOf } from './fleet-command.ts';

const MIB = 2 ** 20;
/** Robots a second at which they come up: as many as a platform on the same machine takes. */
const CONNECTED_PER_SECOND = 100;
const IDLE_PER_SECOND = 1000;
/** For what the ramp has left to do. */
const SETTLE_MS = 10_000;

interface Weighed {
  /** PSS of all processes, bytes. */
  bytes: number;
  result: FleetResult;
}

/** The kinds of robots whose memory has a goal. */
export interface RobotKind {
  name: string;
  /** With a live MQTT uplink and a subscriber, beside Muster's own platform; else neither. */
  connected: boolean;
  /** KiB of a robot: all memory over all robots, and one robot more. */
  goals: { whole: number; marginal: number };
}

/** `floor`: bytes of what a robot needs at least, if that is known. */
export async function weighRobots(kind: RobotKind, robots: number, floor?: number): Promise<Figure[]> {
  const { bytes, result } = await inScratch((dir) => weigh(dir, kind, robots));
  const whole = result.costs?.parts.whole;
  const many = robots.toLocaleString('en');
  const name = `muster fleet: ${kind.name}, ${many} of them`;
  const told = (whole?.end_bytes ?? 0) / MIB;
  const ratio = told / (bytes / MIB);
  const { whole: goal, marginal } = kind.goals;
  const parts = partsOf(result, (part) => part.end_bytes / MIB, 'MiB');
  const why = parts === undefined ? {} : { why: parts };
  return [
    { ...atMost(`${name}: all processes (PSS), each`, bytes / robots / KIB, goal, 'KiB'), ...why },
    atMost(
      `${name}: one more`,
      (whole?.robot_marginal_bytes ?? Number.NaN) / KIB,
      marginal,
      'KiB',
      floor && floor / KIB,
    ),
    {
      name: `${name}: what the result says beside what was weighed`,
      value: told,
      floor: bytes / MIB,
      ratio,
      goal: '0.85 to 1.15 × floor',
      unit: 'MiB',
      met: ratio >= 0.85 && ratio <= 1.15,
    },
  ];
}

async function weigh(dir: string, { connected }: RobotKind, robots: number): Promise<Weighed> {
  const [scenario, out] = [join(dir, 'scenario.yaml'), join(dir, 'out')];
  const over = Math.max(2, Math.ceil(robots / (connected ? CONNECTED_PER_SECOND : IDLE_PER_SECOND)));
  const phases = `phases:\n  - { do: ramp, over: ${over}s }\n  - { do: hold, for: 1h }\n`;
  const kind = connected ? 'key_bits: 1024\n' : 'uplink: none\nsubscribers: 0\n';
  writeFileSync(scenario, `name: memory\n${kind}${phases}`);
  const given = { scenario, robots, out, state: dir, ...(connected && { platform: 'embedded' }) };
  const child = spawn(process.execPath, [MAIN, 'fleet', ...wordsOf(given)], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  try {
    await untilOnline(child.stderr, robots, ended);
    await wait(SETTLE_MS);
    const tree = [child.pid ?? 0, ...childrenOf(child.pid ?? 0)];
    const bytes = tree.reduce((sum, pid) => sum + (pssOf(pid) ?? 0) * MIB, 0);
    child.kill('SIGTERM');
    await ended;
    return { bytes, result: JSON.parse(readFileSync(join(out, 'result.json'), 'utf8')) as FleetResult };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}
