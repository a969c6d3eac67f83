/** A new deployment for the device under test, and how the two sides see it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { created } from '../../platform/support/create.ts';
import { act, createKit, type Kit, type KitOptions, tryDeployment } from '../../platform/support/kit.ts';
import type { Item } from '../../platform/support/lists.ts';
import { read } from '../../platform/support/read.ts';
import { ok, said } from '../../platform/support/send.ts';
import { eventually, platformOf, type System } from './system.ts';

export interface RolledOut {
  id: string;
  deployment: Item;
  kit: Kit;
}

/** Creates it and makes it the device's target. A platform that refuses blocks the check. */
export async function rollOut(t: System, options: KitOptions = {}): Promise<RolledOut> {
  const p = platformOf(t);
  const kit = await createKit(p, options);
  const { deployment, answers } = await tryDeployment(p, [kit], t.deviceId);
  if (deployment === undefined) return t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
  if (deployment['target_status'] !== 'deployed') {
    const response = await act(p, deployment.id, 'deploy');
    if (!ok(response)) t.blocked(`set-up: POST /deployments/${deployment.id}/deploy answered ${said(response)}`);
    return { id: deployment.id, deployment: created(response) ?? deployment, kit };
  }
  return { id: deployment.id, deployment, kit };
}

/** Waits until the platform shows the deployment in that activity. */
export function shownAs(t: System, id: string, activity: string): Promise<Item> {
  return eventually(t, `${id} to be ${activity} on the platform`, async () => {
    const item = await read(platformOf(t), 'deployments', id);
    return item['activity_status'] === activity ? { found: item } : { seen: statuses(item) };
  });
}

/** Waits until the device says that this is its current deployment, and deployed. */
export function current(t: System, id: string): Promise<Item> {
  return eventually(t, `${id} to be the current deployment on the device, and deployed`, async () => {
    const response = await t.device.http.get('/deployments/current');
    const item = (response.json ?? {}) as Item;
    return item.id === id && item['activity_status'] === 'deployed' ? { found: item } : { seen: said(response) };
  });
}

export const statuses = (item: Item): string =>
  `status ${item['status']}, activity ${item['activity_status']}, error ${item['error_status']}, target ${item['target_status']}`;

/** The config file as it is on the device; `undefined` when it is not there. Only with capability `files`. */
export async function fileOf(t: System, { kit }: RolledOut): Promise<string | undefined> {
  const root = t.device.info.config_root;
  if (root === undefined || !t.device.capabilities.has('files')) t.blocked('the control API names no config_root');
  try {
    return await readFile(join(root, kit.filepath), 'utf8');
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(String(error.code))
    ) {
      return undefined;
    }
    throw error;
  }
}

/** Whether a file holds what its config instance does. How JSON is laid out is nobody's business. */
export function holds(file: string | undefined, { kit }: RolledOut): boolean {
  if (file === undefined) return false;
  try {
    return isDeepStrictEqual(JSON.parse(file), JSON.parse(kit.content));
  } catch {
    return false;
  }
}

export const seesFiles = (t: System): boolean =>
  t.device.capabilities.has('files') && t.device.info.config_root !== undefined;
