import { CAPABILITY_MEANINGS, type Capability } from '../contract/capabilities.ts';

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

  /** Makes `refused` ignore later refusals of the capability. */
  worked(capability: Capability): void {
    const name = nameOf(capability);
    this.#worked.add(name);
    this.#seen.set(name, { name, declared: CAPABILITY_MEANINGS[capability], observed: 'it did', holds: true });
  }

  /** Callers pass only refusals of requests that any target with the capability can serve. */
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

/** Tolerates more events, because a log that deletes whole segments keeps more than declared. */
const TIMES_THE_RETENTION = 3;
const MORE_EVENTS = 100;

export const retentionSeen = (declared: number, kept: number): Declaration => ({
  name: 'retention',
  declared: `at most ${declared} events`,
  observed: `${kept} events after a compaction`,
  holds: kept <= TIMES_THE_RETENTION * declared + MORE_EVENTS,
});

/** Tolerates more heartbeats, which a target may also send after events and at the start of a stream. */
const TIMES_THE_RATE = 3;
const MORE_HEARTBEATS = 5;

export const heartbeatsSeen = (declaredSeconds: number, count: number, elapsedMs: number): Declaration => ({
  name: 'heartbeat',
  declared: `every ${declaredSeconds} s`,
  observed: `${count} within ${(elapsedMs / 1000).toFixed(1)} s`,
  holds: count <= MORE_HEARTBEATS + (TIMES_THE_RATE * elapsedMs) / (declaredSeconds * 1000),
});

export const differences = (declarations: readonly Declaration[] = []): Declaration[] =>
  declarations.filter(({ holds }) => !holds);

export const differenceInWords = ({ name, declared, observed }: Omit<Declaration, 'holds'>): string =>
  `${name}: declared ${declared}, and seen: ${observed}`;
