/**
 * Creates what a check needs. The specification shows none of these request bodies, so they are those of published
 * platforms. A refusal says nothing about conformance and blocks the check.
 */

import { randomInt } from 'node:crypto';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { Recorder } from '../../../harness/client/recorder.ts';
import { defined } from '../../../harness/common/defined.ts';
import { uniqueName } from '../../../harness/common/names.ts';
import { envelopeProblems, getList, type Item, type Page, servedCollections } from './lists.ts';
import {
  describeResponse,
  hasSucceeded,
  NOT_SERVED,
  ok,
  type Platform,
  refused,
  send,
  speaksAtLeast,
} from './requests.ts';

export const mayWrite = (t: Platform): boolean => !t.readOnly && t.capabilities.has('write');

/**
 * Ends the check as undecided if the platform has no such endpoint: the specification does not show these paths,
 * so a platform may lack them. Likewise if the key may not write there, which a 403 shows as long as no write of this
 * kind has succeeded.
 */
export async function requireEndpoint(t: Platform, path: string, response: HttpResponse): Promise<void> {
  const { status } = response;
  const forbidden = status === 403 && !hasSucceeded(t, 'POST', path);
  if (!NOT_SERVED.includes(status) && !forbidden) return;
  // A server that serves nothing at all fails here.
  await servedCollections(t);
  if (forbidden) t.undecided(`the API key may not write: POST ${path} answered ${describeResponse(response)}`);
  t.undecided(`the platform has no POST ${path} (${status})`);
}

/** Posts; blocks the check unless the platform answers 2xx with a resource that has an id. */
export async function create(t: Platform, path: string, body: unknown): Promise<Item> {
  const response = await send(t, { method: 'POST', path, body });
  await requireEndpoint(t, path, response);
  return createdItem(response) ?? t.blocked(`set-up: POST ${path} answered ${describeResponse(response)}`);
}

/** The resource in a 2xx answer; undefined if the answer holds none. */
export function createdItem(response: HttpResponse): Item | undefined {
  const { json } = response;
  const whole = typeof json === 'object' && json !== null && 'id' in json && typeof json.id === 'string';
  return ok(response) && whole ? (json as Item) : undefined;
}

/**
 * The specification does not show what a slug may contain: if dashes are refused, letters and digits alone are tried.
 */
export async function createConfigType(t: Platform): Promise<Item> {
  const slug = uniqueName('type');
  const path = '/config_types';
  const response = await send(t, { method: 'POST', path, body: { name: slug, slug } });
  const first = createdItem(response);
  if (first !== undefined) return first;
  await requireEndpoint(t, path, response);
  const plain = { name: slug, slug: slug.replaceAll('-', '') };
  const second = refused(response) ? createdItem(await send(t, { method: 'POST', path, body: plain })) : undefined;
  return second ?? t.blocked(`set-up: POST ${path} answered ${describeResponse(response)}`);
}

export const createDevice = (t: Platform): Promise<Item> => create(t, '/devices', { name: uniqueName('device') });

// Everything a deployment needs, from config type to release, in the fields of the API version that the run speaks.

export interface SchemaOptions {
  /** Where instances are written. Omitted from the body when undefined. */
  filepath?: string;
  instanceFormat?: 'json' | 'yaml';
  /** Format of the schema document itself. Default JSON. */
  format?: 'json' | 'yaml';
}

/** Some platforms require the schema to name its dialect. */
const JSON_SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A new document each time, because a platform may recognise one that it already has. */
export function schemaBody(t: Platform, typeId: string, options: SchemaOptions = {}): Record<string, unknown> {
  const { filepath, instanceFormat, format = 'json' } = options;
  const document = { $schema: JSON_SCHEMA_DIALECT, title: uniqueName('schema'), type: 'object' };
  const yaml = Object.entries(document).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  const hasSlots = speaksAtLeast(t, 'everglades');
  const slots = [{ key: 'default', name: 'Default', filepath, required: true }];
  return {
    config_type_ref: { id: typeId },
    language: 'jsonschema',
    format,
    documents: [{ name: `schema.${format}`, data: format === 'json' ? JSON.stringify(document) : yaml.join('') }],
    ...(filepath === undefined ? {} : hasSlots ? { instance_slots: slots } : { instance_filepath: filepath }),
    ...(instanceFormat === undefined || !hasSlots ? {} : { instance_format: instanceFormat }),
  };
}

export const createSchema = (t: Platform, typeId: string, options: SchemaOptions = {}): Promise<Item> =>
  create(t, '/config_schemas', schemaBody(t, typeId, options));

/** A release of one schema, and a config instance that fills it. */
export interface ReleaseFixture {
  type: Item;
  schema: Item;
  release: Item;
  instance: Item;
  /** Where the instance is written on the device, and its content. */
  filepath: string;
  content: string;
}

export interface ReleaseOptions {
  filepath?: string;
}

/** Blocks the check if the platform refuses any part of it. */
export async function createReleaseFixture(t: Platform, options: ReleaseOptions = {}): Promise<ReleaseFixture> {
  const { filepath = `/srv/configs/${uniqueName('config')}.json` } = options;
  const type = await createConfigType(t);
  const schema = await createSchema(t, type.id, { filepath, instanceFormat: 'json' });
  const content = JSON.stringify({ speed: 1, marked: uniqueName('content') });
  const [release, instance] = await Promise.all([
    createRelease(t, schema.id),
    create(t, '/config_instances', { config_schema_id: schema.id, content: { format: 'json', data: content } }),
  ]);
  return { type, schema, release, instance, filepath, content };
}

