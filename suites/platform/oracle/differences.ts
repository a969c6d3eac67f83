/** Differences between an answer and the model. */
import type { Ask, Exchange, Seen } from './exchange.ts';

export const DIFFERENCE_KINDS = [
  /** Answered otherwise than with success where it was served before. */ 'refused',
  /** Success where a refusal is due. */ 'served',
  /** Neither served nor refused as is usual. */ 'unrefused',
  'error',
  /** No answer came. */ 'silent',
  /** A success of another status, or of another media type. */ 'status',
  'media',
  /** A member has another value than is known of the record. */ 'value',
  /** A member that the same kind of answer shows elsewhere. */ 'lacking',
  /** A member that nobody asked for. */ 'unasked',
  /** A requested expansion is missing, or is something else. */ 'expansion',
  'shape',
  /** A deployment without a member of section 2.1. */ 'incomplete',
  /** `object` is the name of the list. */ 'plural',
  /** A name in another script is lost, or fails. */ 'name',
  'failed',
  /** A parent of a deployment is refused or accepted otherwise than section 9 says; a device has two targets. */
  'parent',
  'targets',
  /** An archived or drifted deployment is deployed. */ 'revived',
  /** A moment does not fit the known life of a deployment; an odd one may have another reason. */
  'moment',
  'odd-moment',
  /** A group is above itself. */ 'circle',
  'backwards',
  /** The deployment expanded as current is not active. */ 'inactive',
  /** A record of the run is missing in its list. */ 'unlisted',
  /** A request that should be refused, and has no effect. */ 'accepted',
  'merge',
  'timestamp',
  /** A value that this version does not have. */ 'foreign',
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
  /** The same items in another order, from one read to the next. */ 'unstable',
  /** A write that was accepted, and has no effect. */ 'effect',
  /** A write that was refused, or was about something else, and has one. */ 'side-effect',
] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

export interface Comparison {
  what: DifferenceKind;
  exchange: Ask;
  /** JSON Pointer without places in arrays, such as `/data/-/device/name`, then words about the request. */
  path: string;
  kind?: string | undefined;
  /** Whether it compares with a value that this run has set. */
  isWritten?: boolean | undefined;
}

export interface Difference extends Comparison {
  exchange: Exchange;
  member?: string | undefined;
  /** Record that others may have changed meanwhile. */
  id?: string | undefined;
  /** Another record whose state it rests on, to be read again first. */
  restsOn?: string | undefined;
  expected: string;
  actual: unknown;
  earlier?: Seen | undefined;
  /** Whether the answer alone shows it, or a value that never changes; otherwise it is asked again. */
  certain: boolean;
}

/** Cause of a finding: findings of one cause are one. Each version is decided for itself. */
export const causeOf = ({ what, exchange, path }: Difference): string =>
  `${exchange.operation.id} ${exchange.version} ${what} ${path}`;
