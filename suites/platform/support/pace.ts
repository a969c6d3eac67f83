/** How fast a platform answers, and what it leaves unanswered. Checks wait, and try as much, by that. */
import type { Endpoint } from '../../../harness/client/http.ts';

/** No wait for an answer is shorter, milliseconds. */
const SHORTEST_WAIT_MS = 1000;
/** Share of the newest answer in the usual duration of an answer. */
const NEWEST_SHARE = 0.1;

/** What a run has learnt about one platform. A kind of request is its method and its path without ids. */
export interface Pace {
  /** An answer came, `durationMs` after its request. */
  answered(kind: string, durationMs: number): void;
  /** No answer came within the wait. */
  timedOut(kind: string): void;
  /** How long to wait for an answer, milliseconds: `patienceMs`, or less once an answer to that kind has failed to come. */
  waitMs(kind: string, patienceMs: number): number;
  /** How many requests, one after the other, are usually answered within so many milliseconds; at least one. */
  requestsWithin(durationMs: number): number;
}

/** Finds what this run has learnt about the platform at an endpoint: all clients of one run share the `endpoint` object. */
export function paces(manner?: Manner): (endpoint: Endpoint) => Pace {
  const known = new WeakMap<Endpoint, Pace>();
  return (endpoint) => {
    const pace = known.get(endpoint) ?? createPace(manner);
    known.set(endpoint, pace);
    return pace;
  };
}

/** Of its answers. */
export const paceOf = paces();

/** How it waits for what has failed to come once. */
export interface Manner {
  /** So many times the slowest of what came. */
  timesSlowest: number;
  /** Waits as long as at first again as soon as another of that kind comes. */
  forgives: boolean;
}
const OF_ANSWERS: Manner = { timesSlowest: 5, forgives: true };

export function createPace({ timesSlowest, forgives }: Manner = OF_ANSWERS): Pace {
  const silent = new Set<string>();
  let slowestMs = 0;
  let usualMs = 0;
  return {
    answered(kind, durationMs) {
      if (forgives) silent.delete(kind);
      slowestMs = Math.max(slowestMs, durationMs);
      usualMs += (durationMs - usualMs) * (usualMs === 0 ? 1 : NEWEST_SHARE);
    },
    timedOut: (kind) => void silent.add(kind),
    waitMs(kind, patienceMs) {
      if (!silent.has(kind)) return patienceMs;
      return Math.min(patienceMs, Math.max(SHORTEST_WAIT_MS, timesSlowest * slowestMs));
    },
    requestsWithin: (durationMs) => Math.max(1, Math.floor(durationMs / Math.max(1, usualMs))),
  };
}

/** `POST /devices/dvc_1/ping` → `POST /devices/{id}/ping`. */
export const kindOfRequest = (method: string, path: string): string =>
  `${method} ${path.replace(/^(\/[^/?]+)\/[^/?]+/, '$1/{id}')}`;
