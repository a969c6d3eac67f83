/** What the tests asked a simulator for, and what therefore cannot have shown. */
import type { Variant } from '../../../simulators/defects/define.ts';
import type { Subject } from '../../mutate/subject.ts';

/** How often, by name. */
export class Tally {
  readonly counts = new Map<string, number>();

  add(name: string): void {
    this.counts.set(name, this.of(name) + 1);
  }

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }
}

/**
 * The same behaviour. Counts each decision when it is taken: a function when it is called, anything else when it is
 * looked at, also one that is absent. `prefix` comes before the names.
 */
export function watched<T extends object>(behaviour: T, decisions: Tally, prefix = ''): T {
  return new Proxy(behaviour, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      const decision = `${prefix}${String(name)}`;
      if (typeof value === 'function')
        return (...given: unknown[]): unknown => {
          decisions.add(decision);
          return Reflect.apply(value, target, given);
        };
      decisions.add(decision);
      return value;
    },
  });
}

/** With some members replaced; the others are looked up when they are used. */
export const overriding = <T extends object>(base: T, replaced: Partial<T>): T =>
  new Proxy(base, { get: (target, name) => Reflect.get(name in replaced ? replaced : target, name) });

/** Where requirements show: those whose ids, or those of their checks, begin so show only when `shows` holds. */
export interface Place<Seen> {
  readonly ids: string;
  shows(seen: Seen): boolean;
  /** What the tests would have to do; completes `the tests never …`. */
  readonly never: string;
}

/** The first place of a requirement counts; what has none may show anywhere. */
export function unseenIn<Seen>(places: readonly Place<Seen>[], { breaks }: Subject, seen: Seen) {
  if (breaks.length === 0) return undefined;
  const missed = breaks.map((id) => {
    const place = places.find(({ ids }) => id.startsWith(ids));
    return place === undefined || place.shows(seen) ? undefined : place.never;
  });
  return missed.every((never) => never !== undefined)
    ? [...new Set(missed)].map((never) => `the tests never ${never}`).join('; ')
    : undefined;
}

/** Why a change cannot have shown: none of what it decides was to be decided. */
export function undecided<B>(variant: Variant<B> | undefined, reference: B, decisions: Tally): string | undefined {
  const changed = [...(variant?.effects(reference).keys() ?? [])];
  return changed.length === 0 || changed.some((decision) => decisions.of(decision) > 0)
    ? undefined
    : `nothing that the tests did called for what it changes (${changed.join(', ')})`;
}
