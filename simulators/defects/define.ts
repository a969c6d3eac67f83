/** Defects and variants: named changes of a simulator's decisions; the reference makes all remaining decisions. */

/** Legal alternative where the specification leaves a choice; no MUST may fail. `B`: behaviour of the simulator. */
export interface Variant<B> {
  readonly name: string;
  readonly side: 'device' | 'platform' | 'client' | 'agent';
  readonly summary: string;
  /** A simulator can have only one variant of the same alternative. */
  readonly alternative?: string;
  /** Call for each simulator, because the behaviour may keep state. */
  behaviour(reference: B): B;
  effects(reference: B): Effects;
}

/** Effect by decision: `replaces` ignores the previous decision, `adapts` builds on it. */
export type Effects = ReadonlyMap<string, 'replaces' | 'adapts'>;

/** A named deviation from the specification, which the suites must catch. */
export interface Defect<B> extends Variant<B> {
  /** Ids of requirements or single checks that must fail. */
  readonly breaks: readonly string[];
  /** Pattern that the findings must match, so that a reader finds the fault. */
  readonly tells?: RegExp;
  /** Pattern of the report's words about how often the finding came in repeated tries. */
  readonly rate?: RegExp;
  /** Ids of further checks to run, without which the defect does not show. */
  readonly beside?: readonly string[];
  /** True if a run of all checks may miss the defect, because the defect shows rarely. */
  readonly seldom?: true;
}

export type Change<T> = Partial<T> | ((reference: T) => Partial<T>);

export function changed<T extends object>(reference: T, change: Change<T> | undefined): T {
  if (change === undefined) return reference;
  const decisions = typeof change === 'function' ? (change as (reference: T) => Partial<T>)(reference) : change;
  return { ...reference, ...decisions };
}

/** A change that calls the reference's decision adapts it, any other replaces it. `prefix` precedes each name. */
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
  /** `breaks`: ids of requirements or checks, the most telling first. */
  const defect = (
    name: string,
    summary: string,
    breaks: readonly string[],
    change: C,
    extras: Pick<Defect<B>, 'tells' | 'rate' | 'beside' | 'seldom'> = {},
  ): Defect<B> => ({ ...variant(name, summary, change), breaks, ...extras });
  return { variant, defect };
};

/** `groupsOf` runs for each simulator, so that a change may keep state. */
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

/** Refusal of changes that undo each other in one simulator. */
export class ConflictError extends Error {
  override name = 'ConflictError';
}

interface Part<B> {
  variant: Variant<B>;
  effects: Effects;
}

/**
 * Applies replacements of a decision before adaptations. Throws ConflictError for two alternatives, or two replacements
 * of one decision.
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
