/** Compares values that a target declares, such as the heartbeat interval, with values that a run observed. */
import { CAPABILITY_MEANINGS, type Capability } from '../contract/capabilities.ts';

/** Value that a target declares, with the value that the run observed, as in the JSON report. */
export interface Declaration {
  name: string;
  declared: string;
  observed: string;
  holds: boolean;
}

export class Declarations {
  readonly #seen = new Map<string, Declaration>();
  readonly #worked = new Set<string>();

  saw(declaration: Declaration): void {
    if (this.#seen.get(declaration.name)?.holds !== false) this.#seen.set(declaration.name, declaration);
  }

  /** Records that the target has the capability; `refused` then ignores later refusals. */
  worked(capability: Capability): void {
    const name = nameOf(capability);
    this.#worked.add(name);
    this.#seen.set(name, { name, declared: CAPABILITY_MEANINGS[capability], observed: 'it did', holds: true });
  }

  /** Records that the target refused a request which any target with the capability can serve. */
  refused(capability: Capability, why: string): void {
    const name = nameOf(capability);
    if (this.#worked.has(name)) return;
    this.saw({ name, declared: CAPABILITY_MEANINGS[capability], observed: why, holds: false });
  }

  get all(): Declaration[] {
    return [...this.#seen.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
}

const nameOf = (capability: Capability): string => `capability ${capability}`;

/** Tolerated excess of kept events, because a log that deletes whole segments keeps more events than declared. */
const TIMES_THE_RETENTION = 3;
const MORE_EVENTS = 100;

export const retentionSeen = (declared: number, kept: number): Declaration => ({
  name: 'retention',
  declared: `at most ${declared} events`,
  observed: `${kept} events after a compaction`,
  holds: kept <= TIMES_THE_RETENTION * declared + MORE_EVENTS,
});

/** Tolerated excess of heartbeats, which a target may also send after events and at the start of a stream. */
const TIMES_THE_RATE = 3;
const MORE_HEARTBEATS = 5;

/** Compares the number of heartbeats with the declared interval; only too many heartbeats are a difference. */
export const heartbeatsSeen = (declaredSeconds: number, count: number, elapsedMs: number): Declaration => ({
  name: 'heartbeat',
  declared: `every ${declaredSeconds} s`,
  observed: `${count} within ${(elapsedMs / 1000).toFixed(1)} s`,
  holds: count <= MORE_HEARTBEATS + (TIMES_THE_RATE * elapsedMs) / (declaredSeconds * 1000),
});

export const differences = (declarations: readonly Declaration[] = []): Declaration[] =>
  declarations.filter(({ holds }) => !holds);

/** Sentence about a difference, e.g. `retention: declared at most 100 events, and seen: 2000 events`. */
export const differenceInWords = ({ name, declared, observed }: Omit<Declaration, 'holds'>): string =>
  `${name}: declared ${declared}, and seen: ${observed}`;
