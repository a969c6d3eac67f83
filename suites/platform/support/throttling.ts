/** After a 429, all checks that run side by side pause together. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoint } from '../../../harness/client/http.ts';
import { retryAfterMs } from '../../../harness/common/retry-after.ts';
import { backoffMs } from '../../../harness/common/waiting.ts';

const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 10_000;
/** Pauses where the platform names none. */
const UNNAMED_PAUSE = { firstMs: 100, longestMs: 3200 };

export interface Gate {
  /** Resolves when no pause is in force. */
  pass(signal: AbortSignal): Promise<void>;
  /** Starts a pause, as long as the headers of a 429 ask for. */
  close(headers: Readonly<Record<string, string>>, attempt: number): void;
}

/** By connection: all clients of one run share the `endpoint` object. */
const gates = new WeakMap<Endpoint, Map<string, Gate>>();

/** One gate for the whole platform, and one for each device: some platforms allow one ping of a device at a time. */
export function gateOf(endpoint: Endpoint, path: string): Gate {
  const ofEndpoint = gates.get(endpoint) ?? new Map<string, Gate>();
  gates.set(endpoint, ofEndpoint);
  const name = path.endsWith('/ping') ? path : '';
  const gate = ofEndpoint.get(name) ?? createGate();
  ofEndpoint.set(name, gate);
  return gate;
}

function createGate(): Gate {
  let opensAt = 0;
  return {
    async pass(signal) {
      // Another check may have closed the gate again during the pause.
      for (let left = opensAt - performance.now(); left > 0; left = opensAt - performance.now()) {
        await sleep(Math.ceil(left), undefined, { signal });
      }
    },
    close(headers, attempt) {
      opensAt = Math.max(opensAt, performance.now() + pauseMs(headers, attempt));
    },
  };
}

/** As long as the headers of a 429 ask for, within limits. */
export function pauseMs(headers: Readonly<Record<string, string>>, attempt: number): number {
  const pause = retryAfterMs(headers) ?? backoffMs(UNNAMED_PAUSE, attempt);
  return Math.min(Math.max(pause, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
}
