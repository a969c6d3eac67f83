/**
 * What a client can know about the deployments of a device that is never online: target and activity only move forward,
 * status follows the merge rule, and device, release, creation and description never change.
 */

import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../../harness/common/defined.ts';
import { always, command } from '../../commands.ts';
import {
  actOn,
  createdItem,
  mergedStatus,
  postDeployment,
  type ReleaseFixture,
  type Target,
} from '../support/create.ts';
import { type Item, readItem } from '../support/lists.ts';
import { describeRequest, describeResponse, type Platform, serverError } from '../support/requests.ts';

export interface DeploymentModel {
  /** Each deployment as it was last read, in the order of creation. */
  known: Item[];
}

export interface DeploymentReality {
  t: Platform;
  device: string;
  fixtures: readonly ReleaseFixture[];
}

type Command = AsyncCommand<DeploymentModel, DeploymentReality>;

/** Sequences of what a client can do with the deployments of one device. */
export const deploymentCommands = (replayPath: string | undefined) =>
  fc.commands(
    [
      fc
        .tuple(fc.constantFrom('staged' as const, 'deployed' as const), fc.nat({ max: 1 }))
        .map(([target, release]) => create(target, release)),
      fc.nat({ max: 5 }).map((which) => act('deploy', which)),
      fc.nat({ max: 5 }).map((which) => act('archive', which)),
    ],
    { maxCommands: 10, ...defined({ replayPath }) },
  );

/**
 * Creates a deployment of the device. The platform may refuse; otherwise the deployment has the target that was asked
 * for.
 */
const create = (target: Target, release: number): Command =>
  command(`create a deployment with target ${target}`, always, async (model, real, show) => {
    const { t, device, fixtures } = real;
    const fixture = fixtures[release % fixtures.length];
    if (fixture === undefined) return;
    show(describeRequest('POST', '/deployments', { release_id: fixture.release.id, target_status: target }));
    const deployment = createdItem(await postDeployment(t, fixture, { device, target }));
    if (deployment !== undefined) {
      t.should(deployment['target_status'] === target, {
        expected: `target_status ${target}, as the deployment was created`,
        actual: deployment['target_status'],
      });
      model.known.push(deployment);
    }
    await observe(model, real);
  });

const hasAny = ({ known }: Readonly<DeploymentModel>): boolean => known.length > 0;

/** Deploys or archives one of the deployments. The platform may refuse, but nothing may move backwards. */
const act = (action: 'deploy' | 'archive', which: number): Command =>
  command(`${action} a deployment`, hasAny, async (model, real, show) => {
    const { t } = real;
    const deployment = model.known[which % model.known.length];
    if (deployment === undefined) return;
    show(describeRequest('POST', `/deployments/${deployment.id}/${action}`));
    const response = await actOn(t, deployment.id, action);
    t.should(!serverError(response), {
      expected: `2xx or 4xx to ${action} of a deployment`,
      actual: describeResponse(response),
    });
    await observe(model, real);
  });

/** One deployment takes the place of another, which few short sequences do. */
export const REPLACEMENT: Command[] = [create('deployed', 0), create('deployed', 1)];

/** A staged deployment may drift. Whether it can be staged again is not shown, so the two have the same rank. */
const ACTIVITY_RANKS = { staged: 0, drifted: 0, queued: 1, deployed: 2, removing: 3, archived: 4 };
const TARGET_RANKS = { staged: 0, deployed: 1, archived: 2 };
const CONSTANT_FIELDS = ['object', 'id', 'device_id', 'release_id', 'created_at', 'description'];

/** Reads every deployment and compares it with what was read before. */
async function observe(model: DeploymentModel, { t, device }: DeploymentReality): Promise<void> {
  const read = await Promise.all(model.known.map(({ id }) => readItem(t, 'deployments', id)));
  for (const [index, now] of read.entries()) {
    const before = model.known[index] ?? now;
    mustFollow(t, before, now);
    if (now['device_id'] !== device) t.blocked(`${now.id} belongs to ${now['device_id']}, not to ${device}`);
    model.known[index] = now;
  }
}

function mustFollow(t: Platform, before: Item, now: Item): void {
  mustMoveForward(t, 'target_status', TARGET_RANKS, before, now);
  mustMoveForward(t, 'activity_status', ACTIVITY_RANKS, before, now);
  const { status, activity_status: activity, error_status: error } = now;
  t.must(status === mergedStatus(activity, error), {
    expected: `status ${mergedStatus(activity, error)} with activity ${activity} and error ${error}`,
    actual: `status ${status} of ${now.id}`,
  });
  const changed = CONSTANT_FIELDS.find((field) => JSON.stringify(before[field]) !== JSON.stringify(now[field]));
  t.must(changed === undefined, {
    expected: `${changed} of ${now.id} to stay ${JSON.stringify(before[changed ?? ''])}`,
    actual: JSON.stringify(now[changed ?? '']),
  });
}

function mustMoveForward(t: Platform, field: string, ranks: Record<string, number>, before: Item, now: Item): void {
  const [from, to] = [ranks[String(before[field])], ranks[String(now[field])]];
  t.must(from !== undefined && to !== undefined, {
    expected: `${field} to be one of ${Object.keys(ranks).join(', ')}`,
    actual: now[field],
  });
  t.must(to >= from, {
    expected: `${field} of ${now.id} only to move forward (${Object.keys(ranks).join(' → ')})`,
    actual: `${before[field]} → ${now[field]}`,
  });
}
