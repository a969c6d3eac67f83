import type { TSchema } from 'typebox';
import { defined } from '../../common/defined.ts';
import { errorBody, LIST_LIMITS, listEnvelope } from '../lists.ts';
import { nullable, Type } from '../shape.ts';
import { type Dialect, NAMES_BY_DIALECT, type SupportedVersion } from '../versions.ts';
import { schemaDocument } from './config-schema.ts';
import {
  type Expansion,
  inVersion,
  type Operation,
  RESOURCE_KINDS,
  type Resource,
  refTo,
  type Span,
} from './operation.ts';
import { operationsOf, RESOURCES } from './operations.ts';

type Json = Record<string, unknown>;

export function openApiDocument(
  version: SupportedVersion,
  { dialect = 'spec', server = '/beta' }: { dialect?: Dialect; server?: string } = {},
): Json {
  const paths: Record<string, Json> = {};
  const schemas: Record<string, unknown> = { Error: errorBody.schema, SchemaDocument: schemaDocument };
  for (const kind of RESOURCE_KINDS) {
    const resource = RESOURCES[kind];
    if (!operationsOf(version).some((operation) => operation.kind === kind)) continue;
    schemas[resource.name] = schemaOf(resource, version);
    const page = { ...listEnvelope.schema.properties, data: Type.Array(refTo(resource.name)) };
    schemas[`${resource.name}List`] = Type.Object(page);
  }
  for (const operation of operationsOf(version)) {
    if (operation.answer !== undefined && operation.answer !== 'binary') {
      schemas[operation.answer.name] = operation.answer.schema;
    }
    if (operation.body !== undefined) schemas[requestName(operation)] = operation.body(version);
    paths[operation.path] ??= {};
    (paths[operation.path] as Json)[operation.method.toLowerCase()] = describe(operation, version, dialect);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Platform API',
      version,
      description: 'As Muster simulates it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server }],
    security: [{ ApiKey: [] }],
    tags: [...new Set(operationsOf(version).map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } }, schemas },
  };
}

export function schemaOf(resource: Resource, version: SupportedVersion): TSchema {
  const expansions = having(resource.expansions, version).map(([name, expansion]) => [
    name,
    Type.Optional(expansionSchema(expansion, version)),
  ]);
  return Type.Object({ ...resource.fields(version), ...Object.fromEntries(expansions) });
}

function expansionSchema({ kind, schema, many, nullable: mayBeNull }: Expansion, version: SupportedVersion): TSchema {
  const one = kind === undefined ? (schema?.(version) ?? Type.Unknown()) : refTo(RESOURCES[kind].name);
  if (many) return Type.Array(one);
  return mayBeNull ? nullable(one) : one;
}

const requestName = ({ id }: Operation): string => `${id.charAt(0).toUpperCase()}${id.slice(1)}Request`;

function describe(operation: Operation, version: SupportedVersion, dialect: Dialect): Json {
  const { id, summary, tag, scopes, body, bodyOptional } = operation;
  return {
    operationId: id,
    summary,
    tags: [tag],
    ...(scopes.length > 0 && { description: `Scopes: ${scopes.join(', ')}` }),
    parameters: parametersOf(operation, version, dialect),
    ...(body !== undefined && {
      requestBody: {
        required: !bodyOptional,
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${requestName(operation)}` } } },
      },
    }),
    responses: { '200': answerOf(operation), '4XX': refusal('Refused'), '5XX': refusal('Failed') },
  };
}

const refusal = (description: string): Json => ({
  description,
  content: { 'application/json': { schema: refTo('Error') } },
});

function answerOf({ answer, kind, list }: Operation): Json {
  if (answer === 'binary') {
    const schema = { type: 'string', contentMediaType: 'application/octet-stream' };
    return { description: 'The bytes, with the content type of their format', content: { '*/*': { schema } } };
  }
  const resource = kind === undefined ? '' : RESOURCES[kind].name;
  const name = answer?.name ?? (list ? `${resource}List` : resource);
  return { description: list ? 'A page' : 'Done', content: { 'application/json': { schema: refTo(name) } } };
}

function parametersOf(operation: Operation, version: SupportedVersion, dialect: Dialect): Json[] {
  const resource = operation.kind === undefined ? undefined : RESOURCES[operation.kind];
  const { versionHeader } = NAMES_BY_DIALECT[dialect];
  const { limitDefault, limitMinimum, limitMaximum, offsetDefault } = LIST_LIMITS;
  const clamped = `Page size, clamped to ${limitMinimum} to ${limitMaximum}`;
  // Accepts any integer, because a server clamps values (section 8 of the specification).
  const paging = [
    inQuery('limit', { type: 'integer', default: limitDefault }, clamped),
    inQuery('offset', { type: 'integer', default: offsetDefault }, 'First item, clamped to 0'),
  ];
  return [
    { name: versionHeader, in: 'header', required: true, schema: { type: 'string', const: version } },
    ...[...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...(operation.list ? paging : []),
    ...(operation.list && !operation.sub && resource ? searchParameters(resource, version) : []),
    ...(resource ? expandParameter(resource, version, operation.list === true) : []),
    ...Object.entries(operation.query ?? {}).map(([name, schema]) => inQuery(name, schema)),
  ];
}

const inQuery = (name: string, schema: Json | TSchema, description?: string): Json => ({
  name,
  in: 'query',
  ...defined({ description }),
  schema,
});

function searchParameters({ orders, filters }: Resource, version: SupportedVersion): Json[] {
  const fields = ['id', 'created_at', ...having(orders, version).map(([field]) => field)];
  const terms = fields.flatMap((field) => [field, `${field}:asc`, `${field}:desc`]).join(', ');
  const order = `Comma-separated; newest first by default. Terms: ${terms}`;
  return [
    inQuery('order_by', { type: 'string', default: 'created_at:desc' }, order),
    ...having(filters, version).map(([name, { values }]) => {
      const among = values ? `: ${values(version).join(', ')}` : '';
      return inQuery(name, { type: 'string' }, `One value, or several separated by |${among}`);
    }),
  ];
}

function expandParameter({ expansions }: Resource, version: SupportedVersion, list: boolean): Json[] {
  const accepted = [...(list ? ['total_count'] : []), ...having(expansions, version).map(([name]) => name)];
  if (accepted.length === 0) return [];
  const nested = `May repeat, and nest with dots: ${accepted.join(', ')}`;
  return [inQuery('expand', { type: 'array', items: { type: 'string' } }, nested)];
}

const having = <T extends Span>(spans: Readonly<Record<string, T>>, version: SupportedVersion): [string, T][] =>
  Object.entries(spans).filter(([, span]) => inVersion(span, version));
