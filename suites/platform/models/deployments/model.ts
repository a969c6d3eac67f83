/**
 * What can be known of the deployments of a device that is never online, from outside: target and activity only move forward,
 * status follows the merge rule, and what a deployment is (device, release, creation) never changes.
 */

import type { DeploymentRequest, Kit } from '../../support/kit.ts';
import type { Item } from '../../support/lists.ts';
import type { Platform } from '../../support/platform.ts';
import { read } from '../../support/read.ts';

export interface DeploymentModel {
  /** As last seen, in the order of creation. */
  known: Item[];
}

export interface DeploymentReality {
  t: Platform;
  device: string;
  kits: readonly Kit[];
  targets: readonly DeploymentRequest['target'][];
}

/** A staged deployment drifts; whether a review makes it staged again is not shown. */
const ACTIVITY = { staged: 0, drifted: 0, queued: 1, deployed: 2, removing: 3, archived: 4 };
const TARGET = { staged: 0, deployed: 1, archived: 2 };
const CONSTANT = ['object', 'id', 'device_id', 'release_id', 'created_at', 'description'];

/** Reads every deployment that is known and holds it against what was seen before. */
export async function observe(model: DeploymentModel, { t, device }: DeploymentReality): Promise<void> {
  for (const [index, before] of model.known.entries()) {
    const now = await read(t, 'deployments', before.id);
    compare(t, before, now);
    if (now['device_id'] !== device) t.blocked(`${now.id} belongs to ${now['device_id']}, not to ${device}`);
    model.known[index] = now;
  }
}

export function compare(t: Platform, before: Item, now: Item): void {
  forward(t, now.id, 'target_status', TARGET, before, now);
  forward(t, now.id, 'activity_status', ACTIVITY, before, now);
  const { status, activity_status: activity, error_status: error } = now;
  t.must(status === (error === 'none' ? activity : error), {
    expected: `status ${error === 'none' ? activity : error} with activity ${activity} and error ${error}`,
    actual: `status ${status} of ${now.id}`,
  });
  const changed = CONSTANT.find((field) => JSON.stringify(before[field]) !== JSON.stringify(now[field]));
  t.must(changed === undefined, {
    expected: `${changed} of ${now.id} to stay ${JSON.stringify(before[changed ?? ''])}`,
    actual: JSON.stringify(now[changed ?? '']),
  });
}

function forward(t: Platform, id: string, field: string, ranks: Record<string, number>, before: Item, now: Item): void {
  const [from, to] = [ranks[String(before[field])], ranks[String(now[field])]];
  t.must(from !== undefined && to !== undefined, {
    expected: `${field} to be one of ${Object.keys(ranks).join(', ')}`,
    actual: now[field],
  });
  t.must(to >= from, {
    expected: `${field} of ${id} only to move forward (${Object.keys(ranks).join(' → ')})`,
    actual: `${before[field]} → ${now[field]}`,
  });
}
