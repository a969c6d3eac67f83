/** What a robot costs, measured on the shipped command: memory and processor of every process, by what it is for. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { untilOnline } from '../bench/fleet-command.ts';
import { cpuSeconds } from '../bench/processor.ts';
import { childrenOf, pssOf } from '../soak/samples.ts';
import type { StormOutcome } from './storm.ts';

const MAIN = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** Two sizes tell what a process costs from what a robot costs. */
const SIZES = [500, 2500] as const;
const RAMP_PER_SECOND = 100;
const HOLD_S = 20;
const MIB = 2 ** 20;

/** Of one robot with a live uplink and a subscriber. Memory is bytes of PSS; processor is milliseconds. */
export interface Cost {
  /** Memory of all its processes over all robots. */
  whole: number;
  /** What one robot more takes. */
  marginal: number;
  /** Processor of a second in which nothing happens. */
  idleMs: number;
  /** Processor to come up: key, enrolment, connection, first sync. */
  startMs: number;
}

/** The figures that the page on capacity is computed from. */
export interface Costs {
  /** ISO 8601 date. */
  measured: string;
  /** Number of robots of the larger run. */
  robots: number;
  /** Parent and workers. */
  fleet: Cost;
  /** Platform API and broker of the simulated platform. */
  platform: Cost;
  /** A real reconnect storm, to hold the simulation to. */
  storm: RealStorm;
}

/** `npm run bench -- --only storm`: times are milliseconds after the loss. */
export interface RealStorm {
  measured: string;
  robots: number;
  /** Connections that were let in a second. */
  capacity: number;
  real: StormOutcome;
}

type Role = 'fleet' | 'platform';
interface Sample {
  bytes: number;
  cpuMs: number;
}
type Samples = Record<Role, Sample>;

/** About two minutes. */
export async function measureCosts(): Promise<Omit<Costs, 'storm'>> {
  const [few, many] = [await sampled(SIZES[0]), await sampled(SIZES[1])];
  const cost = (role: Role): Cost => ({
    whole: Math.round(many.held[role].bytes / SIZES[1]),
    marginal: Math.round((many.held[role].bytes - few.held[role].bytes) / (SIZES[1] - SIZES[0])),
    idleMs: rounded((many.held[role].cpuMs - many.started[role].cpuMs) / HOLD_S / SIZES[1]),
    startMs: rounded((many.started[role].cpuMs - few.started[role].cpuMs) / (SIZES[1] - SIZES[0])),
  });
  return { measured: today(), robots: SIZES[1], fleet: cost('fleet'), platform: cost('platform') };
}

/** ISO 8601 date. */
export const today = (): string => new Date().toISOString().slice(0, 10);

const rounded = (value: number): number => Number(value.toPrecision(3));

/** Runs `muster fleet` with its own platform, and looks at its processes when all robots are online and some seconds later. */
async function sampled(robots: number): Promise<{ started: Samples; held: Samples }> {
  const place = mkdtempSync(join(tmpdir(), 'muster-capacity-'));
  const scenario = join(place, 'scenario.yaml');
  const over = Math.ceil(robots / RAMP_PER_SECOND);
  writeFileSync(
    scenario,
    `name: capacity\nkey_bits: 1024\nphases:\n  - { do: ramp, over: ${over}s }\n  - { do: hold, for: 1h }\n`,
  );
  const given = { scenario, platform: 'embedded', robots, workers: 1, state: place, out: join(place, 'out') };
  const words = Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [MAIN, 'fleet', ...words, '--dir', place], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  try {
    await untilOnline(child.stderr, robots, ended);
    const started = sampleOf(child.pid ?? 0);
    await wait(HOLD_S * 1000);
    return { started, held: sampleOf(child.pid ?? 0) };
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(place, { recursive: true, force: true });
  }
}

function sampleOf(parent: number): Samples {
  const children = childrenOf(parent);
  const isPlatform = (pid: number): boolean => commandOf(pid).includes('embedded-platform');
  return {
    fleet: total([parent, ...children.filter((pid) => !isPlatform(pid))]),
    platform: total(children.filter(isPlatform)),
  };
}

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

function total(pids: readonly number[]): Sample {
  return {
    bytes: pids.reduce((sum, pid) => sum + (pssOf(pid) ?? 0) * MIB, 0),
    cpuMs: pids.reduce((sum, pid) => sum + 1000 * cpuSeconds(pid), 0),
  };
}
