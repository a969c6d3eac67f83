/** Defects and variants: named changes of decisions, which leave all others to the reference. */

/** Another choice where the specification leaves one, on which no MUST may fail. `B`: behaviour of the simulator. */
export interface Variant<B> {
  readonly name: string;
  /** Simulator that differs. */
  readonly side: 'device' | 'platform' | 'client' | 'agent';
  /** Difference in one sentence. */
  readonly summary: string;
  /** Name of an alternative, of which a simulator has one variant at most. */
  readonly alternative?: string;
  /** Changed behaviour. Call it for each simulator, because the behaviour may keep state. */
  behaviour(reference: B): B;
  effects(reference: B): Effects;
}

/** Effect by name of the decision: `replaces` it whatever it was, or `adapts` the one that it finds. */
export type Effects = ReadonlyMap<string, 'replaces' | 'adapts'>;

/** A named deviation from the specification, which the suites must catch. */
export interface Defect<B> extends Variant<B> {
  /** Ids of broken requirements, or of single checks. */
  readonly breaks: readonly string[];
  /** Words that the findings must have, so that a reader finds the fault. */
  readonly tells?: RegExp;
  /** Words of a report about how often the finding came, after tries of its check alone. */
  readonly rate?: RegExp;
  /** Ids of further checks to run, without which the defect does not show. */
  readonly beside?: readonly string[];
  /** The defect may stay hidden among all checks, because it shows only now and then. */
  readonly seldom?: true;
}

/** Changed decisions, or a function of the reference that returns them. */
export type Change<T> = Partial<T> | ((reference: T) => Partial<T>);

export function changed<T extends object>(reference: T, change: Change<T> | undefined): T {
  if (change === undefined) return reference;
  const decisions = typeof change === 'function' ? (change as (reference: T) => Partial<T>)(reference) : change;
  return { ...reference, ...decisions };
}

/** Counts a change that reads a decision as one that adapts it. `prefix`: before each name. */
export function effectsOf<T extends object>(reference: T, change: Change<T> | undefined, prefix = ''): Effects {
  if (change === undefined) return new Map();
  const seen = new Set<PropertyKey>();
  const watched = new Proxy(reference, {
    get: (target, name) => {
      seen.add(name);
      return Reflect.get(target, name);
    },
  });
  const decisions = typeof change === 'function' ? (change as (reference: T) => Partial<T>)(watched) : change;
  return new Map(Object.keys(decisions).map((name) => [prefix + name, seen.has(name) ? 'adapts' : 'replaces']));
}

/** Ways to apply a declared change, which may be a function so that it keeps state of one simulator. */
interface Making<B, C> {
  changed(reference: B, change: C): B;
  effectsOf(reference: B, change: C): Effects;
}

export const declaring = <B, C>(side: Variant<B>['side'], { changed, effectsOf }: Making<B, C>) => {
  const variant = (
    name: string,
    summary: string,
    change: C,
    extras: Pick<Variant<B>, 'alternative'> = {},
  ): Variant<B> => ({
    ...extras,
    name,
    side,
    summary,
    behaviour: (reference) => changed(reference, change),
    effects: (reference) => effectsOf(reference, change),
  });
  /** `breaks`: ids of requirements or of single checks, the most telling one first. */
  const defect = (
    name: string,
    summary: string,
    breaks: readonly string[],
    change: C,
    extras: Pick<Defect<B>, 'tells' | 'rate' | 'beside' | 'seldom'> = {},
  ): Defect<B> => ({ ...variant(name, summary, change), breaks, ...extras });
  return { variant, defect };
};

/** Applies changes by group of decisions. `groupsOf`: makes the change anew for each simulator. */
export const inGroups = <B extends object, C>(
  groups: readonly (keyof B & string)[],
  groupsOf: (change: C) => { readonly [Group in keyof B]?: Change<B[Group] & object> },
): Making<B, C> => ({
  changed: (reference, change) => {
    const made = groupsOf(change);
    const each = groups.map((group) => [group, changed(reference[group] as object, made[group] as Change<object>)]);
    return Object.fromEntries(each) as B;
  },
  effectsOf: (reference, change) => {
    const made = groupsOf(change);
    return new Map(
      groups.flatMap((group) => [...effectsOf(reference[group] as object, made[group] as Change<object>, `${group}.`)]),
    );
  },
});

// Several defects and variants in one simulator.

/** Conflict of changes that would undo each other in one simulator. */
export class ConflictError extends Error {
  override name = 'ConflictError';
}

interface Part<B> {
  variant: Variant<B>;
  effects: Effects;
}

/**
 * Applies all changes to the reference: replacements of a decision before adaptations of it. Throws ConflictError for
 * two alternatives, and without such an order, e.g. for two replacements of one decision.
 */
export function combined<B>(variants: readonly Variant<B>[], reference: B): B {
  const waiting: Part<B>[] = variants.map((variant) => ({ variant, effects: variant.effects(reference) }));
  refuseAlternatives(variants);
  let behaviour = reference;
  while (waiting.length > 0) {
    const next = waiting.findIndex((one) => waiting.every((other) => other === one || !undone(one, other)));
    if (next < 0) throw conflictOf(waiting);
    const [part] = waiting.splice(next, 1) as [Part<B>];
    behaviour = part.variant.behaviour(behaviour);
  }
  return behaviour;
}

function refuseAlternatives(variants: readonly { name: string; alternative?: string }[]): void {
  for (const [alternative, some] of Map.groupBy(variants, (variant) => variant.alternative)) {
    const [one, other] = some;
    if (alternative === undefined || other === undefined) continue;
    throw new ConflictError(`${one?.name} and ${other.name} are alternatives (${alternative})`);
  }
}

const undone = <B>(one: Part<B>, later: Part<B>): string | undefined =>
  [...one.effects.keys()].find((decision) => later.effects.get(decision) === 'replaces');

function conflictOf<B>(waiting: readonly Part<B>[]): ConflictError {
  for (const [at, one] of waiting.entries()) {
    for (const other of waiting.slice(at + 1)) {
      const decision = undone(one, other);
      if (decision === undefined || undone(other, one) === undefined) continue;
      return new ConflictError(`${one.variant.name} and ${other.variant.name} both decide ${decision}`);
    }
  }
  return new ConflictError(`${waiting.map(({ variant }) => variant.name).join(', ')} undo each other`);
}
