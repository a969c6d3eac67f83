/** From a config type to a release: what has to be there before anything can be deployed. In the words of the run's version. */
import { randomInt } from 'node:crypto';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { atLeast, isPlatformVersion, type SupportedCodename } from '../../../harness/contract/versions.ts';
import { create, createConfigType, created, unique } from './create.ts';
import { envelopeProblems, getList, type Item, type Page } from './lists.ts';
import type { Platform } from './platform.ts';
import { ok, refused, send } from './send.ts';

export const since = (t: Platform, codename: SupportedCodename): boolean =>
  isPlatformVersion(t.apiVersion) && atLeast(t.apiVersion, codename);

export interface SchemaOptions {
  /** Where instances go. Omitted: nothing is said about it. */
  filepath?: string;
  instanceFormat?: 'json' | 'yaml';
  /** What the schema itself is written in. Default JSON. */
  format?: 'json' | 'yaml';
}

/** The dialect is named, as some want it; 2020-12 is the newest. */
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Never the same document twice, so that no platform takes it for one it has. */
export function schemaBody(t: Platform, typeId: string, options: SchemaOptions = {}): Record<string, unknown> {
  const { filepath, instanceFormat, format = 'json' } = options;
  const document = { $schema: DIALECT, title: unique('schema'), type: 'object' };
  const yaml = Object.entries(document).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  const slots = [{ key: 'default', name: 'Default', filepath, required: true }];
  return {
    config_type_ref: { id: typeId },
    language: 'jsonschema',
    format,
    documents: [{ name: `schema.${format}`, data: format === 'json' ? JSON.stringify(document) : yaml.join('') }],
    ...(filepath === undefined
      ? {}
      : since(t, 'everglades')
        ? { instance_slots: slots }
        : { instance_filepath: filepath }),
    ...(instanceFormat === undefined || !since(t, 'everglades') ? {} : { instance_format: instanceFormat }),
  };
}

export const createSchema = (t: Platform, typeId: string, options: SchemaOptions = {}): Promise<Item> =>
  create(t, '/config_schemas', schemaBody(t, typeId, options));

/** A release of one schema, and an instance that fills it. */
export interface Kit {
  type: Item;
  schema: Item;
  release: Item;
  instance: Item;
  /** Where the instance is written, and what. */
  filepath: string;
  content: string;
}

export interface KitOptions {
  filepath?: string;
}

export async function createKit(t: Platform, options: KitOptions = {}): Promise<Kit> {
  const { filepath = `/srv/configs/${unique('config')}.json` } = options;
  const type = await createConfigType(t);
  const schema = await createSchema(t, type.id, { filepath, instanceFormat: 'json' });
  const content = JSON.stringify({ speed: 1, marked: unique('content') });
  const [release, instance] = await Promise.all([
    createRelease(t, schema.id),
    create(t, '/config_instances', { config_schema_id: schema.id, content: { format: 'json', data: content } }),
  ]);
  return { type, schema, release, instance, filepath, content };
}

const NUMBERS = 1_000_000;

/** A plain version, unlike any other; of a commit that is listed, where the platform wants one. */
async function createRelease(t: Platform, schemaId: string): Promise<Item> {
  const version = `v1.${randomInt(NUMBERS)}.${randomInt(NUMBERS)}`;
  const body = { version, config_schema_ids: [schemaId] };
  const response = await send(t, { method: 'POST', path: '/releases', body });
  const release = created(response);
  if (release !== undefined) return release;
  const commit = refused(response) ? await aCommit(t) : undefined;
  return create(t, '/releases', { ...body, ...(commit === undefined ? {} : { git_commit_ref: { id: commit } }) });
}

async function aCommit(t: Platform): Promise<string | undefined> {
  const response = await getList(t, 'git_commits', { limit: 1 });
  if (!ok(response) || envelopeProblems(response.json).length > 0) return undefined;
  return (response.json as Page).data[0]?.id;
}

export interface DeploymentRequest {
  device: string;
  target: 'staged' | 'deployed';
  /** Omitted when undefined. */
  parent?: string | null;
}

export function postDeployment(t: Platform, kit: Kit, request: DeploymentRequest): Promise<HttpResponse> {
  return send(t, {
    method: 'POST',
    path: '/deployments',
    body: {
      device_id: request.device,
      release_id: kit.release.id,
      config_instance_ids: [kit.instance.id],
      description: 'created by a conformance check',
      target_status: request.target,
      ...(request.parent === undefined ? {} : { parent_id: request.parent }),
    },
  });
}

export interface Attempt {
  deployment: Item | undefined;
  /** What was answered, one line a try. */
  answers: string[];
}

/**
 * A new deployment in whatever way this platform allows on the device as it is: some take no `staged` for the current release,
 * some take `deployed` for it alone.
 */
export async function tryDeployment(
  t: Platform,
  kits: readonly Kit[],
  device: string,
  parent?: string | null,
  targets: readonly DeploymentRequest['target'][] = ['deployed', 'staged'],
): Promise<Attempt> {
  const answers: string[] = [];
  for (const target of targets) {
    for (const kit of kits) {
      const response = await postDeployment(t, kit, {
        device,
        target,
        ...(parent === undefined ? {} : { parent }),
      });
      answers.push(`${target}: ${response.status} ${response.text.slice(0, 200)}`);
      const deployment = created(response);
      if (deployment !== undefined) return { deployment, answers };
    }
  }
  return { deployment: undefined, answers };
}

/** Actions on a deployment, as published platforms name them. */
export const act = (t: Platform, id: string, action: 'deploy' | 'archive'): Promise<HttpResponse> =>
  send(t, { method: 'POST', path: `/deployments/${encodeURIComponent(id)}/${action}`, body: {} });

/** Leaves no deployment behind that may still be archived. Whether it may is the platform's business. */
export async function tidy(t: Platform, deployments: readonly (Item | undefined)[]): Promise<void> {
  for (const deployment of deployments) if (deployment !== undefined) await act(t, deployment.id, 'archive');
}
