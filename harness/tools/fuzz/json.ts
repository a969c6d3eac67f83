/**
 * Fuzzes every operation of the four HTTP APIs with valid and invalid JSON.
 * A server must answer with its envelope, and must never fail.
 */

import fc from 'fast-check';
import type { HttpResponse } from '../../client/http.ts';
import { AGENT_BASE_PATH } from '../../contract/agent.ts';
import { OPERATIONS } from '../../contract/platform/operations.ts';
import { NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import {
  anyBytes,
  bytesOf,
  damagesFrom,
  type Fuzzer,
  oneOfRows,
  utf8,
  weighed,
  withDamages,
  wordsOfRows,
} from './fuzzer.ts';
import { againstServers, type ServerName, type Servers } from './servers.ts';

const numbers = wordsOfRows(
  '0¦-0¦1¦-1¦1.5¦1E+2¦1e-400¦1e400¦-1e400¦123456789012345678901234567890¦0.1e1¦9007199254740993',
  '-9223372036854775808¦1e5¦100000000000¦-¦+1¦01¦-01¦1.¦.5¦-.5¦1e¦1e+¦1eE2¦0x1F¦1_000¦NaN¦-NaN',
  'Infinity¦-Infinity¦1 000¦2.e3¦0e¦\uff11¦0b1¦1n',
);
const strings = wordsOfRows(
  '""¦"a"¦"\\u0000"¦"\\ud800"¦"\\udc00\\ud800"¦"\\ud83d\\ude00"¦"\\/\\b\\f\\n\\r\\t\\\\"',
  '"\u2028"¦"\\x41"¦"\\u12"¦"\\u12G4"¦"\\"¦"¦\'a\'¦"a\tb"¦"a\nb"¦"\u0000"¦"\ufeff"¦"\\a"¦"😀"',
  '"\\u"¦"__proto__"¦"constructor"¦"../../../etc/passwd"¦"%00"¦"a\u202eb"¦"\\u001b[2J"',
);
const structures = wordsOfRows(
  '¦ ¦[¦]¦{¦}¦[]¦{}¦[,]¦[1,]¦[1,,2]¦[,1]¦[1 2]¦{"a"}¦{"a":}¦{:1}¦{a:1}¦{"a":1,}¦{"a":1,,"b":2}',
  '{"a" "b"}¦{"a":1}}¦[1]]¦[]x¦{}{}¦[1,2}¦{1:1}¦{"a":1 "b":2}¦{null:1}¦{"a":1,"a":2}¦{"":0}¦nul',
  'true¦True¦false¦null¦null,¦[nul]¦/**/1¦1//¦#1¦<null>¦*¦{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}¦{"__proto__":null}¦\u2060¦\ufeff{}¦\ufeff',
  '[\u000b1]¦[\u00a01]¦\f[]¦{"\\u0061":1,"a":2}¦{"toString":1,"valueOf":1}',
);

const deep = fc
  .tuple(fc.constantFrom('[', '{"a":', '[{"":', '[[],'), fc.integer({ min: 1, max: 20_000 }), fc.boolean())
  .map(([opening, depth, closed]) => {
    const closing = [...opening]
      .reverse()
      .map((sign) => (sign === '[' ? ']' : sign === '{' ? '}' : ''))
      .join('');
    return opening.repeat(depth) + (closed ? `1${closing.repeat(depth)}` : '');
  });
const space = fc.constantFrom('', '', '', ' ', '\n', '\t \r\n');

const { value } = fc.letrec<{ value: string; members: string }>((tie) => ({
  members: fc
    .array(
      fc.tuple(
        fc.oneof(
          fc.constantFrom(...strings.slice(0, 4), '"__proto__"', '"id"'),
          fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text)),
        ),
        space,
        tie('value'),
      ),
      { maxLength: 4 },
    )
    .map((all) => `{${all.map(([name, gap, one]) => `${name}${gap}:${gap}${one}`).join(',')}}`),
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(...numbers, ...strings, ...structures).map(utf8),
    fc.constantFrom('1', '"a"', 'true', 'null', '[]', '{}'),
    fc.tuple(space, fc.array(tie('value'), { maxLength: 4 })).map(([gap, all]) => `[${gap}${all.join(`,${gap}`)}]`),
    tie('members').map(utf8),
  ),
}));

