/** Grades a run: did the load generator keep up, or do the figures measure the generator itself? */

import type { Summary } from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';

export const VERDICTS = ['valid', 'suspect', 'invalid'] as const;
export type Verdict = (typeof VERDICTS)[number];

interface Grade {
  verdict: Verdict;
  /** Each names the observation, the limit, and what to change. */
  reasons: string[];
}

/** Pairs of limits: above the first a run is suspect, above the second it is invalid. */
export const LIMITS = {
  /** 99th percentile of how late actions started, milliseconds. */
  lateness: [50, 250],
  /** Share of seconds in which the event loop of a process stalled for longer than `loopStallMs`. */
  stalled: [0.05, 0.25],
  loopStallMs: 250,
  /** One stall of an event loop, milliseconds: the process was stopped, or starved. */
  longestStallMs: 2000,
  /** Share of seconds in which a process used more than `busyCpu` of a core. */
  busy: [0.5, 0.9],
  busyCpu: 0.95,
  /** Share of the file descriptors in use. */
  descriptors: [0.9, 0.99],
  /** A process that waits for a processor for this share of a second is slowed down by others. */
  cpuWait: 0.1,
} as const;

export interface Evidence {
  /** Over all workers: `schedule.lateness.ms` and `http.connect.ms` count here. */
  metrics: Readonly<Record<string, Summary>>;
  /**
   * `exhausted`: failures because local descriptors, ports or memory ran out (EMFILE, EADDRNOTAVAIL, ENOBUFS).
   * `http.crowded`: requests that waited because all connections of their worker were in use.
   */
  counters: Readonly<Record<string, number>>;
  /** One sample a second of each worker while measuring, by its name. */
  samples: ReadonlyMap<string, readonly LoadSample[]>;
  /** Connections that each worker may open; undefined when unknown. */
  connections?: number | undefined;
}

interface Finding {
  verdict: Verdict;
  reason: string;
}

/** The verdict is the worst of the findings. */
export function gradeRun({ metrics, counters, samples, connections }: Evidence): Grade {
  const { exhausted = 0, 'http.crowded': crowded = 0 } = counters;
  const findings = [
    ...latenessFindings(metrics['schedule.lateness.ms'], metrics['http.connect.ms']),
    ...[...samples].flatMap(([worker, taken]) => workerFindings(worker, taken)),
  ];
  if (exhausted > 0) {
    findings.push({
      verdict: 'invalid',
      reason:
        `${exhausted} actions failed because local descriptors, ports or buffers ran out; raise 'ulimit -n', ` +
        'use more --workers, or --shard over more machines',
    });
  }
  if (crowded > 0) {
    const all = connections === undefined ? 'all connections' : `all ${connections} connections`;
    findings.push({
      verdict: 'invalid',
      reason:
        `${crowded} requests waited because ${all} of their worker to the platform were in use; raise ` +
        '--connections, use more --workers, or ask for a lower rate',
    });
  }
  if (findings.length > 0) findings.push(...crowdedFindings(samples));
  return { verdict: worst(findings.map(({ verdict }) => verdict)), reasons: findings.map(({ reason }) => reason) };
}

function latenessFindings(lateness: Summary | undefined, connecting: Summary | undefined): Finding[] {
  if (lateness === undefined || lateness.count === 0) return [];
  const slow =
    connecting !== undefined && connecting.p99 > LIMITS.lateness[0]
      ? `; the platform took up to ${connecting.p99.toFixed(0)} ms (p99) to accept a connection`
      : '';
  return compared(
    lateness.p99,
    LIMITS.lateness,
    `actions or their requests started late: p99 ${lateness.p99.toFixed(1)} ms (limit ${LIMITS.lateness[0]} ` +
      `ms)${slow}; use more --workers, fewer robots per machine (--shard), or a lower rate`,
  );
}

