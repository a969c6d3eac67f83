/** Starts a platform for a test, creates resources, and imitates agents. */

import type { AgentDeployment, DeploymentReport } from '../../../harness/contract/agent.ts';
import { DIALECT_NAMES, NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { DeployError } from '../../device/ports.ts';
import { type DeploymentSource, Syncer } from '../../device/uplink/sync.ts';
import { ManualTime, MemoryDevice } from '../../device/uplink/testing/uplinks.ts';
import { type PlatformOptions, simulatePlatform } from '../index.ts';

export type Json = Record<string, unknown>;
export type Item = Json & { id: string };

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  body: Json;
}

export interface CallOptions {
  version?: string;
  headers?: Record<string, string>;
}

export type TestPlatform = Awaited<ReturnType<typeof startPlatform>>;

export async function startPlatform(options: PlatformOptions = {}) {
  const platform = await simulatePlatform({ mqtt: false, ...options });
  const { versionHeader } = DIALECT_NAMES[options.dialect ?? 'spec'];
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    { version, headers }: CallOptions = {},
  ): Promise<Reply> => {
    const response = await fetch(platform.url + path, {
      method,
      headers: {
        'x-api-key': platform.apiKey,
        [versionHeader.toLowerCase()]: version ?? NEWEST_VERSION,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  };
  const get = (path: string, given?: CallOptions) => call('GET', path, undefined, given);
  const post = (path: string, body?: unknown, given?: CallOptions) => call('POST', path, body, given);
  const create = async (path: string, body?: unknown, given?: CallOptions): Promise<Item> => {
    const reply = await post(path, body, given);
    if (reply.status >= 300) throw new Error(`POST ${path} answered ${reply.status} ${reply.text}`);
    return reply.body as Item;
  };
  return {
    ...platform,
    call,
    get,
    post,
    create,
    items: async (path: string, given?: CallOptions) => (await get(path, given)).body['data'] as Item[],
    provisioningToken: async (): Promise<string> => String((await create('/provisioning_tokens'))['token']),
  };
}

export const refusal = (status: number, code: string, more: object = {}) => ({
  status,
  body: { error: { code, ...more } },
});

export async function walk(platform: TestPlatform, path: string, limit = 100): Promise<Item[]> {
  const items: Item[] = [];
  for (;;) {
    const separator = path.includes('?') ? '&' : '?';
    const { body } = await platform.get(`${path}${separator}limit=${limit}&offset=${items.length}`);
    const page = body['data'] as Item[];
    items.push(...page);
    if (!body['has_more']) return items;
    if (page.length !== limit) throw new Error(`${path} has more items after a page of ${page.length} of ${limit}`);
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}

export type Kit = Awaited<ReturnType<typeof createKit>>;

let made = 0;
export const unique = (what: string): string => `${what}-${++made}`;

/** Creates a config type with schema, instance and release. `filepath`: path of the config file on the device. */
export async function createKit(platform: TestPlatform, filepath?: string) {
  const slug = unique('type');
  const type = await platform.create('/config_types', { name: slug, slug });
  const schema = await platform.create('/config_schemas', {
    config_type_ref: { id: type.id },
    language: 'jsonschema',
    format: 'json',
    documents: [{ name: 'speed.json', data: '{"type":"object","properties":{"speed":{"type":"number"}}}' }],
    ...(filepath !== undefined && { instance_slots: [{ key: 'default', name: 'Default', filepath, required: true }] }),
  });
  const instance = await platform.create('/config_instances', {
    config_schema_id: schema.id,
    content: { format: 'json', data: '{"speed":1}' },
  });
  const release = await platform.create('/releases', { version: unique('v1.0'), config_schema_ids: [schema.id] });
  return { type: type.id, schema: schema.id, instance: instance.id, release: release.id };
}

export const createDevice = async (platform: TestPlatform): Promise<string> =>
  (await platform.create('/devices', { name: unique('robot') })).id;

export const deploymentOf = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/deployments/${id}`)).body;

export const deviceOf = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/devices/${id}?expand=current_deployment&expand=current_release`)).body;

export const deploymentBody = (kit: Kit, device: string, target: 'staged' | 'deployed'): object => ({
  target_status: target,
  description: 'a test',
  release_id: kit.release,
  device_id: device,
  config_instance_ids: [kit.instance],
});

export const deploy = async (platform: TestPlatform, kit: Kit, device: string): Promise<string> =>
  (await platform.create('/deployments', deploymentBody(kit, device, 'deployed'))).id;

export const stage = async (platform: TestPlatform, kit: Kit, device: string): Promise<string> =>
  (await platform.create('/deployments', deploymentBody(kit, device, 'staged'))).id;

/** Outcomes of a deployment on the test device, which reads the outcome from the deployment's description. */
export const OUTCOMES = ['works', 'works when healed', 'never works'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface TestAgent {
  active(): string[];
  /** Runs a sync. Throws TwoTargetsError if the platform lists two targets for the device. */
  sync(): Promise<void>;
  /** Simulates a restart of the agent, which keeps its files on disk. */
  restart(): void;
  /** Ends all waits between retries; from now on, only `never works` fails. */
  heal(): void;
}

export class TwoTargetsError extends Error {
  override name = 'TwoTargetsError';
}

/** Muster's agent: applies the deployments that the platform lists, and reports a hopeless deployment as `failed`. */
export function listingAgent(source: DeploymentSource): TestAgent {
  const device = new MemoryDevice();
  const time = new ManualTime();
  const never = new AbortController().signal;
  let healed = false;
  let syncer = new Syncer(device, source, time);
  device.beforeDeploy = ({ description }) => {
    if (description === 'never works') return new DeployError('it never works', false);
    return description === 'works' || healed ? undefined : new DeployError('not now', true);
  };
  return {
    active: () => device.active().map(({ id }) => id),
    sync: () => syncer.run(never),
    restart: () => {
      syncer = new Syncer(device, source, time);
    },
    heal: () => {
      healed = true;
      time.advance(86_400_000);
    },
  };
}

interface Known {
  target: AgentDeployment['target_status'];
  activity: 'queued' | 'deployed' | 'archived';
}

/**
 * Imitates the published agent, which remembers every deployment, applies nothing while the device has two targets, and
 * retries without end.
 */
export function keepingAgent(source: DeploymentSource): TestAgent {
  const known = new Map<string, Known>();
  const never = new AbortController().signal;
  let healed = false;
  const active = () => [...known].filter(([, { activity }]) => activity === 'deployed').map(([id]) => id);
  const report = (id: string, what: DeploymentReport) => source.report?.(id, what, never);
  const archive = async (id: string, of: Known): Promise<void> => {
    of.activity = 'archived';
    await report(id, { activity_status: 'archived' });
  };
  const works = ({ description }: AgentDeployment) =>
    description === 'works' || (description !== 'never works' && healed);
  const reach = async (wanted: AgentDeployment, of: Known): Promise<void> => {
    await source.contents(wanted.config_instances ?? [], never);
    if (!works(wanted)) return await report(wanted.id, { error_status: 'retrying' });
    for (const id of active()) await archive(id, known.get(id) as Known);
    of.activity = 'deployed';
    await report(wanted.id, { activity_status: 'deployed', error_status: 'none' });
  };
  return {
    active,
    restart: () => {},
    heal: () => {
      healed = true;
    },
    sync: async () => {
      const listed = await source.list(never);
      for (const { id, target_status } of listed) {
        known.set(id, { activity: 'queued', ...known.get(id), target: target_status });
      }
      const targets = [...known].filter(([, { target, activity }]) => target === 'deployed' && activity !== 'archived');
      if (targets.length > 1) throw new TwoTargetsError(targets.map(([id]) => id).join(' and '));
      for (const told of listed) {
        const of = known.get(told.id) as Known;
        if (of.activity === 'archived') await report(told.id, { activity_status: 'archived' });
        else if (of.target === 'archived') await archive(told.id, of);
        else if (of.activity === 'queued') await reach(told, of);
        else if (told.activity_status !== 'deployed') await report(told.id, { activity_status: 'deployed' });
      }
    },
  };
}

export interface OpenApi {
  paths: Record<string, Record<string, { operationId: string; parameters: { name: string; in: string }[] }>>;
  components: { schemas: Record<string, Json> };
}
