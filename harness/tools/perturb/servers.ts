/** The correct servers that are perturbed, in three languages and our simulator: how each starts, and what it serves. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Api, GO, LANGUAGES, type Language } from '../../../fixtures/servers/languages.ts';
import type { Operation } from '../../contract/platform/operation.ts';
import { inVersion } from '../../contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../contract/platform/operations.ts';
import { SUPPORTED_CODENAMES, versionNamed } from '../../contract/versions.ts';
import { isObject, isTime } from './change.ts';

const file = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const MUSTER = `'${process.execPath}' '${file('harness/cli/launch.cjs')}'`;

export interface Server {
  name: string;
  /** How often it is drawn. */
  weight: number;
  missing: string | undefined;
  /** The shell words that start it, but for its place. `folder` gets what has to be built. */
  start(api: Api, folder: string): string;
  profile: string;
  /** Writes that its Platform API has; what it reads is asked. */
  writes: RegExp;
  /** Filters and orders of the reference are served. */
  filters?: boolean;
}

const NAMED = /^(POST \/(config_schemas|groups|deployments)|PATCH \/(config_types|groups)\/\{\w+\})$/;
const PLAIN =
  /^(POST \/(devices|groups|config_types|config_schemas|config_instances|releases|deployments)|PATCH \/(devices|groups|config_types)\/\{\w+\}|POST \/groups\/\{\w+\}\/move|POST \/deployments\/\{\w+\}\/(deploy|archive))$/;
const WRITES: Readonly<Record<string, RegExp>> = { Node: PLAIN, Python: NAMED, Go: /^$/ };

const KEYS = '--key full=devices:read --key limited= --devices 130';
const plain = ({ name, missing, start, platform }: Language, weight: number): Server => ({
  name,
  weight,
  missing,
  start: (api, folder) => `${start(api, folder)} ${api === 'platform' ? KEYS : '--heartbeat 1'}`,
  profile: platform,
  writes: WRITES[name] ?? /^$/,
});

export const SERVERS: readonly Server[] = [
  ...LANGUAGES.map((language) => plain(language, language === GO ? 1 : 2)),
  {
    name: 'simulator',
    weight: 2,
    missing: undefined,
    start: (api) =>
      api === 'device'
        ? `${MUSTER} simulate device --heartbeat 1s --seed 11 --log-level error`
        : `${MUSTER} simulate platform --seed-file '${file('fixtures/workspaces/warehouse.yaml')}' --seed 11 --mqtt none ` +
          '--api-key full --api-key limited=releases:read --log-level error',
    profile: 'full',
    writes: /^(POST|PATCH) (?!.*token)/,
    filters: true,
  },
];

/** The keys of all of them. */
export const KEYS_OF_ALL = { full: 'full', limited: 'limited' };

/** A member of a record, as a server shows it. */
export interface Leaf {
  path: readonly string[];
  type: 'string' | 'number' | 'boolean' | 'time' | 'array' | 'object';
}

/** What a Platform API shows: the members of its records, by operation and version. */
export type Survey = ReadonlyMap<string, ReadonlyMap<string, readonly Leaf[]>>;

export const lineOf = ({ method, path }: Pick<Operation, 'method' | 'path'>): string => `${method} ${path}`;

const typeOf = (value: unknown): Leaf['type'] =>
  Array.isArray(value) ? 'array' : isTime(value) ? 'time' : (typeof value as Leaf['type']);

/** The members of a record that are not null, those of objects in it included. */
export function leavesOf(record: unknown, path: readonly string[] = []): Leaf[] {
  if (!isObject(record)) return [];
  return Object.entries(record).flatMap(([name, value]) => {
    if (value === null) return [];
    const own = { path: [...path, name], type: typeOf(value) };
    return path.length > 1 ? [own] : [own, ...leavesOf(value, own.path)];
  });
}

/** Starts a Platform API, asks it, and ends it. */
export async function surveyOf(server: Server, line: string): Promise<Survey> {
  const child = spawn('/bin/sh', ['-c', `exec ${line}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    const lines = createInterface(child.stdout);
    const [ready] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as [string?];
    if (ready === undefined) throw new Error(`${line} ended before it served`);
    return await surveyed((JSON.parse(ready) as { url: string }).url, server);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

/** Asks for a list and a record of each kind, with all expansions, in each version. `writes` have the members of reads. */
async function surveyed(base: string, { writes }: Server): Promise<Survey> {
  const survey = new Map<string, Map<string, readonly Leaf[]>>();
  const put = (line: string, codename: string, leaves: readonly Leaf[]): void => {
    survey.set(line, (survey.get(line) ?? new Map<string, readonly Leaf[]>()).set(codename, leaves));
  };
  for (const [kind, { collection, expansions }] of Object.entries(RESOURCES)) {
    for (const codename of SUPPORTED_CODENAMES) {
      const version = versionNamed(codename);
      const names = Object.entries(expansions).flatMap(([name, span]) => (inVersion(span, version) ? [name] : []));
      const read = async (path: string): Promise<Record<string, unknown> | undefined> => {
        const headers = { 'x-api-key': KEYS_OF_ALL.full, 'service-version': version };
        const response = await fetch(
          `${base}${path}${names.length === 0 ? '' : `${path.includes('?') ? '&' : '?'}expand=${names}`}`,
          { headers },
        );
        return response.ok ? ((await response.json()) as Record<string, unknown>) : undefined;
      };
      const items = (await read(`/${collection}?limit=100`))?.['data'];
      if (!Array.isArray(items)) continue;
      const shown = (records: readonly unknown[]): Leaf[] => [
        ...new Map(records.flatMap((each) => leavesOf(each)).map((leaf) => [leaf.path.join('.'), leaf])).values(),
      ];
      put(`GET /${collection}`, codename, shown(items));
      const one = await read(`/${collection}/${items[0]?.id}`);
      if (one !== undefined) put(`GET /${collection}/{${kind}_id}`, codename, shown([one]));
      const bare = (one === undefined ? shown(items) : shown([one])).filter(
        ({ path: [first = ''] }) => !names.includes(first),
      );
      for (const operation of OPERATIONS)
        if (operation.kind === kind && writes.test(lineOf(operation)) && inVersion(operation, version))
          put(lineOf(operation), codename, bare);
    }
  }
  return survey;
}
