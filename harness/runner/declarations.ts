/** Compares declarations of the target with observations of the run; a difference makes the run incomplete. */
import { CAPABILITY_MEANINGS, type Capability } from '../contract/capabilities.ts';

/** Declaration of the target with its observed value; field names are those of the JSON report. */
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

  /** Proves the capability, so later refusals are ignored. */
  worked(capability: Capability): void {
    const name = nameOf(capability);
    this.#worked.add(name);
    this.#seen.set(name, { name, declared: CAPABILITY_MEANINGS[capability], observed: 'it did', holds: true });
  }

  /** Call only for a request that every target with the capability can serve. */
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

/** A log in segments keeps whole segments, so it holds more than declared. */
const TIMES_THE_RETENTION = 3;
const MORE_EVENTS = 100;

export const retentionSeen = (declared: number, kept: number): Declaration => ({
  name: 'retention',
  declared: `at most ${declared} events`,
  observed: `${kept} events after a compaction`,
  holds: kept <= TIMES_THE_RETENTION * declared + MORE_EVENTS,
});

/** Allow extra heartbeats, which a target may send when a stream opens and after events. */
const TIMES_THE_RATE = 3;
const MORE_HEARTBEATS = 5;

/** Only too many heartbeats are a difference; a check reports missing heartbeats. */
export const heartbeatsSeen = (declaredSeconds: number, count: number, elapsedMs: number): Declaration => ({
  name: 'heartbeat',
  declared: `every ${declaredSeconds} s`,
  observed: `${count} within ${(elapsedMs / 1000).toFixed(1)} s`,
  holds: count <= MORE_HEARTBEATS + (TIMES_THE_RATE * elapsedMs) / (declaredSeconds * 1000),
});

export const differences = (declarations: readonly Declaration[] = []): Declaration[] =>
  declarations.filter(({ holds }) => !holds);

/** E.g. `retention: declared at most 100 events, and seen: 2000 events after a compaction`. */
export const differenceInWords = ({ name, declared, observed }: Omit<Declaration, 'holds'>): string =>
  `${name}: declared ${declared}, and seen: ${observed}`;
