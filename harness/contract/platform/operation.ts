/** Describes resources and operations of the Platform API as data (sections 4.2 and 9 of the specification). */
import type { TObject, TProperties, TSchema } from 'typebox';
import { defined } from '../../common/defined.ts';
import { Type } from '../shape.ts';
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

/** API versions, both ends inclusive. Default: from the oldest to the newest. */
export interface Span {
  since?: SupportedCodename;
  last?: SupportedCodename;
}

export const inVersion = (span: Span, version: SupportedVersion): boolean =>
  (span.since === undefined || atLeast(version, span.since)) &&
  (span.last === undefined || version === versionNamed(span.last) || !atLeast(version, span.last));

export interface Expansion extends Span {
  kind?: ResourceKind;
  schema?(version: SupportedVersion): TSchema;
  many?: boolean;
  nullable?: boolean;
}

export interface Filter extends Span {
  values?(version: SupportedVersion): readonly string[];
}

export interface Resource {
  kind: ResourceKind;
  name: string;
  collection: string;
  prefix: string;
  fields(version: SupportedVersion): TProperties;
  expansions: Record<string, Expansion>;
  filters: Record<string, Filter>;
  orders: Record<string, Span>;
}

export interface Operation extends Span {
  id: string;
  method: 'GET' | 'POST' | 'PATCH';
  /** Below the base address; `{name}` is a parameter. */
  path: string;
  summary: string;
  tag: string;
  /** Empty if the platform accepts every key. */
  scopes: readonly string[];
  kind?: ResourceKind;
  list?: boolean;
  /** List below a single resource, with pages but without filters and orders. */
  sub?: boolean;
  query?: Record<string, TSchema>;
  body?(version: SupportedVersion): TObject;
  bodyOptional?: boolean;
  /** Shape of an answer that is neither a resource nor a list; `binary` means raw bytes. */
  answer?: { name: string; schema: TSchema } | 'binary';
}

/** The kind `config_type` implies the schema name `ConfigType` and the path `/config_types`. */
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
    /** Operation below one item, e.g. `/devices/{device_id}/ping`; answers a resource if `rest` has a `kind`. */
    below: (id: string, segment: string, summary: string, rest: Omit<Operation, 'id' | 'summary' | 'tag' | 'path'>) =>
      on(id, summary, { path: `${one}/${segment}`, ...rest }),
  };
}

export const refTo = (name: string): TSchema => Type.Ref(`#/components/schemas/${name}`);

export const fieldsIn = <P extends TProperties>(
  version: SupportedVersion,
  fields: P,
  since: Partial<Record<keyof P & string, SupportedCodename>>,
): TProperties =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => inVersion(defined({ since: since[name] }), version)));

export const printable = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$', description });
