/** Knowledge about a platform, and comparisons with it; no I/O, no clock. */

import { isObject } from '../../../harness/common/lenient.ts';
import type { Resource, ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { Adoptions } from '../../../harness/runner/explore.ts';
import type { Comparison, Difference, DifferenceKind } from './differences.ts';
import { type Ask, askOf, type Exchange, type Seen } from './exchange.ts';

/** `ask` reads the member again; `predicted` marks a value that this run wrote. */
interface Known {
  value: unknown;
  seen: Seen;
  ask?: Ask | undefined;
  predicted?: boolean;
}

export class KnownRecord {
  readonly id: string;
  readonly kind: ResourceKind;
  /** True for a record of this run, which no other client changes. */
  readonly isOurs: boolean;
  readonly members = new Map<string, Known>();
  /** True once a request or an answer has named deployed as the target of this deployment. */
  mayBeDeployed = false;
  readonly moments = new Map<string, string>();
  /**
   * Moments at which this deployment was not yet queued or archived, in milliseconds since 1970 by the platform's
   * clock.
   */
  readonly notYet = new Map<string, number>();
  readonly reached = new Map<string, number>();

  constructor(id: string, kind: ResourceKind, isOurs: boolean) {
    this.id = id;
    this.kind = kind;
    this.isOurs = isOurs;
  }
}

export type Shown = Readonly<Record<string, unknown>> & { readonly id: string };

export interface Reference {
  items: readonly Shown[];
  ids: readonly string[];
  isWhole: boolean;
  /** Number of all items, or of the read items if the platform does not count. */
  total: number;
}

export interface ListKnown {
  reference?: Reference | undefined;
  isStale: boolean;
  /** Version in which each filter was seen to take effect; undefined if it is only expected to. */
  filters: Map<string, string | undefined>;
  orders: boolean;
  isUnordered: boolean;
}

export class Model {
  /** Records by kind and id, because each kind may number its own records. */
  readonly records = new Map<string, KnownRecord>();
  readonly lists = new Map<ResourceKind, ListKnown>();
  readonly objects = new Map<ResourceKind, { value: unknown; seen: Seen }>();
  readonly presence = new Map<string, { shown: Map<string, Seen>; lacking: Map<string, Seen> }>();
  readonly adoptions = new Adoptions<Seen>();
  readonly notations = new Set(['alone']);
  readonly served = new Set<string>();
  readonly comparisons = new Map<string, { comparison: Comparison; count: number }>();
  readonly counts = new Map<string, number>();
  /** Newest creation of the run, in milliseconds since 1970 by the platform's clock. */
  newestCreation = 0;
  /** Latest moment that an answer may show, in milliseconds since 1970 by the platform's clock. */
  latest = Number.POSITIVE_INFINITY;

  serves(kind: ResourceKind | undefined, version: string): boolean {
    return OPERATIONS.some(
      ({ id, method, kind: own }) => method === 'GET' && own === kind && this.served.has(`${id} ${version}`),
    );
  }

  saw(what: string, count = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + count);
  }

  known(id: string | undefined, kind: string | undefined): KnownRecord | undefined {
    return this.records.get(`${kind} ${id}`);
  }

  record(id: string, kind: ResourceKind): KnownRecord {
    return this.known(id, kind) ?? this.#add(new KnownRecord(id, kind, false));
  }

  made(id: string, kind: ResourceKind): KnownRecord {
    return this.#add(new KnownRecord(id, kind, true));
  }

  #add(record: KnownRecord): KnownRecord {
    this.records.set(`${record.kind} ${record.id}`, record);
    return record;
  }

  /** Word that `object` is to show for a resource of this kind. */
  wordOf(kind: ResourceKind): unknown {
    return this.objects.get(kind)?.value ?? kind;
  }

  list(kind: ResourceKind): ListKnown {
    const known = this.lists.get(kind) ?? {
      isStale: true,
      filters: new Map<string, string | undefined>(),
      orders: false,
      isUnordered: false,
    };
    this.lists.set(kind, known);
    return known;
  }

  of(kind: ResourceKind, ours = false): KnownRecord[] {
    return [...this.records.values()].filter((record) => record.kind === kind && (!ours || record.isOurs));
  }
}

