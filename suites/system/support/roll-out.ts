/** Request bodies as published platforms take them; a refusal blocks the check. */
import { randomInt } from 'node:crypto';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { Recorder } from '../../../harness/client/recorder.ts';
import { recordName } from '../../../harness/common/names.ts';
import { atLeast, isPlatformVersion } from '../../../harness/contract/versions.ts';
import { create, createConfigType, createdItem, requireEndpoint } from '../../platform/support/create.ts';
import { envelopeProblems, getList, type Item, type Page } from '../../platform/support/lists.ts';
import { describeResponse, ok, type Platform, refused, send } from '../../platform/support/requests.ts';

export class CheckState {
  readonly made = new Set<string>();
  isCutOff = false;
}

interface ConfigFile {
  instance: Item;
  filepath: string;
  content: string;
}

export interface ReleaseFixture {
  release: Item;
  files: readonly ConfigFile[];
}

export const configPath = (): string => `/srv/configs/${recordName('config')}.json`;

/** Some platforms require a schema to name its dialect. */
const JSON_SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Creates a release of all files, or else of the last one alone, because a platform may release one at a time. */
export async function createReleaseFixture(t: Platform, filepaths: readonly string[]): Promise<ReleaseFixture> {
  const schemas = await Promise.all(filepaths.map((filepath) => createSchema(t, filepath)));
  const ids = schemas.map(({ id }) => id);
  const [answer, ...files] = await Promise.all([
    createRelease(t, ids),
    ...filepaths.map((filepath, at) => createFile(t, ids[at], filepath)),
  ]);
  const release = createdItem(answer);
  if (release !== undefined) return { release, files };
  if (filepaths.length > 1) {
    t.note(`a release of ${filepaths.length} config schemas was not made: ${describeResponse(answer)}`);
    return createReleaseFixture(t, filepaths.slice(-1));
  }
  await requireEndpoint(t, '/releases', answer);
  return t.blocked(`set-up: POST /releases answered ${describeResponse(answer)}`, answer);
}

async function createFile(t: Platform, config_schema_id: string | undefined, filepath: string): Promise<ConfigFile> {
  const content = JSON.stringify({ speed: 1, marked: recordName('content') });
  const body = { config_schema_id, content: { format: 'json', data: content } };
  return { instance: await create(t, '/config_instances', body), filepath, content };
}

async function createSchema(t: Platform, filepath: string): Promise<Item> {
  const type = await createConfigType(t);
  // Gives each document a title of its own, because a platform may recognise a document that it already has.
  const document = { $schema: JSON_SCHEMA_DIALECT, title: recordName('schema'), type: 'object' };
  const slots = [{ key: 'default', name: 'Default', filepath, required: true }];
  return create(t, '/config_schemas', {
    config_type_ref: { id: type.id },
    language: 'jsonschema',
    format: 'json',
    documents: [{ name: 'schema.json', data: JSON.stringify(document) }],
    ...(isPlatformVersion(t.apiVersion) && atLeast(t.apiVersion, 'everglades')
      ? { instance_slots: slots, instance_format: 'json' }
      : { instance_filepath: filepath }),
  });
}

const LARGEST_NUMBER = 1_000_000;

/** After a refusal, tries again with a git commit, which some platforms require. */
async function createRelease(t: Platform, schemaIds: readonly string[]): Promise<HttpResponse> {
  const version = `v1.${randomInt(LARGEST_NUMBER)}.${randomInt(LARGEST_NUMBER)}`;
  const body = { version, config_schema_ids: schemaIds };
  const response = await send(t, { method: 'POST', path: '/releases', body });
  const commit = refused(response) ? await findCommit(t) : undefined;
  if (commit === undefined) return response;
  return send(t, { method: 'POST', path: '/releases', body: { ...body, git_commit_ref: { id: commit } } });
}

async function findCommit(t: Platform): Promise<string | undefined> {
  const response = await getList(t, 'git_commits', { limit: 1 });
  if (!ok(response) || envelopeProblems(response.json).length > 0) return undefined;
  return (response.json as Page).data[0]?.id;
}

/**
 * Tries `staged` too, because some platforms refuse a new deployment with `deployed`. `answers`: one line per response.
 */
export async function tryDeployment(
  t: Platform,
  { made }: CheckState,
  { release, files }: ReleaseFixture,
  device: string,
): Promise<{ deployment?: Item; answers: string[]; last?: HttpResponse | undefined }> {
  const answers: string[] = [];
  let last: HttpResponse | undefined;
  for (const target of ['deployed', 'staged']) {
    const body = {
      device_id: device,
      release_id: release.id,
      config_instance_ids: files.map(({ instance }) => instance.id),
      description: 'new settings',
      target_status: target,
    };
    const response = await send(t, { method: 'POST', path: '/deployments', body });
    answers.push(`${target}: ${response.status} ${response.text.slice(0, 200)}`);
    last = response;
    const deployment = createdItem(response);
    if (deployment === undefined) continue;
    made.add(deployment.id);
    return { deployment, answers };
  }
  return { answers, last };
}

export const actOn = (t: Platform, id: string, action: 'deploy' | 'archive'): Promise<HttpResponse> =>
  send(t, { method: 'POST', path: `/deployments/${encodeURIComponent(id)}/${action}`, body: {} });

/** Maximum milliseconds for the clean-up of an aborted check, because the next check already runs. */
const TIDYING_MS = 900;

/** Ignores failures, because the check already has its result. */
export async function archiveMade(t: Platform, { made }: CheckState): Promise<void> {
  const ids = [...made];
  made.clear();
  // One limit for all requests, so that a silent platform delays the clean-up only once.
  const signal = AbortSignal.timeout(t.signal.aborted ? TIDYING_MS : 2 * t.patienceMs);
  // Records the clean-up apart from the check, so that no finding shows it.
  const recorder = new Recorder(t.http.recorder.redactor);
  const tidying = { ...t, signal, http: t.http.with({ signal, recorder }) };
  await Promise.allSettled(ids.map((id) => actOn(tidying, id, 'archive')));
}
