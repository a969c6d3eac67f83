/** Deployments: those that the platform lists, and those that a check creates and archives again. */

import type { HttpResponse } from '../../../harness/client/http.ts';
import { defined } from '../../../harness/common/defined.ts';
import type { Platform } from './context.ts';
import { createDevice, createdItem, mayWrite } from './create.ts';
import { type Item, servedCollections, walk } from './lists.ts';
import { createReleaseFixture, type ReleaseFixture } from './releases.ts';
import { send } from './requests.ts';

/** The newest items, enough to see every state without reading thousands of pages. */
export const LISTED_AT_MOST = { limit: 100, pages: 10 };

/** The newest deployments. Ends the check as not applicable if the platform does not list deployments. */
export async function listDeployments(t: Platform): Promise<Item[]> {
  const collections = await servedCollections(t);
  if (!collections.includes('deployments')) t.notApplicable('the platform lists no deployments');
  return (await walk(t, 'deployments', LISTED_AT_MOST)).items;
}

/** At least one deployment: creates one if the platform lists none and the run may write. */
export async function listOrCreateDeployments(t: Platform): Promise<Item[]> {
  const found = await listDeployments(t);
  if (found.length > 0) return found;
  if (!mayWrite(t)) t.notApplicable('the platform has no deployment, and the run may create none');
  const { id } = await createDeployment(t, [await createReleaseFixture(t)]);
  const again = await listDeployments(t);
  // Another requirement decides whether what was created is listed.
  return again.length > 0 ? again : t.blocked(`set-up: ${id}, just created, is not in the list`);
}

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
      description: 'created by a conformance check',
      target_status: request.target,
      ...defined({ parent_id: request.parent }),
    },
  });
  const deployment = createdItem(response);
  if (deployment !== undefined) madeBy(t).add(deployment.id);
  return response;
}

export interface Attempt {
  deployment: Item | undefined;
  /** One line for each answer. */
  answers: string[];
}

/**
 * Tries each target with each release until a deployment is created: some platforms refuse `staged` for the device's current
 * release, and some accept `deployed` for that release only.
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
 * Archives the deployments that the check has made, as far as the platform lets us, also when the check is over. Neither a refusal
 * nor silence matters: the check has its verdict already.
 */
export async function archiveMade(t: Platform): Promise<void> {
  const ids = [...madeBy(t)];
  madeBy(t).clear();
  // Twice the patience, so that silence is learnt as such and waited for only once.
  const signal = AbortSignal.timeout(t.signal.aborted ? TIDYING_MS : 2 * t.patienceMs);
  const tidying = { ...t, signal, http: t.http.with({ signal }) };
  await Promise.allSettled(ids.map((id) => actOn(tidying, id, 'archive')));
}

/** Ids, keyed by the check's `note` function, the only identity that survives copies of the context. */
const made = new WeakMap<Platform['note'], Set<string>>();

function madeBy(t: Platform): Set<string> {
  const ids = made.get(t.note) ?? new Set();
  made.set(t.note, ids);
  return ids;
}

/** What `status` has to be by the rule of section 2.2. */
export const mergedStatus = (activity: unknown, error: unknown): unknown => (error === 'none' ? activity : error);
