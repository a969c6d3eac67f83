/**
 * What a client can know about the deployments of a device that is never online: target and activity only move forward,
 * status follows the merge rule, and device, release, creation and description never change.
 */

import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../../harness/common/defined.ts';
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
        .map(([target, release]) => new Create(target, release)),
      fc.nat({ max: 5 }).map((which) => new Act('deploy', which)),
      fc.nat({ max: 5 }).map((which) => new Act('archive', which)),
    ],
    { maxCommands: 10, ...defined({ replayPath }) },
  );

/**
 * Creates a deployment of the device. The platform may refuse; otherwise the deployment has the target that was asked
 * for.
 */
class Create implements Command {
  readonly target: Target;
  readonly release: number;
  #request: string | undefined;

  constructor(target: Target, release: number) {
    this.target = target;
    this.release = release;
  }

  check(): boolean {
    return true;
  }

  async run(model: DeploymentModel, real: DeploymentReality): Promise<void> {
    const { device, fixtures } = real;
    const fixture = fixtures[this.release % fixtures.length];
    if (fixture === undefined) return;
    const asked = { release_id: fixture.release.id, target_status: this.target };
    this.#request = describeRequest('POST', '/deployments', asked);
    const deployment = createdItem(await postDeployment(real.t, fixture, { device, target: this.target }));
    if (deployment !== undefined) {
      real.t.should(deployment['target_status'] === this.target, {
        expected: `target_status ${this.target}, as the deployment was created`,
        actual: deployment['target_status'],
      });
      model.known.push(deployment);
    }
    await observe(model, real);
  }

  toString(): string {
    return this.#request ?? `create a deployment with target ${this.target}`;
  }
}

/** Deploys or archives one of the deployments. The platform may refuse, but nothing may move backwards. */
class Act implements Command {
  readonly action: 'deploy' | 'archive';
  readonly which: number;
  #request: string | undefined;

  constructor(action: 'deploy' | 'archive', which: number) {
    this.action = action;
    this.which = which;
  }

  check({ known }: DeploymentModel): boolean {
    return known.length > 0;
  }

  async run(model: DeploymentModel, real: DeploymentReality): Promise<void> {
    const deployment = model.known[this.which % model.known.length];
    if (deployment === undefined) return;
    this.#request = describeRequest('POST', `/deployments/${deployment.id}/${this.action}`);
    const response = await actOn(real.t, deployment.id, this.action);
    real.t.should(!serverError(response), {
      expected: `2xx or 4xx to ${this.action} of a deployment`,
      actual: describeResponse(response),
    });
    await observe(model, real);
  }

  toString(): string {
    return this.#request ?? `${this.action} a deployment`;
  }
}

/** One deployment takes the place of another, which few short sequences do. */
export const REPLACEMENT: Command[] = [new Create('deployed', 0), new Create('deployed', 1)];

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
