/**
 * What a published resource and a published operation of the Platform API are, as data (specification sections 4.2 and
 * 9).
 */
import type { TObject, TProperties, TSchema } from 'typebox';
import { defined } from '../../common/defined.ts';
import { exact } from '../shape.ts';
import { Type } from '../type.ts';
import { atLeast, type SupportedCodename, type SupportedVersion, versionNamed } from '../versions.ts';

export const RESOURCE_KINDS = [
  'config_type',
  'config_schema',
  'config_instance',
  'release',
  'deployment',
  'device',
  'group',
  'git_commit',
] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/**
 * Versions that have a thing: from `since` (default: the oldest) to `last`, both included. Without `last` it lives
 * on.
 */
export interface Span {
  since?: SupportedCodename;
  last?: SupportedCodename;
}

/** Whether a version lies in the span. */
export const inVersion = (span: Span, version: SupportedVersion): boolean =>
  (span.since === undefined || atLeast(version, span.since)) &&
  (span.last === undefined || version === versionNamed(span.last) || !atLeast(version, span.last));

/** A field that is only present when asked for with `expand`. */
export interface Expansion extends Span {
  /** The resource it expands to; expansions of that resource may follow after a dot. */
  kind?: ResourceKind;
  /** The schema of one value, when it is no resource. */
  schema?(version: SupportedVersion): TSchema;
  many?: boolean;
  nullable?: boolean;
}

/** A filter of a list. `values` restricts it to a vocabulary. */
export interface Filter extends Span {
  values?(version: SupportedVersion): readonly string[];
}

export interface Resource {
  kind: ResourceKind;
  /** Name of its schema in the published document. */
  name: string;
  /** Path segment of its collection. */
  collection: string;
  /** What its ids begin with. */
  prefix: string;
  /** Fields that are always present. */
  fields(version: SupportedVersion): TProperties;
  expansions: Record<string, Expansion>;
  filters: Record<string, Filter>;
  /** Fields that sort besides `id` and `created_at`. */
  orders: Record<string, Span>;
}

export interface Operation extends Span {
  id: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** Below the base address, with `{name}` for parameters. */
  path: string;
  summary: string;
  tag: string;
  /** Scopes a key needs, all of them; empty means that any key will do. */
  scopes: readonly string[];
  /** The resource of the answer: its expansions apply. */
  kind?: ResourceKind;
  /** Answers a list of `kind`. */
  list?: boolean;
  /** A list below another resource: paged, but with neither filters nor orders. */
  sub?: boolean;
  /** Further query parameters. */
  query?: Record<string, TSchema>;
  /** Body of the request; absent when it takes none. */
  body?(version: SupportedVersion): TObject;
  bodyOptional?: boolean;
  /** Answer where it is no resource and no list; `binary` is raw bytes. */
  answer?: { name: string; schema: TSchema } | 'binary';
}

/** A resource whose names follow from its kind: `config_type` has the schema `ConfigType`, the path `/config_types`. */
export const resource = (
  kind: ResourceKind,
  prefix: string,
  declared: Pick<Resource, 'fields'> & Partial<Pick<Resource, 'expansions' | 'filters' | 'orders'>>,
): Resource => ({
  kind,
  name: kind.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()),
  collection: `${kind}s`,
  prefix,
  expansions: {},
  filters: {},
  orders: {},
  ...declared,
});

type Body = NonNullable<Operation['body']>;

/** Declares operations of one resource, which share its tag, versions, paths and scopes. */
export function operationsOn({ kind, collection }: Resource, tag: string, span: Span = {}) {
  const [all, one] = [`/${collection}`, `/${collection}/{${kind}_id}`];
  const read = { kind, scopes: [`${collection}:read`] };
  const write = { kind, scopes: [`${collection}:write`] };
  const on = (id: string, summary: string, rest: Omit<Operation, 'id' | 'summary' | 'tag'>): Operation => {
    return { ...span, tag, id, summary, ...rest };
  };
  return {
    list: (id: string, summary: string) => on(id, summary, { ...read, method: 'GET', path: all, list: true }),
    create: (id: string, summary: string, body: Body) => on(id, summary, { ...write, method: 'POST', path: all, body }),
    get: (id: string, summary: string) => on(id, summary, { ...read, method: 'GET', path: one }),
    update: (id: string, summary: string, body: Body) =>
      on(id, summary, { ...write, method: 'PATCH', path: one, body }),
    /**
     * An operation below one item, such as `/devices/{device_id}/ping`. It answers no resource unless `rest` names a
     * `kind`.
     */
    below: (id: string, segment: string, summary: string, rest: Omit<Operation, 'id' | 'summary' | 'tag' | 'path'>) =>
      on(id, summary, { path: `${one}/${segment}`, ...rest }),
  };
}

/** A reference to a schema of the published document. */
export const refTo = (name: string): TSchema => Type.Ref(`#/components/schemas/${name}`);

/** A request body: fields that are not named are refused, so that a typing error is not taken for an omission. */
export const body = exact;

/** Those of `fields` that a version has. `since` names the first version of a field that not all have. */
export const fieldsIn = <P extends TProperties>(
  version: SupportedVersion,
  fields: P,
  since: Partial<Record<keyof P & string, SupportedCodename>>,
): TProperties =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => inVersion(defined({ since: since[name] }), version)));

/** Text that people read: no control characters. */
export const printable = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$', description });
