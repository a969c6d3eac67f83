/** What came between robots and platform without the scenario's doing. Figures that it touched are those of a disturbed platform. */
import type { Verdict } from './verdict.ts';

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
): { verdict: Verdict; reasons: string[] } {
  const reasons = Object.entries(DISTURBANCES).flatMap(([kind, what]) => {
    const times = counters[kind] ?? 0;
    const example = examples.get(kind as DisturbanceKind);
    if (times === 0) return [];
    return [
      `not by the scenario: ${times.toLocaleString('en')} ${what}${example === undefined ? '' : `, the first with: ${example}`}`,
    ];
  });
  return { verdict: reasons.length > 0 ? 'suspect' : 'valid', reasons };
}
