/**
 * What a target declares of itself beside what the run saw of it. Checks rest on what is declared, so a difference
 * leaves the run incomplete, though no sentence of the specification is broken by it. Bounds are on one side and
 * generous: whatever the words of the declaration can mean holds.
 */
import { CAPABILITY_MEANINGS, type Capability } from '../contract/capabilities.ts';

/** One thing that a target declares. Field names are those of the JSON report. */
export interface Declaration {
  /** E.g. `retention`, `capability compact`. */
  name: string;
  declared: string;
  observed: string;
  holds: boolean;
}

/** What checks see of what is declared. */
export class Declarations {
  readonly #seen = new Map<string, Declaration>();
  readonly #worked = new Set<string>();

  /** A difference stays, whatever holds before or after it. */
  saw(declaration: Declaration): void {
    if (this.#seen.get(declaration.name)?.holds !== false) this.#seen.set(declaration.name, declaration);
  }

  /** Control did what the capability says, so that it holds whatever control refuses beside it. */
  worked(capability: Capability): void {
    const name = nameOf(capability);
    this.#worked.add(name);
    this.#seen.set(name, { name, declared: CAPABILITY_MEANINGS[capability], observed: 'it did', holds: true });
  }

  /** Control refused a call that everything with the capability can do. */
  refused(capability: Capability, why: string): void {
    const name = nameOf(capability);
    if (this.#worked.has(name)) return;
    this.saw({ name, declared: CAPABILITY_MEANINGS[capability], observed: why, holds: false });
  }

  /** By name, each once. */
  get all(): Declaration[] {
    return [...this.#seen.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
}

const nameOf = (capability: Capability): string => `capability ${capability}`;

/** A log in segments keeps some more, and one that has just been compacted may be growing again. */
const TIMES_THE_RETENTION = 3;
const MORE_EVENTS = 100;

/** How many events the log still had after control was asked to compact it. Fewer than declared are no difference. */
export const retentionSeen = (declared: number, kept: number): Declaration => ({
  name: 'retention',
  declared: `at most ${declared} events`,
  observed: `${kept} events after a compaction`,
  holds: kept <= TIMES_THE_RETENTION * declared + MORE_EVENTS,
});

/** Beside those by the clock, heartbeats may come as a stream opens, and after events. */
const TIMES_THE_RATE = 3;
const MORE_HEARTBEATS = 5;

/** How many heartbeats came on an idle stream. That none comes in time is a finding of a check. */
export const heartbeatsSeen = (declaredSeconds: number, count: number, elapsedMs: number): Declaration => ({
  name: 'heartbeat',
  declared: `every ${declaredSeconds} s`,
  observed: `${count} within ${(elapsedMs / 1000).toFixed(1)} s`,
  holds: count <= MORE_HEARTBEATS + (TIMES_THE_RATE * elapsedMs) / (declaredSeconds * 1000),
});

/** Those that do not hold. */
export const differences = (declarations: readonly Declaration[] = []): Declaration[] =>
  declarations.filter(({ holds }) => !holds);

/** `retention: declared at most 100 events, and seen: 2000 events after a compaction`. */
export const differenceInWords = ({ name, declared, observed }: Omit<Declaration, 'holds'>): string =>
  `${name}: declared ${declared}, and seen: ${observed}`;