/** `certain`: the answer proves the finding. Default: true. */
export type More = Partial<
  Pick<Difference, 'kind' | 'isWritten' | 'member' | 'certain' | 'earlier' | 'id' | 'restsOn'>
>;
/** Marks a difference that other clients may have caused. */
export const UNSURE = { certain: false } as const;
export type Words = string | (() => string);

export class Judgement {
  readonly found: Difference[] = [];
  readonly #model: Model;
  readonly #exchange: Exchange;
  readonly #suffix: string;

  constructor(model: Model, exchange: Exchange, suffix = '') {
    this.#model = model;
    this.#exchange = exchange;
    this.#suffix = suffix;
  }

  hold(
    isRight: boolean,
    what: DifferenceKind,
    pointer: string,
    expected: Words,
    actual: unknown,
    more: More = {},
  ): void {
    const exchange = this.#exchange;
    if (exchange.isExcused === true) return;
    const { comparisons } = this.#model;
    const { operation, version, key } = exchange;
    const { kind, isWritten } = more;
    const path = `${pointer}${this.#suffix}`;
    const cell = `${what} ${operation.id} ${version} ${key} ${path}${isWritten === true ? ' as written' : ''}`;
    const comparison = { what, path, kind, isWritten, exchange };
    const known = comparisons.get(cell) ?? { comparison: { ...comparison, exchange: askOf(exchange) }, count: 0 };
    known.count += 1;
    comparisons.set(cell, known);
    if (isRight) return;
    const words = typeof expected === 'string' ? expected : expected();
    this.found.push({ certain: true, ...more, ...comparison, expected: words, actual });
  }
}

const FIELDS = new Map<string, ReturnType<Resource['fields']>>();

export function fieldsOf(kind: ResourceKind, version: SupportedVersion) {
  const key = `${kind} ${version}`;
  const fields = FIELDS.get(key) ?? RESOURCES[kind].fields(version);
  FIELDS.set(key, fields);
  return fields;
}

export const knows = (kind: ResourceKind, name: string, version: SupportedVersion, value: unknown): boolean =>
  isInVocabulary(fieldsOf(kind, version)[name] ?? RESOURCES[kind].expansions[name]?.schema?.(version), value);

/**
 * True for a record with a value that the older `version` lacks, or with several slots where that version has one; no
 * section states how that version shows such a record. Undefined if that is unknown, because an expansion that differs
 * in that version was never shown.
 */
export function isBeyond(record: KnownRecord | undefined, version: string): boolean | undefined {
  if (record === undefined || version === NEWEST_VERSION) return false;
  const [{ kind, members }, own] = [record, version as SupportedVersion];
  const isLacking = (name: string, value: unknown): boolean =>
    name === 'instance_slots' && !(name in fieldsOf(kind, own))
      ? Array.isArray(value) && value.length > 1
      : knows(kind, name, NEWEST_VERSION, value) && !knows(kind, name, own, value);
  if ([...members].some(([name, { value }]) => isLacking(name, value))) return true;
  const isOpen = Object.entries(RESOURCES[kind].expansions).some(
    ([name, { schema }]) =>
      !members.has(name) && JSON.stringify(schema?.(own)) !== JSON.stringify(schema?.(NEWEST_VERSION)),
  );
  return isOpen ? undefined : false;
}

interface Vocabulary {
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, Vocabulary>>;
}

function isInVocabulary(schema: Vocabulary | undefined, value: unknown): boolean {
  if (schema?.enum !== undefined) return schema.enum.includes(value);
  if (schema?.properties === undefined || !isObject(value)) return true;
  return Object.entries(schema.properties).every(([name, inner]) => isInVocabulary(inner, value[name]));
}
