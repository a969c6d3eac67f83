/** Correct servers to perturb: plain servers in three languages, and the simulator. */
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { type Api, GO, LANGUAGES, startServer } from '../../../fixtures/servers/languages.ts';
import { isObject } from '../../common/lenient.ts';
import { inVersion, type Operation } from '../../contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../contract/platform/operations.ts';
import { SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import { isTime, type Json } from './change.ts';
import { KEYS } from './platform.ts';

const file = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const WORKSPACE = file('fixtures/workspaces/warehouse.yaml');
const MUSTER = `'${process.execPath}' '${file('harness/cli/launch.cjs')}'`;

export interface Server {
  name: string;
  weight: number;
  missing: string | undefined;
  start(api: Api, folder: string): string;
  writes: RegExp;
  filters?: boolean;
}

const ALL = '(devices|groups|config_types|config_schemas|config_instances|releases|deployments)';
const ON_ONE = 'groups/{group_id}/move|deployments/{deployment_id}/(deploy|archive)';
/** Writing operations whose request bodies the specification shows (section 9). */
const NAMED = /^(POST \/groups|PATCH \/groups\/\{\w+\})$/;
const PLAIN = new RegExp(`^(POST /(${ALL}|${ON_ONE})|PATCH /(devices|groups|config_types)/{\\w+})$`);
const WRITES: Readonly<Record<string, RegExp>> = { Node: PLAIN, Python: NAMED, Go: /^$/ };

const WITH_KEYS = `--key ${KEYS.full}=devices:read --key ${KEYS.limited}= --devices 130`;

export const SERVERS: readonly Server[] = [
  ...LANGUAGES.map(
    (language): Server => ({
      name: language.name,
      weight: language === GO ? 1 : 2,
      missing: language.missing,
      start: (api, folder) => `${language.start(api, folder)} ${api === 'platform' ? WITH_KEYS : '--heartbeat 1'}`,
      writes: WRITES[language.name] ?? /^$/,
    }),
  ),
  {
    name: 'simulator',
    weight: 2,
    missing: undefined,
    start: (api) =>
      api === 'device'
        ? `${MUSTER} simulate device --heartbeat 1s --seed 11 --log-level error`
        : `${MUSTER} simulate platform --seed-file '${WORKSPACE}' --seed 11 --mqtt none ` +
          `--api-key ${KEYS.full} --api-key ${KEYS.limited}=releases:read --log-level error`,
    writes: /^(POST|PATCH) (?!.*token)/,
    filters: true,
  },
];

export interface Leaf {
  path: readonly string[];
  type: 'string' | 'number' | 'boolean' | 'time' | 'array' | 'object';
}

export type Survey = ReadonlyMap<string, ReadonlyMap<string, readonly Leaf[]>>;

export const lineOf = ({ method, path }: Pick<Operation, 'method' | 'path'>): string => `${method} ${path}`;

function leavesOf(record: unknown, path: readonly string[] = []): Leaf[] {
  if (!isObject(record)) return [];
  return Object.entries(record).flatMap(([name, value]) => {
    if (value === null) return [];
    const type = Array.isArray(value) ? 'array' : isTime(value) ? 'time' : (typeof value as Leaf['type']);
    const own: Leaf = { path: [...path, name], type };
    return path.length > 1 ? [own] : [own, ...leavesOf(value, own.path)];
  });
}

export async function surveyOf({ writes }: Server, line: string): Promise<Survey> {
  await using api = await startServer(`exec ${line}`);
  const survey = new Map<string, Map<string, readonly Leaf[]>>();
  const combinations = Object.values(RESOURCES).flatMap((one) =>
    SUPPORTED_VERSIONS.map((version) => [one, version] as const),
  );
  for (const [{ kind, collection, expansions }, version] of combinations) {
    const names = Object.entries(expansions).flatMap(([name, span]) => (inVersion(span, version) ? [name] : []));
    const headers = { 'x-api-key': KEYS.full, 'service-version': version };
    const read = async (path: string): Promise<Json> => {
      const response = await fetch(`${api.url}/${path}${names.map((name) => `&expand=${name}`).join('')}`, { headers });
      return response.ok ? ((await response.json()) as Json) : {};
    };
    const { data: items = [] } = (await read(`${collection}?limit=100`)) as { data?: Json[] };
    if (items.length === 0) continue;
    const one = await read(`${collection}/${items[0]?.['id']}?limit=1`);
    const found = new Map([...items, one].flatMap((each) => leavesOf(each)).map((leaf) => [leaf.path.join('.'), leaf]));
    const leaves = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, leaf]) => leaf);
    for (const operation of OPERATIONS) {
      const { list = false, method, sub } = operation;
      if (operation.kind !== kind || sub === true || !inVersion(operation, version)) continue;
      const isServed = method === 'GET' ? list || Object.hasOwn(one, 'id') : writes.test(lineOf(operation));
      if (!isServed) continue;
      const ofVersions = survey.get(lineOf(operation)) ?? new Map<string, readonly Leaf[]>();
      // Answers to writes contain no expansions.
      const own = method === 'GET' ? leaves : leaves.filter(({ path: [first = ''] }) => !names.includes(first));
      survey.set(lineOf(operation), ofVersions.set(version, own));
    }
  }
  return survey;
}
