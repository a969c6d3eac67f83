/** Grades whether the load generator of a run kept up with its schedule. */

import { readableDuration } from '../../../harness/common/units.ts';
import { thousands } from '../measure/costs.ts';
import type { Summary } from '../measure/metrics.ts';
import type { LoadSample } from '../measure/saturation.ts';

export const VERDICTS = ['valid', 'suspect', 'invalid'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Limits of a valid run; of a pair, the first number makes a run suspect and the second invalid. */
export const LIMITS = {
  /** Milliseconds by which actions start late (99th percentile). */
  lateness: [50, 250],
  /** Share of seconds in which the event loop stalled for more than `loopStallMs` milliseconds. */
  stalled: [0.05, 0.25],
  loopStallMs: 250,
  longestStallMs: 2000,
  /** Share of seconds in which a process used more than `busyCpu` of a core. */
  busy: [0.5, 0.9],
  busyCpu: 0.95,
  descriptors: [0.9, 0.99],
  /** Maximum share of a second for which a process may wait for a processor. */
  cpuWait: 0.1,
} as const;

export interface Evidence {
  metrics: Readonly<Record<string, Summary>>;
  /** `exhausted`: lack of descriptors, ports, memory or disk; `http.crowded`: requests that waited for a connection. */
  counters: Readonly<Record<string, number>>;
  samples: ReadonlyMap<string, readonly LoadSample[]>;
  seconds: number;
  connections: number;
  robots: number;
  cores: number;
  /** `fields`: scenario fields with request rates, e.g. `reads`; `part`: this shard's share of the requests. */
  rates: { fields: readonly string[]; part: number };
}

type Lack = 'processor' | 'descriptors' | 'connections' | 'time of its own';

interface Finding {
  lack: Lack;
  verdict: Verdict;
  reason: string;
  /** Set if no later sample can improve the verdict. */
  lasts?: true;
}

export function gradeRun(evidence: Evidence) {
  const { metrics, counters, samples, connections } = evidence;
  const { exhausted = 0, 'http.crowded': crowded = 0 } = counters;
  const failed = `${exhausted} actions or syncs failed because local descriptors, ports, buffers or disk space ran out`;
  const all = `all ${connections} connections of their worker to the platform`;
  const waited = `${crowded} requests waited because ${all} were in use`;
  const findings = [
    ...latenessFindings(metrics['schedule.lateness.ms']?.p99, metrics['http.connect.ms']?.p99),
    ...[...samples].flatMap(([worker, taken]) => workerFindings(worker, taken)),
    ...compared('descriptors', exhausted, [0, 0], failed).map(lasting),
    ...compared('connections', crowded, [0, 0], waited).map(lasting),
  ];
  const explained = findings.length > 0 ? [...crowdedReasons(samples), ...adviceOn(findings, evidence)] : [];
  return {
    verdict: worst(findings.map(({ verdict }) => verdict)),
    reasons: [...findings.map(({ reason }) => reason), ...explained],
    atBest: worst(findings.flatMap(({ lasts, verdict }) => (lasts === true ? [verdict] : []))),
  };
}

/** Reduces instead of `Math.max(...values)`, because a run of two days has too many values for the stack. */
const largest = (values: readonly number[]): number => values.reduce((most, value) => Math.max(most, value), 0);

/** Advises one change, because after several changes nobody knows which helped. */
function adviceOn(findings: readonly Finding[], evidence: Evidence): string[] {
  const { samples, robots, cores, connections } = evidence;
  const lacks = new Set(findings.map(({ lack }) => lack));
  if (lacks.has('descriptors')) {
    const limit = largest([...samples.values()].flat().map(({ descriptor_limit }) => descriptor_limit));
    const disk = (evidence.counters['exhausted'] ?? 0) > 0 ? ", or make room on the disk of the robots' files" : '';
    return [`raise 'ulimit -n'${limit === 0 ? '' : ` (now ${limit})`}${disk}`];
  }
  if (lacks.has('connections')) return [`raise --connections above ${connections}`];
  if (!lacks.has('processor')) return [];
  const loads = [...samples.values()].map((taken) => ({
    cpu: mean(taken.map(({ cpu }) => cpu)),
    waited: mean(taken.map(({ cpu_wait }) => cpu_wait)),
  }));
  const busiest = Math.max(0, ...loads.map(({ cpu }) => cpu));
  const used = loads.reduce((sum, { cpu }) => sum + cpu, 0);
  const wanted = loads.reduce((sum, { cpu, waited }) => sum + cpu + waited, 0);
  if (busiest > EASY && loads.length < cores) return [`use --workers ${cores} (now ${loads.length})`];
  const share = Math.min(busiest > 0 ? EASY / busiest : 1, wanted > 0 ? (MARGIN * used) / wanted : 1, MARGIN);
  // Minimum ratio of wanted to used processor time on a machine that other processes slow down.
  const crowded = wanted > 1.2 * used;
  // Share of all processors below which the advice blames other processes for a busy machine.
  if (crowded && used < 0.1 * cores) {
    const got = `${used.toFixed(2)} of ${cores} processors, and waited for ${(wanted - used).toFixed(2)} more`;
    return [`this machine was busy with other things: the workers got ${got}; let the others end, or use another one`];
  }
  const carries = `${crowded ? 'as busy as it is, ' : ''}this machine carries about`;
  const rate = share * trafficRate(evidence);
  if (rate >= 1) return [`${carries} ${thousands(roundedDown(rate))} requests a second: ${lowerRate(rate, evidence)}`];
  if (robots < 2) return ['ask for a lower rate'];
  const carried = roundedDown(Math.max(1, robots * share));
  const machines = Math.ceil(robots / carried);
  const use = `use --robots ${carried}, or --shard on ${machines} machines`;
  return [`${carries} ${thousands(carried)} robots of this scenario: ${use}`];
}

/** Metrics of work that grows with the number of robots, not with request rates. */
const WORK_OF_ROBOTS = ['start.ms', 'sync.ms', 'connect.ms', 'reconnect.ms', 'subscriber.reconnect.ms'];

/** Requests per second without roll-outs; 0 if the robots' own work, roll-outs and events outnumber them. */
function trafficRate({ metrics, counters, seconds }: Evidence): number {
  const count = (name: string): number => counters[name] ?? 0;
  const rollouts = count('rollout.attempts');
  const traffic = count('http.attempts') - rollouts;
  const own = WORK_OF_ROBOTS.reduce((sum, name) => sum + (metrics[name]?.count ?? 0), rollouts + count('sse.events'));
  return seconds === 0 || traffic < own ? 0 : traffic / seconds;
}

/** Advises a lower rate, because fewer robots would send the same number of requests. */
function lowerRate(carried: number, evidence: Evidence): string {
  const { fields, part } = evidence.rates;
  const most = `${roundedDown(carried / part)}/s`;
  const machines = Math.ceil(trafficRate(evidence) / carried);
  const [field] = fields;
  const together = `${most} for ${fields.join(' and ')} of the scenario together`;
  const asked = fields.length === 1 ? `${field}: ${most} in the scenario` : together;
  const spread = machines > evidence.robots ? '' : `, or --shard on ${machines} machines`;
  return `use ${field === undefined ? 'a lower rate' : asked}${spread}`;
}

/** Maximum share of a core at which actions still start on time. */
const EASY = 0.7;
const MARGIN = 0.8;

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

function roundedDown(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.floor(value / unit) * unit;
}

function latenessFindings(lateness = 0, connecting = 0): Finding[] {
  const isSlow = connecting > LIMITS.lateness[0];
  const slow = isSlow ? `; the platform accepted connections within ${readableDuration(connecting)} (p99)` : '';
  const late = `p99 ${readableDuration(lateness)} (limit ${LIMITS.lateness[0]} ms)${slow}`;
  return compared('processor', lateness, LIMITS.lateness, `actions or their requests started late: ${late}`);
}

function workerFindings(worker: string, taken: readonly LoadSample[]): Finding[] {
  if (taken.length === 0) return [];
  const share = (bad: (sample: LoadSample) => boolean): number => taken.filter(bad).length / taken.length;
  const stalled = share((sample) => sample.loop_max_ms > LIMITS.loopStallMs);
  const busy = share((sample) => sample.cpu > LIMITS.busyCpu);
  const used = largest(
    taken.map(({ descriptors, descriptor_limit: limit }) => (limit === 0 ? 0 : descriptors / limit)),
  );
  const open = `${percent(used)} of the file descriptors were in use (limit ${percent(LIMITS.descriptors[0])})`;
  const longest = largest(taken.map((sample) => sample.loop_max_ms));
  const ofSeconds = (kind: 'stalled' | 'busy', what: string, seconds: number): Finding[] => {
    const reason = `${what} in ${percent(seconds)} of the seconds (limit ${percent(LIMITS[kind][0])})`;
    return compared('processor', seconds, LIMITS[kind], `${worker}: ${reason}`);
  };
  const still = `it stood still for ${(longest / 1000).toFixed(1)} s (limit ${LIMITS.longestStallMs / 1000} s)`;
  const stopped = `${worker}: ${still}, stopped by someone or starved; its robots did nothing in that time`;
  return [
    ...compared('time of its own', longest, [LIMITS.longestStallMs, Number.POSITIVE_INFINITY], stopped).map(lasting),
    ...ofSeconds('stalled', `the event loop stalled for over ${LIMITS.loopStallMs} ms`, stalled),
    ...ofSeconds('busy', 'a whole core was in use', busy),
    ...compared('descriptors', used, LIMITS.descriptors, `${worker}: ${open}`),
  ];
}

function crowdedReasons(samples: Evidence['samples']): string[] {
  const crowded = [...samples].flatMap(([worker, taken]) => {
    const longest = largest(taken.map((sample) => sample.cpu_wait));
    return longest > LIMITS.cpuWait ? [`${worker} up to ${percent(longest)} of a second`] : [];
  });
  if (crowded.length === 0) return [];
  const cause = 'something else was using this machine, or there are more workers than cores';
  return [`workers waited for a processor (${crowded.join(', ')}): ${cause}`];
}

const lasting = (finding: Finding): Finding => ({ ...finding, lasts: true });

function compared(lack: Lack, value: number, [suspect, invalid]: readonly [number, number], reason: string): Finding[] {
  return value > suspect ? [{ lack, verdict: value > invalid ? 'invalid' : 'suspect', reason }] : [];
}

const percent = (value: number): string => `${Math.round(value * 100)} %`;

export const worst = (verdicts: readonly Verdict[]): Verdict =>
  VERDICTS[Math.max(0, ...verdicts.map((verdict) => VERDICTS.indexOf(verdict)))] ?? 'valid';

const DISTURBANCES = {
  'uplink.lost': 'connections of robots to the broker were lost',
  'connect.errors': 'attempts of robots to come online failed',
  'request.retries': 'requests of robots met a network error and were sent again',
  'sync.errors': 'syncs of robots failed',
} as const;

export type DisturbanceKind = keyof typeof DISTURBANCES;

export interface Disturbance {
  kind: DisturbanceKind;
  message: string;
}

/** Grades a disturbed run as suspect, not as invalid, because the load was as planned. */
export function gradeDisturbances(counters: Evidence['counters'], examples: ReadonlyMap<DisturbanceKind, string>) {
  const reasons = Object.entries(DISTURBANCES).flatMap(([kind, what]) => {
    const times = counters[kind] ?? 0;
    const example = examples.get(kind as DisturbanceKind);
    const first = example === undefined ? '' : `, the first with: ${example}`;
    return times === 0 ? [] : [`not by the scenario: ${times.toLocaleString('en')} ${what}${first}`];
  });
  const verdict: Verdict = reasons.length > 0 ? 'suspect' : 'valid';
  return { verdict, reasons, atBest: verdict };
}