const jsonValue: fc.Arbitrary<string> = fc.oneof({ weight: 8, arbitrary: value }, { weight: 1, arbitrary: deep });

const jsonText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: jsonValue },
  weighed(2, '\u00ff¦\u00fe\u00ff¦"\u00c0\u00af"¦"\u00ed\u00a0\u0080"¦[\u00e5]¦"\u00f4\u00bf\u00bf\u00bf"¦"\u0080"'),
  {
    weight: 1,
    arbitrary: fc.tuple(value, fc.boolean()).map(([text, low]) => {
      const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
      return (low ? bytes : bytes.swap16()).toString('latin1');
    }),
  },
  { weight: 1, arbitrary: anyBytes(20) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(value, fc.array(damagesFrom([',', ':', '"', '\\', '[', '}', '\u0000']), { minLength: 1, maxLength: 3 }))
      .map(([text, damages]) => withDamages(text, damages)),
  },
);

/** `@kind` stands for the id of the newest resource of that kind. */
interface Call {
  server: ServerName;
  method: string;
  path: string;
  query: string;
  body?: string | undefined;
  type: string;
  version?: string;
}

interface Operation extends Pick<Call, 'server' | 'method' | 'path'> {
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
const at = (server: ServerName, row: string, fields: readonly string[] = []): Operation[] =>
  wordsOfRows(row).map((call) => {
    const [method = '', path = ''] = call.split(' ');
    return { server, method, path, fields };
  });
const deployment = wordsOfRows('description¦release_id¦target_status¦activity_status¦error_status¦config_instances');
const base = AGENT_BASE_PATH;

const OTHERS: readonly Operation[] = [
  ...at('device', 'GET /health¦GET /version¦GET /device¦GET /deployments/current¦GET /deployments/@deployment'),
  ...at('device', 'GET /releases/@release¦GET /git_commits/@git_commit¦HEAD /events¦POST /device/sync'),
  ...at('deviceControl', 'GET /¦POST /deployments/@deployment/remove¦POST /compact'),
  ...at('deviceControl', 'POST /deployments', deployment),
  ...at('deviceControl', 'POST /events', ['count']),
  ...at('platform', `POST ${base}/devices/provision`, ['public_key_pem', 'agent_version', 'name']),
  ...at('platform', `POST ${base}/devices/reprovision`, ['public_key_pem', 'agent_version']),
  ...at('platform', `POST ${base}/devices/token¦GET ${base}/deployments`),
  ...at('platform', `PATCH ${base}/deployments/@deployment`, ['activity_status', 'error_status', 'deployed_at']),
  ...at('platformControl', 'GET /¦POST /devices/@device/archive¦POST /devices/@device/online'),
  ...at('platformControl', 'POST /snapshots/a/restore¦GET /plans'),
  ...at('platformControl', 'POST /devices/@device/group', ['group_id']),
  ...at('platformControl', 'POST /snapshots', ['name']),
];

const sensible = fc.constantFrom(
  ...wordsOfRows(
    '"@device"¦"@deployment"¦"@release"¦"@config_instance"¦"@config_schema"¦"@config_type"¦"@group"',
    '{"id":"@config_type"}¦["@config_instance"]¦["@config_schema"]¦null¦true¦1¦"staged"¦"deployed"',
    '"jsonschema"¦"json"¦"yaml"¦"cue"¦"v1"¦[{"filepath":"/etc/a.json","content":"{}"}]',
    '{"format":"json","data":"{}"}¦[{"name":"a.json","data":"{\\"type\\":\\"object\\"}"}]¦1000000',
    '"2026-01-01T00:00:00Z"¦[{"name":"a.json","data":"{\\"$ref\\":\\"#\\"}"}]',
    '[{"key":"default","name":"D","filepath":"/a.json","required":true}]',
  ),
);
const text = fc.string({ maxLength: 12 }).map((it) => utf8(JSON.stringify(it)));

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
  oneOfRows('limit¦offset¦expand¦id¦name¦order_by¦status¦after¦types¦version¦__proto__¦device_id'),
  oneOfRows(
    '1¦0¦-1¦1e9¦¦%00¦%¦%ff¦[]¦release¦device.group¦created_at:desc¦@device¦99999999999999999999¦a,b¦constructor',
  ),
);
const query = fc
  .array(parameter, { maxLength: 4 })
  .map((all) => all.map(([name, value]) => `${name}=${value}`).join('&'));
