/** What is measured of processes and folders, over time. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { tell } from './probe.ts';
import type { Noise, Sample } from './slope.ts';

/** A series of samples: of what, in which unit, and which gain over the run is still noise. */
export interface Series {
  subject: string;
  what: string;
  unit: string;
  noise: Noise;
  samples: Sample[];
}

const MIB = 1024 * 1024;
const KINDS: readonly { what: string; unit: string; noise: Noise }[] = [
  { what: 'RSS', unit: 'MiB', noise: { least: 5, share: 0.1, steps: true } },
  { what: 'PSS', unit: 'MiB', noise: { least: 5, share: 0.1, steps: true } },
  { what: 'heap', unit: 'MiB', noise: { least: 3, share: 0.15 } },
  { what: 'live heap', unit: 'MiB', noise: { least: 1, share: 0.03 } },
  { what: 'descriptors', unit: '', noise: { least: 4, share: 0.1 } },
  { what: 'timers', unit: '', noise: { least: 4, share: 0.1 } },
  { what: 'resources', unit: '', noise: { least: 4, share: 0.1 } },
];
const SIZE = { what: 'disk', unit: 'MiB', noise: { least: 0.5, share: 0.1 } };

/** Takes samples of processes by pid, of their oldest child process (the agent of a device) and of folders. */
export class Sampler {
  readonly series = new Map<string, Series>();
  readonly #started = performance.now();
  readonly #probes: string;

  /** `probes` is the folder in which processes tell of themselves. */
  constructor(probes: string) {
    this.#probes = probes;
  }

  process(subject: string, pid: number): void {
    const status = text(`/proc/${pid}/status`);
    const told: Record<string, number | undefined> =
      pid === process.pid ? tell() : parsed(text(join(this.#probes, `${pid}.json`)));
    const values = [
      kib(status, 'VmRSS'),
      pssOf(pid),
      told['heap'] === undefined ? undefined : told['heap'] / MIB,
      told['held'] === undefined ? undefined : told['held'] / MIB,
      count(`/proc/${pid}/fd`),
      told['timers'],
      told['resources'],
    ];
    for (const [index, kind] of KINDS.entries()) this.#add(subject, kind, values[index]);
  }

  folder(subject: string, path: string): void {
    this.#add(subject, SIZE, sizeOf(path) / MIB);
  }

  #add(subject: string, kind: (typeof KINDS)[number], value: number | undefined): void {
    if (value === undefined) return;
    const name = `${subject} ${kind.what}`;
    const series = this.series.get(name) ?? { subject, ...kind, samples: [] };
    this.series.set(name, series);
    series.samples.push([(performance.now() - this.#started) / 1000, value]);
  }
}

/** Memory of a process in MiB, with its part of what it shares; undefined when it has ended. */
export const pssOf = (pid: number): number | undefined => kib(text(`/proc/${pid}/smaps_rollup`), 'Pss');

/** The processes that a process has started. */
export function childrenOf(pid: number): number[] {
  return text(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

function text(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function parsed(source: string): Record<string, number | undefined> {
  return source === '' ? {} : (JSON.parse(source) as Record<string, number>);
}

function kib(status: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
  return value === undefined ? undefined : Number(value) / 1024;
}

function count(folder: string): number | undefined {
  try {
    return readdirSync(folder).length;
  } catch {
    return undefined;
  }
}

function sizeOf(path: string): number {
  if (!existsSync(path)) return 0;
  let bytes = 0;
  for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
    bytes += statSync(join(path, entry), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
