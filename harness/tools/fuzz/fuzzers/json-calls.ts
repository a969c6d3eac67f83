/** Every operation of the four HTTP APIs, and calls of them as inputs. */
import fc from 'fast-check';
import { AGENT_BASE_PATH } from '../../../contract/agent.ts';
import { OPERATIONS } from '../../../contract/platform/operations.ts';
import { NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../../contract/versions.ts';
import { utf8 } from '../bytes.ts';
import type { Addresses } from '../servers.ts';
import { jsonText, jsonValue } from './json-texts.ts';

/** A call. `@kind` in path, query and body stands for the id of the newest resource of that kind. */
export interface Call {
  server: keyof Addresses;
  method: string;
  path: string;
  query: string;
  /** Bytes. */
  body?: string | undefined;
  type: string;
  version?: string;
}

interface Operation {
  server: keyof Addresses;
  method: string;
  path: string;
  /** Names of the fields that its body may have. */
  fields: readonly string[];
}

const platform = OPERATIONS.map(
  ({ method, path, body }): Operation => ({
    server: 'platform',
    method,
    path: path.replaceAll(/\{(\w+)_id\}/g, '@$1'),
    fields: Object.keys(body?.(NEWEST_VERSION).properties ?? {}),
  }),
);
const at = (server: keyof Addresses, calls: Record<string, readonly string[]>): Operation[] =>
  Object.entries(calls).map(([call, fields]) => {
    const [method = '', path = ''] = call.split(' ');
    return { server, method, path, fields };
  });
const deployment = [
  'description',
  'release_id',
  'target_status',
  'activity_status',
  'error_status',
  'config_instances',
];

const OTHERS: readonly Operation[] = [
  ...at('device', {
    'GET /health': [],
    'GET /version': [],
    'GET /device': [],
    'GET /deployments/current': [],
    'GET /deployments/@deployment': [],
    'GET /releases/@release': [],
    'GET /git_commits/@git_commit': [],
    'HEAD /events': [],
    'POST /device/sync': [],
  }),
  ...at('deviceControl', {
    'GET /': [],
    'POST /deployments': deployment,
    'POST /deployments/@deployment/remove': [],
    'POST /events': ['count'],
    'POST /compact': [],
  }),
  ...at('platform', {
    [`POST ${AGENT_BASE_PATH}/devices/provision`]: ['public_key_pem', 'agent_version', 'name'],
    [`POST ${AGENT_BASE_PATH}/devices/reprovision`]: ['public_key_pem', 'agent_version'],
    [`POST ${AGENT_BASE_PATH}/devices/token`]: [],
    [`GET ${AGENT_BASE_PATH}/deployments`]: [],
    [`PATCH ${AGENT_BASE_PATH}/deployments/@deployment`]: ['activity_status', 'error_status', 'deployed_at'],
  }),
  ...at('platformControl', {
    'GET /': [],
    'POST /devices/@device/archive': [],
    'POST /devices/@device/online': [],
    'POST /devices/@device/group': ['group_id'],
    'POST /snapshots': ['name'],
    'POST /snapshots/a/restore': [],
    'GET /plans': [],
  }),
];

const kinds = ['device', 'deployment', 'release', 'config_instance', 'config_schema', 'config_type', 'group'];
const sensible = fc.constantFrom(
  ...kinds.map((kind) => `"@${kind}"`),
  ...[
    '{"id":"@config_type"}',
    '["@config_instance"]',
    '["@config_schema"]',
    'null',
    'true',
    '1',
    '"staged"',
    '"deployed"',
  ],
  ...['"jsonschema"', '"json"', '"yaml"', '"cue"', '"v1"', '[{"filepath":"/etc/a.json","content":"{}"}]'],
  ...[
    '{"format":"json","data":"{}"}',
    '[{"name":"a.json","data":"{\\"type\\":\\"object\\"}"}]',
    '1000000',
    '"2026-01-01T00:00:00Z"',
  ],
  ...[
    '[{"name":"a.json","data":"{\\"$ref\\":\\"#\\"}"}]',
    '[{"key":"default","name":"D","filepath":"/a.json","required":true}]',
  ],
);
const text = fc.string({ maxLength: 12 }).map((it) => utf8(JSON.stringify(it)));

/** A body with fields of the operation, each with a value that fits, or one that does not. */
const bodyOf = (fields: readonly string[]): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fields.length > 0 ? fc.constantFrom(...fields, ...fields, '__proto__') : fc.constantFrom('a', '__proto__'),
        fc.oneof(
          { weight: 5, arbitrary: sensible },
          { weight: 3, arbitrary: jsonValue },
          { weight: 2, arbitrary: text },
        ),
      ),
      { maxLength: Math.max(2, fields.length + 1) },
    )
    .map((members) => `{${[...new Map(members)].map(([name, value]) => `"${name}":${value}`).join(',')}}`);

const parameter = fc.tuple(
  fc.constantFrom(
    'limit',
    'offset',
    'expand',
    'id',
    'name',
    'order_by',
    'status',
    'after',
    'types',
    'version',
    '__proto__',
    'device_id',
  ),
  fc.constantFrom(
    '1',
    '0',
    '-1',
    '1e9',
    '',
    '%00',
    '%',
    '%ff',
    '[]',
    'release',
    'device.group',
    'created_at:desc',
    '@device',
    '99999999999999999999',
    'a,b',
    'constructor',
  ),
);
const query = fc
  .array(parameter, { maxLength: 4 })
  .map((all) => all.map(([name, value]) => `${name}=${value}`).join('&'));
const types = [
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  '',
  'application/json;',
  'a',
  'multipart/form-data',
];

const operation = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...platform) },
  { weight: 2, arbitrary: fc.constantFrom(...OTHERS) },
);

const call: fc.Arbitrary<Call> = operation.chain(({ server, method, path, fields }) =>
  fc.record({
    server: fc.constant(server),
    method: fc.oneof(
      { weight: 12, arbitrary: fc.constant(method) },
      { weight: 1, arbitrary: fc.constantFrom('PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD') },
    ),
    path: fc.oneof(
      { weight: 8, arbitrary: fc.constant(path) },
      {
        weight: 1,
        arbitrary: fc
          .constantFrom('%2e%2e', '__proto__', '%00', 'a%2Fb', '%', '%c3%28', 'x'.repeat(5000), '@device')
          .map((id) => path.replace(/@\w+/, id)),
      },
    ),
    query: fc.oneof({ weight: 3, arbitrary: fc.constant('') }, { weight: 1, arbitrary: query }),
    body:
      method === 'GET' || method === 'HEAD'
        ? fc.constant(undefined)
        : fc.oneof({ weight: 3, arbitrary: bodyOf(fields) }, { weight: 2, arbitrary: jsonText }),
    type: fc.oneof(
      { weight: 10, arbitrary: fc.constant('application/json') },
      { weight: 1, arbitrary: fc.constantFrom(...types) },
    ),
    version: fc.oneof(
      { weight: 6, arbitrary: fc.constant(NEWEST_VERSION) },
      { weight: 1, arbitrary: fc.constantFrom(...SUPPORTED_VERSIONS) },
    ),
  }),
);

/** Some calls after each other, so that one may use what another has made. */
export const calls: fc.Arbitrary<Call[]> = fc.array(call, { minLength: 1, maxLength: 5 });
