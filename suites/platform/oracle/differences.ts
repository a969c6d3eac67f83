/** Differences between an answer and the model. */
import type { Ask, Exchange, Seen } from './exchange.ts';

export const DIFFERENCE_KINDS = [
  /** A refusal of a request that was served before. */ 'refused',
  /** A success in place of a refusal. */ 'served',
  /** An answer that is neither a success nor a usual refusal. */ 'unrefused',
  'error',
  /** No answer. */ 'silent',
  /** A success with another status; `media`: with another media type. */ 'status',
  'media',
  /** A value that differs from the known one of the record. */ 'value',
  /** A missing member that the same kind of answer shows elsewhere. */ 'lacking',
  /** A member that the request did not ask for. */ 'unasked',
  /** A requested expansion that is missing or wrong. */ 'expansion',
  'shape',
  /** A deployment without a member of section 2.1. */ 'incomplete',
  /** The name of the list as the `object` of an item. */ 'plural',
  /** A name in another script that is lost; `failed`: refused. */ 'name',
  'failed',
  /** A parent of a deployment judged against section 9; `targets`: two targets of a device. */
  'parent',
  'targets',
  /** An archived or drifted deployment that is deployed. */ 'revived',
  /** A moment outside the known life of a deployment; `odd-moment`: perhaps for another reason. */
  'moment',
  'odd-moment',
  /** A group above itself. */ 'circle',
  'backwards',
  /** An inactive deployment expanded as the current one. */ 'inactive',
  /** Record of the run, missing in its list. */ 'unlisted',
  /** A success without an effect in place of a refusal. */ 'accepted',
  'merge',
  'timestamp',
  /** A value of another version. */ 'foreign',
  'envelope',
  'limit',
  'offset',
  'size',
  'more',
  'count',
  'twice',
  'items',
  'filter',
  'order',
  /** The same items in another order at the next read. */ 'unstable',
  /** An accepted write without an effect. */ 'effect',
  /** An effect of a refused write, or of a write to another member. */ 'side-effect',
] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

export interface Comparison {
  what: DifferenceKind;
  exchange: Ask;
  /** JSON Pointer without places in arrays, such as `/data/-/device/name`, then words about the request. */
  path: string;
  kind?: string | undefined;
  /** True for a comparison with a value that this run has set. */
  isWritten?: boolean | undefined;
}

export interface Difference extends Comparison {
  exchange: Exchange;
  member?: string | undefined;
  /** Record that others may have changed meanwhile. */
  id?: string | undefined;
  /** Record whose state decides, to be read again first. */
  restsOn?: string | undefined;
  expected: string;
  actual: unknown;
  earlier?: Seen | undefined;
  /** True if the answer or a constant value shows it alone; otherwise the explorer asks again. */
  certain: boolean;
}

/** Cause of a finding, one for all findings that it explains, in each version by itself. */
export const causeOf = ({ what, exchange, path }: Difference): string =>
  `${exchange.operation.id} ${exchange.version} ${what} ${path}`;
