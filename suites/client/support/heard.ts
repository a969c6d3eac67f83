/** Reads what a client prints. Ids keep all their digits. */
import { type ClientLine, clientLine } from '../../../harness/contract/client.ts';

/** A line of the contract, with the id of an event as text. */
export type Heard = { saw: 'event'; id: string; type: string; data: unknown } | Exclude<ClientLine, { saw: 'event' }>;

/** Undefined for a line that is none of the contract's. */
export function heardIn(text: string): Heard | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  const digits = new WeakMap<object, string>();
  const value = parsed(text, function (key, part, context) {
    if (key === 'id' && context?.source !== undefined) digits.set(this, context.source);
    return part;
  });
  if (!clientLine.is(value)) return undefined;
  if (value.saw !== 'event') return value;
  const { id } = value;
  return { ...value, id: typeof id === 'string' ? id : (digits.get(value) ?? String(id)) };
}

/** What `JSON.parse` tells a reviver since ES2025: the text of a number. */
type Reviver = (this: object, key: string, value: unknown, context?: { source?: string }) => unknown;

function parsed(text: string, reviver: Reviver): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    return undefined;
  }
}