function workerFindings(worker: string, taken: readonly LoadSample[]): Finding[] {
  if (taken.length === 0) return [];
  const share = (bad: (sample: LoadSample) => boolean): number => taken.filter(bad).length / taken.length;
  const stalled = share((sample) => sample.loop_max_ms > LIMITS.loopStallMs);
  const busy = share((sample) => sample.cpu > LIMITS.busyCpu);
  const used = Math.max(
    ...taken.map((sample) => (sample.descriptor_limit === 0 ? 0 : sample.descriptors / sample.descriptor_limit)),
  );
  const longest = Math.max(...taken.map((sample) => sample.loop_max_ms));
  return [
    ...compared(
      longest,
      [LIMITS.longestStallMs, Number.POSITIVE_INFINITY],
      `${worker}: it stood still for ${(longest / 1000).toFixed(1)} s (limit ${LIMITS.longestStallMs / 1000} ` +
        's), stopped by someone or starved; its robots did nothing in that time',
    ),
    ...compared(
      stalled,
      LIMITS.stalled,
      `${worker}: the event loop stalled for over ${LIMITS.loopStallMs} ms in ${percent(stalled)} of the ` +
        'seconds; use more --workers or a machine with more cores',
    ),
    ...compared(
      busy,
      LIMITS.busy,
      `${worker}: a whole core was in use in ${percent(busy)} of the seconds; use more --workers, up to the ` +
        'number of cores, then --shard over more machines',
    ),
    ...compared(
      used,
      LIMITS.descriptors,
      `${worker}: ${percent(used)} of the file descriptors were in use; raise 'ulimit -n' or use more --workers`,
    ),
  ];
}

/** An explanation for other findings; it does not make the verdict worse. */
function crowdedFindings(samples: Evidence['samples']): Finding[] {
  const crowded = [...samples].flatMap(([worker, taken]) => {
    const longest = Math.max(0, ...taken.map((sample) => sample.cpu_wait));
    return longest > LIMITS.cpuWait ? [`${worker} up to ${percent(longest)} of a second`] : [];
  });
  if (crowded.length === 0) return [];
  const reason =
    `workers waited for a processor (${crowded.join(', ')}): something else was using this machine, or ` +
    'there are more workers than cores';
  return [{ verdict: 'valid', reason }];
}

function compared(value: number, [suspect, invalid]: readonly [number, number], reason: string): Finding[] {
  return value > suspect ? [{ verdict: value > invalid ? 'invalid' : 'suspect', reason }] : [];
}

const percent = (value: number): string => `${Math.round(value * 100)} %`;

export function worst(verdicts: readonly Verdict[]): Verdict {
  return VERDICTS[Math.max(0, ...verdicts.map((verdict) => VERDICTS.indexOf(verdict)))] ?? 'valid';
}

// What came between robots and platform without the scenario's doing. Figures that it touched are those of a disturbed
// platform.

/** Counters of such troubles, and what each counts. */
const DISTURBANCES = {
  'uplink.lost': 'connections of robots to the broker were lost',
  'connect.errors': 'attempts of robots to come online failed',
  'request.retries': 'requests of robots met a network error and were sent again',
  'sync.errors': 'syncs of robots failed',
} as const;

export type DisturbanceKind = keyof typeof DISTURBANCES;

/** The first trouble of its kind on a host. */
export interface Disturbance {
  kind: DisturbanceKind;
  message: string;
}

/** A reason for each kind of trouble. None makes a run worse than suspect: the load was as planned. */
export function gradeDisturbances(
  counters: Readonly<Record<string, number>>,
  examples: ReadonlyMap<DisturbanceKind, string>,
): Grade {
  const reasons = Object.entries(DISTURBANCES).flatMap(([kind, what]) => {
    const times = counters[kind] ?? 0;
    const example = examples.get(kind as DisturbanceKind);
    if (times === 0) return [];
    return [
      `not by the scenario: ${times.toLocaleString('en')} ` +
        `${what}${example === undefined ? '' : `, the first with: ${example}`}`,
    ];
  });
  return { verdict: reasons.length > 0 ? 'suspect' : 'valid', reasons };
}
