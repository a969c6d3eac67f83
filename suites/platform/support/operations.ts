/** The table of requests that a whole section is asked of: every operation that this run knows how to ask for. */
import type { HttpClient, HttpResponse } from '../../../harness/client/http.ts';
import { uniqueName } from '../../../harness/common/names.ts';
import { createDeployment, createDevice, createdItem, createReleaseFixture, schemaBody } from './create.ts';
import { type Collection, type Item, servedCollections } from './lists.ts';
import { type Platform, sendOnce, speaksAtLeast } from './requests.ts';

/** A request that would be carried out as it stands: what it names exists, and its body is of the usual form. */
export interface Operation {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  body?: object;
}

/** What the writes of the table are about, so that a check sees whether one was carried out. */
export interface Operations {
  reads: Operation[];
  writes: Operation[];
  /** Staged, where the platform allows that. */
  deployment: Item;
  /** Stands in every name that a write of the table would give. */
  mark: string;
}

/** Creates what the operations are about. Blocks the check where the platform refuses that. */
export async function everyOperation(t: Platform): Promise<Operations> {
  const fixture = await createReleaseFixture(t);
  const device = await createDevice(t);
  const deployment = await createDeployment(t, [fixture], { device: device.id, targets: ['staged', 'deployed'] });
  const things: Partial<Record<Collection, string>> = {
    config_types: fixture.type.id,
    config_schemas: fixture.schema.id,
    config_instances: fixture.instance.id,
    releases: fixture.release.id,
    deployments: deployment.id,
    devices: device.id,
  };
  const served = await servedCollections(t);
  const singly = Object.entries(things).map(([collection, id]) => `/${collection}/${encodeURIComponent(id)}`);
  const mark = uniqueName('marked');
  const name = (what: string): string => `${mark}-${what}`;
  const post = (path: string, body: object): Operation => ({ method: 'POST', path, body });
  const patch = (path: string, body: object): Operation => ({ method: 'PATCH', path, body });
  const one = (collection: Collection): string => `/${collection}/${encodeURIComponent(things[collection] ?? '')}`;
  return {
    reads: [...served.map((collection) => `/${collection}`), ...singly].map((path) => ({ method: 'GET', path })),
    writes: [
      post('/config_types', { name: name('type'), slug: name('type') }),
      patch(one('config_types'), { name: name('type') }),
      post('/config_schemas', schemaBody(t, fixture.type.id, { filepath: `/srv/configs/${mark}.json` })),
      post('/config_instances', {
        config_schema_id: fixture.schema.id,
        content: { format: 'json', data: JSON.stringify({ mark }) },
      }),
      post('/releases', { version: name('release'), config_schema_ids: [fixture.schema.id] }),
      post('/devices', { name: name('device') }),
      patch(one('devices'), { name: name('device') }),
      ...(speaksAtLeast(t, 'everglades') ? [post('/groups', { name: name('group') })] : []),
      post('/deployments', {
        device_id: device.id,
        release_id: fixture.release.id,
        config_instance_ids: [fixture.instance.id],
        description: mark,
        target_status: 'staged',
      }),
      post(`${one('deployments')}/archive`, {}),
      ...(speaksAtLeast(t, 'rainier') ? [post('/provisioning_tokens', {})] : []),
    ],
    deployment,
    mark,
  };
}

/** Sends it once, whatever the answer, of which no token is shown. A deployment is archived when the check ends. */
export async function ask(t: Platform, operation: Operation, http: HttpClient): Promise<HttpResponse> {
  const answer = await sendOnce(t, operation, http);
  hideToken(t, answer);
  const deployment = operation.path === '/deployments' ? createdItem(answer) : undefined;
  if (deployment !== undefined) t.state.made.add(deployment.id);
  return answer;
}

export function hideToken(t: Platform, { json }: HttpResponse): void {
  const token = (json as { token?: unknown } | null | undefined)?.token;
  if (typeof token === 'string') t.http.recorder.redactor.add(token);
}
