/** Where checks that run side by side wait together once a platform says that there were too many requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoint } from '../../../harness/client/http.ts';

const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 10_000;
/** A platform that names no time is asked again after twice as long each time, up to this. */
const DOUBLINGS = 5;

export interface Gate {
  /** Resolves once the pause that was asked for is over. */
  pass(signal: AbortSignal): Promise<void>;
  /** Asks for a pause, by the headers of a 429. */
  close(headers: Readonly<Record<string, string>>, attempt: number): void;
}

/** By the connections of a run: its `endpoint` is one object, whatever copies of the client are made. */
const gates = new WeakMap<Endpoint, Map<string, Gate>>();

/** One gate for a whole platform, and one for each device that is pinged: some take one ping of it at a time. */
export function gateOf(endpoint: Endpoint, path: string): Gate {
  const ofEndpoint = gates.get(endpoint) ?? new Map<string, Gate>();
  gates.set(endpoint, ofEndpoint);
  const name = path.endsWith('/ping') ? path : '';
  const gate = ofEndpoint.get(name) ?? closable();
  ofEndpoint.set(name, gate);
  return gate;
}

function closable(): Gate {
  let opensAt = 0;
  return {
    async pass(signal) {
      // It may have been closed again meanwhile.
      for (let left = opensAt - performance.now(); left > 0; left = opensAt - performance.now()) {
        await sleep(Math.ceil(left), undefined, { signal });
      }
    },
    close(headers, attempt) {
      opensAt = Math.max(opensAt, performance.now() + pauseMs(headers, attempt));
    },
  };
}

/** RFC 9110 section 10.2.3: seconds, or a date, which is held against the platform's own clock where it tells it. */
export function pauseMs(headers: Readonly<Record<string, string>>, attempt: number): number {
  const { 'retry-after': asked, date } = headers;
  const now = Date.parse(date ?? '') || Date.now();
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(asked ?? '') ? Number(asked) * 1000 : Date.parse(asked ?? '') - now;
  const pause = Number.isFinite(seconds) ? seconds : 100 * 2 ** Math.min(attempt, DOUBLINGS);
  return Math.min(Math.max(pause, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
}
