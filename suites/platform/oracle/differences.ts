import type { Ask, Exchange, Seen } from './exchange.ts';

const DIFFERENCE_KINDS = [
  /** Refusal of a request that the platform served before. */ 'refused',
  /** Success of a request that the platform must refuse. */ 'served',
  /** Answer that is neither a success nor a usual refusal. */ 'unrefused',
  'error',
  'silent',
  /** Success with an unexpected status; `media`: with an unexpected media type. */ 'status',
  'media',
  /** Value that differs from the known value of the record. */ 'value',
  /** Missing member that similar answers show. */ 'lacking',
  /** Member that the request did not ask for. */ 'unasked',
  /** Requested expansion that is missing or wrong. */ 'expansion',
  'shape',
  /** Deployment that lacks a member of section 2.1. */ 'incomplete',
  /** Item whose `object` names the list instead of the item's type. */ 'plural',
  /** Name that the platform neither keeps nor refuses; `failed`: failed deployment that stays active. */ 'name',
  'failed',
  /** Wrong treatment of `parent_id` (section 9); `targets`: wrong target deployments afterwards. */
  'parent',
  'targets',
  /** Archived or unreviewed drifted deployment that the platform deploys. */ 'revived',
  /** Timestamp that contradicts the history; `odd-moment`: a wrong clock or an old deployment may explain it. */
  'moment',
  'odd-moment',
  /** Group that is its own ancestor. */ 'circle',
  'backwards',
  /** Inactive deployment expanded as the current deployment. */ 'inactive',
  /** Record of this run that is missing from its list. */ 'unlisted',
  /** Success of a write that the platform must refuse for its content, whatever the effect. */ 'accepted',
  'merge',
  'timestamp',
  /** Value that the API version of the answer does not define. */ 'foreign',
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
  /** Same items in a different order at the next read. */ 'unstable',
  /** Accepted write without an effect. */ 'effect',
  /** Effect of a refused write, or an effect on a member that was not written. */ 'side-effect',
] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

export interface Comparison {
  what: DifferenceKind;
  exchange: Ask;
  /** JSON Pointer without array indexes, such as `/data/-/device/name`, then words about the request. */
  path: string;
  kind?: string | undefined;
  /** True for a value that this run has written. */
  isWritten?: boolean | undefined;
}

export interface Difference extends Comparison {
  exchange: Exchange;
  member?: string | undefined;
  /** Id of the record in question, which other clients may have changed. */
  id?: string | undefined;
  /** Id of the deployment whose state decides the finding; it is read again first. */
  restsOn?: string | undefined;
  expected: string;
  actual: unknown;
  earlier?: Seen | undefined;
  /** True if the answer proves the difference; otherwise the explorer asks again. */
  certain: boolean;
}

/** Key of equal findings in one version, which count once. */
export const causeOf = ({ what, exchange, path }: Difference): string =>
  `${exchange.operation.id} ${exchange.version} ${what} ${path}`;
