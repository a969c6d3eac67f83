/** What a defect and a variant are. They name the decisions that they change; all others are those of the reference. */

/** Another choice where the specification is silent. No MUST may fail on it. `B`: the behaviour of the simulator. */
export interface Variant<B> {
  readonly name: string;
  /** Which simulator differs. */
  readonly side: 'device' | 'platform' | 'client' | 'agent';
  /** What differs, in one sentence. */
  readonly summary: string;
  /** Only one of those that share it can be in a simulator. */
  readonly alternative?: string;
  /** The changed behaviour. Call it for each simulator: what the behaviour remembers belongs to that one. */
  behaviour(reference: B): B;
  /** What it does to which decisions. */
  effects(reference: B): Effects;
}

/** By the name of the decision: whether a change `replaces` it, whatever it was, or `adapts` what it finds. */
export type Effects = ReadonlyMap<string, 'replaces' | 'adapts'>;

/** A named deviation from the specification, which the suites must catch. */
export interface Defect<B> extends Variant<B> {
  /** Ids of the requirements, or of single checks, that it breaks. */
  readonly breaks: readonly string[];
  /** What the findings have to say, so that a reader finds the fault. */
  readonly tells?: RegExp;
  /** How often a finding comes, as a report says it after findings were tried again alone. */
  readonly rate?: RegExp;
  /** Ids of checks that run beside those of what it breaks, since it shows only then. */
  readonly beside?: readonly string[];
  /** It shows now and then, so that it may not show among all checks. */
  readonly seldom?: true;
}

/** Decisions that differ. A function is given those of the reference. */
export type Change<T> = Partial<T> | ((reference: T) => Partial<T>);

/** The reference with `change` made to it. */
export function changed<T extends object>(reference: T, change: Change<T> | undefined): T {
  if (change === undefined) return reference;
  const decisions = typeof change === 'function' ? (change as (reference: T) => Partial<T>)(reference) : change;
  return { ...reference, ...decisions };
}

/** A change that looks at a decision adapts it. `prefix` comes before each name. */
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

/** Whatever is declared with a change may be a function of it, so that the change keeps state of one simulator. */
interface Making<B, C> {
  changed(reference: B, change: C): B;
  effectsOf(reference: B, change: C): Effects;
}

/** How variants and defects of one simulator are declared. */
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

/**
 * Changes by group of decisions, for a behaviour that has groups. `groupsOf`: the change, made anew for each simulator.
 */
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

/** Changes that cannot be made to one simulator, because each would undo the other. */
export class ConflictError extends Error {
  override name = 'ConflictError';
}

interface Part<B> {
  variant: Variant<B>;
  effects: Effects;
}

/**
 * The reference with all the changes made to it. One that replaces a decision is made before those that adapt it.
 * Throws ConflictError when there is no such order: two replace the same decision, say; and when two are alternatives.
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

/** The decision of `one` that `later` would replace; undefined when there is none. */
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