/** Two of them: a platform may refuse a second deployment of one release. */
export const createReleaseFixtures = (t: Platform): Promise<[ReleaseFixture, ReleaseFixture]> =>
  Promise.all([createReleaseFixture(t), createReleaseFixture(t)]);

const LARGEST_NUMBER = 1_000_000;

/** If the release is refused without a git commit, it is created with one that the platform lists. */
async function createRelease(t: Platform, schemaId: string): Promise<Item> {
  const version = `v1.${randomInt(LARGEST_NUMBER)}.${randomInt(LARGEST_NUMBER)}`;
  const body = { version, config_schema_ids: [schemaId] };
  const response = await send(t, { method: 'POST', path: '/releases', body });
  const release = createdItem(response);
  if (release !== undefined) return release;
  const commit = refused(response) ? await findCommit(t) : undefined;
  return create(t, '/releases', { ...body, ...(commit === undefined ? {} : { git_commit_ref: { id: commit } }) });
}

async function findCommit(t: Platform): Promise<string | undefined> {
  const response = await getList(t, 'git_commits', { limit: 1 });
  if (!ok(response) || envelopeProblems(response.json).length > 0) return undefined;
  return (response.json as Page).data[0]?.id;
}

// Deployments: those that the platform lists, and those that a check creates and archives again.

/** The newest items, enough to see every state without reading thousands of pages. */
export const LISTED_AT_MOST = { limit: 100, pages: 10 };

export type Target = 'staged' | 'deployed';

export interface DeploymentRequest {
  device: string;
  target: Target;
  /** Omitted from the body when undefined. */
  parent?: string | null;
}

/** Asks for one deployment of a device; the answer may be a refusal. The deployment is archived when the check ends. */
export async function postDeployment(
  t: Platform,
  fixture: ReleaseFixture,
  request: DeploymentRequest,
): Promise<HttpResponse> {
  const response = await send(t, {
    method: 'POST',
    path: '/deployments',
    body: {
      device_id: request.device,
      release_id: fixture.release.id,
      config_instance_ids: [fixture.instance.id],
      description: 'new settings',
      target_status: request.target,
      ...defined({ parent_id: request.parent }),
    },
  });
  const deployment = createdItem(response);
  if (deployment !== undefined) t.state.made.add(deployment.id);
  return response;
}

export interface Attempt {
  deployment: Item | undefined;
  /** One line for each answer. */
  answers: string[];
}

/**
 * Tries each target with each release until a deployment is created: some platforms refuse `staged` for the device's
 * current release, and some accept `deployed` for that release only.
 */
export async function tryDeployment(
  t: Platform,
  fixtures: readonly ReleaseFixture[],
  device: string,
  parent?: string | null,
  targets: readonly Target[] = ['deployed', 'staged'],
): Promise<Attempt> {
  const answers: string[] = [];
  for (const target of targets) {
    for (const fixture of fixtures) {
      const response = await postDeployment(t, fixture, {
        device,
        target,
        ...defined({ parent }),
      });
      answers.push(`${target}: ${response.status} ${response.text.slice(0, 200)}`);
      const deployment = createdItem(response);
      if (deployment !== undefined) return { deployment, answers };
    }
  }
  return { deployment: undefined, answers };
}

/** A deployment of a new device, or of `device`. Blocks the check if the platform refuses. */
export async function createDeployment(
  t: Platform,
  fixtures: readonly ReleaseFixture[],
  options: { device?: string; targets?: readonly Target[] } = {},
): Promise<Item> {
  const device = options.device ?? (await createDevice(t)).id;
  const { deployment, answers } = await tryDeployment(t, fixtures, device, undefined, options.targets);
  return deployment ?? t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
}

/** Staged if the platform allows that, since a staged deployment can be archived; then archived if possible. */
export async function createArchivedDeployment(t: Platform, fixtures: readonly ReleaseFixture[]): Promise<Item> {
  const deployment = await createDeployment(t, fixtures, { targets: ['staged', 'deployed'] });
  await actOn(t, deployment.id, 'archive');
  return deployment;
}

/** The actions of published platforms on a deployment. */
export const actOn = (t: Platform, id: string, action: 'deploy' | 'archive'): Promise<HttpResponse> =>
  send(t, { method: 'POST', path: `/deployments/${encodeURIComponent(id)}/${action}`, body: {} });

/** What a check that is over gets to tidy up: no later check may run beside it for long. */
const TIDYING_MS = 900;

/**
 * Archives the deployments that the check has made, as far as the platform lets us, also when the check is over.
 * Neither a refusal nor silence matters: the check has its verdict already.
 */
export async function archiveMade(t: Platform): Promise<void> {
  const { made } = t.state;
  const ids = [...made];
  made.clear();
  // Twice the patience, so that silence is learnt as such and waited for only once.
  const signal = AbortSignal.timeout(t.signal.aborted ? TIDYING_MS : 2 * t.patienceMs);
  // No finding is about these requests.
  const recorder = new Recorder(t.http.recorder.redactor);
  const tidying = { ...t, signal, http: t.http.with({ signal, recorder }) };
  await Promise.allSettled(ids.map((id) => actOn(tidying, id, 'archive')));
}

/** What `status` has to be by the rule of section 2.2. */
export const mergedStatus = (activity: unknown, error: unknown): unknown => (error === 'none' ? activity : error);
