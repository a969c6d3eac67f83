import { readdir } from 'node:fs/promises';

/** Behaviour that differs from the reference, and is legal unless it is a `Defect`. `B`: behaviour of the simulator. */
export interface Variant<B> {
  readonly name: string;
  readonly side: 'device' | 'platform' | 'client' | 'agent';
  readonly summary: string;
  /** Group from which a simulator can have only one variant. */
  readonly alternative?: string;
  /** Called once per simulator, because the behaviour may keep state. */
  behaviour(reference: B): B;
  effects(reference: B): Effects;
}

/** Effect by decision: `replaces` ignores the reference's decision, `adapts` calls it. */
export type Effects = ReadonlyMap<string, 'replaces' | 'adapts'>;

/** A named deviation from the specification, which the suites must catch. */
export interface Defect<B> extends Variant<B> {
  /** Ids of requirements or single checks that must fail. */
  readonly breaks: readonly string[];
  /** Matches the findings, so that a reader can locate the defect. */
  readonly tells?: RegExp;
  /** Matches the report's statement of how often the failure occurred. */
  readonly rate?: RegExp;
  /** Ids of checks that must run too, because the defect does not show without them. */
  readonly beside?: readonly string[];
  /** A run of all checks may miss the defect, because the defect shows rarely. */
  readonly seldom?: true;
}

export type Change<T> = Partial<T> | ((reference: T) => Partial<T>);

export function changed<T extends object>(reference: T, change: Change<T> | undefined): T {
  if (change === undefined) return reference;
  const decisions = typeof change === 'function' ? (change as (reference: T) => Partial<T>)(reference) : change;
  return { ...reference, ...decisions };
}

/**
 * A change adapts the decisions of the reference that it reads, and replaces the others. `prefix`: text before the name
 * of each decision.
 */
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

export const declaring = <B, C>(
  side: Variant<B>['side'],
  { changed, effectsOf }: { changed(reference: B, change: C): B; effectsOf(reference: B, change: C): Effects },
) => {
  const variant = (name: string, summary: string, change: C, extras: { alternative?: string } = {}): Variant<B> => ({
    ...extras,
    name,
    side,
    summary,
    behaviour: (reference) => changed(reference, change),
    effects: (reference) => effectsOf(reference, change),
  });
  /** `breaks`: the most significant id first. */
  const defect = (
    name: string,
    summary: string,
    breaks: readonly string[],
    change: C,
    extras: Pick<Defect<B>, 'tells' | 'rate' | 'beside' | 'seldom'> = {},
  ): Defect<B> => ({ ...variant(name, summary, change), breaks, ...extras });
  return { variant, defect };
};

export function firstGiven(): (given: unknown) => unknown {
  let first: unknown;
  return (given) => {
    first ??= given;
    return first;
  };
}

/** The defects or variants exclude each other in one simulator. */
export class ConflictError extends Error {
  override name = 'ConflictError';
  readonly code = 'MUSTER_CONFLICT';
}

interface Part<B> {
  variant: Variant<B>;
  effects: Effects;
}

/**
 * Applies replacements of a decision before adaptations. Throws ConflictError for two variants of one alternative, or
 * two replacements of one decision.
 */
export function combined<B>(variants: readonly Variant<B>[], reference: B): B {
  const waiting: Part<B>[] = variants.map((variant) => ({ variant, effects: variant.effects(reference) }));
  for (const [alternative, some] of Map.groupBy(variants, (variant) => variant.alternative)) {
    const [one, other] = some;
    if (alternative === undefined || other === undefined) continue;
    throw new ConflictError(`${one?.name} and ${other.name} are alternatives (${alternative})`);
  }
  let behaviour = reference;
  while (waiting.length > 0) {
    const next = waiting.findIndex((one) => waiting.every((other) => other === one || !undone(one, other)));
    if (next < 0) throw conflictOf(waiting);
    const [part] = waiting.splice(next, 1) as [Part<B>];
    behaviour = part.variant.behaviour(behaviour);
  }
  return behaviour;
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

export type Located<T> = T & { readonly file: string };

export async function loadSections<B>(folder: 'device' | 'platform' | 'system' | 'client') {
  const directory = new URL(`./${folder}/`, import.meta.url);
  const names = (await readdir(directory)).toSorted();
  const files = names.filter((name) => /\.[jt]s$/.test(name) && !/(^index|\.d|\.test)\.[jt]s$/.test(name));
  const sections = await Promise.all(
    files.map(async (name) => {
      const { defects = [], variants = [] } = (await import(new URL(name, directory).href)) as {
        defects?: readonly Defect<B>[];
        variants?: readonly Variant<B>[];
      };
      const file = `simulators/defects/${folder}/${name.replace(/js$/, 'ts')}`;
      return {
        defects: defects.map((each): Located<Defect<B>> => ({ ...each, file })),
        variants: variants.map((each): Located<Variant<B>> => ({ ...each, file })),
      };
    }),
  );
  const defects = sections.flatMap((section) => section.defects);
  const variants = sections.flatMap((section) => section.variants);
  refuseDuplicates([...defects, ...variants]);
  return { defects, variants };
}

export function refuseDuplicates(all: readonly { name: string; file: string }[]): void {
  const files = new Map<string, string>();
  for (const { name, file } of all) {
    const other = files.get(name);
    if (other !== undefined) throw new Error(`${name} is declared twice: in ${other} and in ${file}`);
    files.set(name, file);
  }
}

/** Throws RangeError with the known names. `what`: e.g. "defect of the device". */
export function findByName<T extends { name: string }>(what: string, all: readonly T[], name: string): T {
  const found = all.find((each) => each.name === name);
  if (found) return found;
  const known = all.map((each) => each.name).join(', ');
  throw new RangeError(`no ${what} is called ${JSON.stringify(name)}; known: ${known}`);
}
