/** Several defects and variants in one simulator. */
import type { Effects, Variant } from './define.ts';

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
 * Throws
 * ConflictError when there is no such order: two replace the same decision, say; and when two are alternatives.
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