const TYPES = 'application/json¦application/json; charset=utf-16¦text/plain¦¦application/json;¦a¦multipart/form-data';
const ODD_IDS = `%2e%2e¦__proto__¦%00¦a%2Fb¦%¦%c3%28¦${'x'.repeat(5000)}¦@device`;

const operation = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...platform) },
  { weight: 2, arbitrary: fc.constantFrom(...OTHERS) },
);

const call: fc.Arbitrary<Call> = operation.chain(({ server, method, path, fields }) =>
  fc.record({
    server: fc.constant(server),
    method: fc.oneof(weighed(12, method), weighed(1, 'PUT¦DELETE¦OPTIONS¦PATCH¦HEAD')),
    path: fc.oneof(weighed(8, path), {
      weight: 1,
      arbitrary: oneOfRows(ODD_IDS).map((id) => path.replace(/@\w+/, id)),
    }),
    query: fc.oneof(weighed(3, ''), { weight: 1, arbitrary: query }),
    body:
      method === 'GET' || method === 'HEAD'
        ? fc.constant(undefined)
        : fc.oneof({ weight: 3, arbitrary: bodyOf(fields) }, { weight: 2, arbitrary: jsonText }),
    type: fc.oneof(weighed(10, 'application/json'), weighed(1, TYPES)),
    version: fc.oneof(weighed(6, NEWEST_VERSION), weighed(1, ...SUPPORTED_VERSIONS)),
  }),
);

type Ids = Map<string, string>;

async function wrongCall(
  servers: Servers,
  ids: Ids,
  { server, method, path, query, body, type, version }: Call,
): Promise<string | undefined> {
  const filled = (text: string): string => text.replaceAll(/@([a-z_]+)/g, (_, kind) => ids.get(kind) ?? `${kind}_none`);
  const agent = path.startsWith(AGENT_BASE_PATH);
  const answer = await servers.client(server).request({
    method,
    path: filled(path),
    query: filled(query),
    absolute: agent,
    headers: {
      ...(type === '' ? {} : { 'content-type': type }),
      ...(agent ? { 'service-version': 'v0.4', authorization: 'Bearer x' } : {}),
      ...(version !== undefined && server === 'platform' && !agent ? { 'service-version': version } : {}),
    },
    ...(body === undefined ? {} : { body: bytesOf(filled(body)) }),
  });
  learn(ids, answer.json);
  return wrongWith(answer, `${server}: ${method} ${path.slice(0, 60)}`, method);
}

function learn(ids: Ids, json: unknown): void {
  const { object, id, data } = (json ?? {}) as { object?: unknown; id?: unknown; data?: unknown };
  if (object === 'list' && Array.isArray(data) && data[0] !== undefined) learn(ids, data[0]);
  else if (typeof object === 'string' && typeof id === 'string') ids.set(object, id);
}

function wrongWith({ status, json, text, headers }: HttpResponse, what: string, method: string): string | undefined {
  if (status >= 500) return `${what} is answered '${status}'`;
  if (method === 'HEAD' || status === 204) return undefined;
  if (status < 400) {
    const isJson = (headers['content-type'] ?? '').includes('json');
    return isJson && json === undefined ? `${what} is answered with a body that is no JSON` : undefined;
  }
  const { error } = (json ?? {}) as { error?: Record<string, unknown> };
  const { code, params, message } = error ?? {};
  const whole = typeof code === 'string' && typeof params === 'object' && typeof message === 'string';
  return whole ? undefined : `${what} is refused without the envelope: '${status} ${text.slice(0, 100)}'`;
}

export const json: Fuzzer<Call[]> = {
  // Several calls, because a later one may use a resource that an earlier one created.
  inputs: fc.array(call, { minLength: 1, maxLength: 5 }),
  open: () => {
    const ids: Ids = new Map();
    return againstServers(async (servers, all) => {
      for (const call of all) {
        const wrong = await wrongCall(servers, ids, call);
        if (wrong !== undefined) return wrong;
      }
      return undefined;
    });
  },
};
