/** Seeds past deployments of devices and the state of the newest. The records of one device are consistent. */

import type { Random } from '../../common/random.ts';
import type { Core } from '../core.ts';
import type { DeploymentRow, DeviceRow } from '../store/rows.ts';
import { at, DAY, NOTES, type SeededRelease } from './catalogue.ts';

// Newest deployments of a seeded device. A workspace of a dozen devices shows every state of a deployment.

type Draft = Omit<DeploymentRow, 'seq' | 'id'>;

interface Scene {
  /** Draft queued at `queued` and deployed at `deployed`, with these changes. */
  draft(changes: Partial<Draft>): Draft;
  queued: string;
  deployed: string;
  queue: { readonly queued: number; nextInQueue(): number };
}

const ENDINGS = ['deployed', 'removing', 'staged', 'retrying', 'failed', 'drifted', 'queued'] as const;
type Ending = (typeof ENDINGS)[number];
/** Percentage of each ending, once each has occurred. */
const SHARES: Record<Ending, number> = {
  deployed: 62,
  removing: 8,
  staged: 8,
  retrying: 4,
  failed: 4,
  drifted: 7,
  queued: 7,
};

/** `turn` counts the devices with a history: the first ones take the endings in turn. */
function endingFor(turn: number, dice: Random): Ending {
  const taken = ENDINGS[turn];
  if (taken !== undefined) return taken;
  let left = dice.next() * 100;
  for (const ending of ENDINGS) {
    left -= SHARES[ending];
    if (left < 0) return ending;
  }
  return 'deployed';
}

const AFTERWARDS = 6 * 3_600_000;
const BEFOREHAND = 1_800_000;

function present(ending: Ending, { draft, queued, deployed, queue }: Scene): Draft[] {
  const later = at(Date.parse(deployed) + AFTERWARDS);
  const next = { created_at: later, updated_at: later, deployed_at: null } as const;
  const live = {
    activity_status: 'deployed',
    target_status: 'deployed',
    deployed_at: deployed,
    updated_at: deployed,
  } as const;
  const onDevice = draft(live);
  const waiting = { activity_status: 'queued', target_status: 'deployed' } as const;
  const staged = { activity_status: 'staged', target_status: 'staged', queued_at: null, queue_order: null } as const;
  switch (ending) {
    case 'deployed':
      return [onDevice];
    case 'queued':
      return [draft(waiting)];
    case 'retrying':
      return [draft({ ...waiting, error_status: 'retrying' })];
    case 'failed':
      return [draft({ error_status: 'failed', archived_at: later, updated_at: later })];
    case 'removing': {
      // Replaced while the device was offline: the old one is removed when the new one arrives.
      const leaving = draft({ ...live, activity_status: 'removing', target_status: 'archived', updated_at: later });
      const place = { queued_at: later, queue_before: queue.queued, queue_order: queue.nextInQueue() };
      return [leaving, draft({ ...waiting, ...next, ...place })];
    }
    case 'staged':
      return [onDevice, draft({ ...staged, ...next, queue_before: queue.queued })];
    case 'drifted': {
      // Staged first, but the other one was deployed before it.
      const earlier = at(Date.parse(queued) - BEFOREHAND);
      const drifted = draft({ ...staged, activity_status: 'drifted', created_at: earlier, updated_at: queued });
      return [drifted, onDevice];
    }
  }
}

/** Most devices with a history: millions of deployments would take too much memory and show nothing more. */
const MOST = 20_000;

export function seedHistory(core: Core, dice: Random, releases: readonly SeededRelease[], devices: number): void {
  const { device: deviceRows, deployment: deploymentRows } = core.store.collections;
  const drafts: Draft[] = [];
  let turn = 0;
  for (let seq = 1; seq <= Math.min(devices, MOST); seq++) {
    const device = deviceRows.bySeq(seq);
    if (device === undefined || device.status === 'inactive') continue;
    drafts.push(...historyOf(core, dice, device, releases, turn));
    if (device.status !== 'archived') turn += 1;
  }
  const ids: string[] = [];
  const lastTarget = new Map<string, string>();
  const { last } = deploymentRows;
  deploymentRows.load(drafts.length, (seq) => {
    const draft = drafts[seq - last - 1] as Draft;
    const id = core.newId('deployment', seq);
    ids.push(id);
    const parent_id = lastTarget.get(draft.device_id) ?? null;
    if (draft.queue_order !== null) lastTarget.set(draft.device_id, id);
    return { ...draft, seq, id, parent_id };
  });
  for (const [index, draft] of drafts.entries()) point(core, draft, ids[index] as string);
}

function point({ store }: Core, { device_id, release_id, activity_status, target_status }: Draft, id: string): void {
  const current = activity_status === 'deployed' || activity_status === 'removing';
  const target = target_status === 'deployed';
  const row = current || target ? store.collections.device.byId(device_id) : undefined;
  if (row === undefined) return;
  store.collections.device.update(row, {
    ...(current && { current_deployment_id: id, current_release_id: release_id }),
    ...(target && { target_deployment_id: id }),
  });
}

function historyOf(
  core: Core,
  dice: Random,
  device: DeviceRow,
  releases: readonly SeededRelease[],
  turn: number,
): Draft[] {
  const created = Date.parse(device.created_at);
  const later = releases.filter(({ createdAt }) => createdAt > created);
  const chosen = later.filter(() => dice.chance(0.5)).slice(-3);
  const newestRelease = releases.at(-1) as SeededRelease;
  const taken = chosen.length > 0 ? chosen : [newestRelease];
  const drafts: Draft[] = [];
  let time = created + dice.integer(3_600_000, DAY);
  for (const [index, release] of taken.entries()) {
    time = Math.max(time, release.createdAt + dice.integer(3_600_000, DAY));
    const queued = at(time);
    const deployed = at(time + dice.integer(1000, 600_000));
    const order = { queue_before: core.store.queued, queue_order: core.store.nextInQueue() };
    const draft = (changes: Partial<Draft>): Draft => ({
      ...blank(dice, device, release, queued),
      ...order,
      ...changes,
    });
    if (device.status === 'archived' || index < taken.length - 1) {
      const archived = at(time + dice.integer(DAY, 2 * DAY));
      drafts.push(draft({ deployed_at: deployed, archived_at: archived, updated_at: archived }));
    } else {
      drafts.push(...present(endingFor(turn, dice), { draft, queued, deployed, queue: core.store }));
    }
    time += 2 * DAY;
  }
  return drafts;
}

const blank = (dice: Random, device: DeviceRow, release: SeededRelease, queued: string): Draft => ({
  description: dice.pick(NOTES),
  activity_status: 'archived',
  error_status: 'none',
  target_status: 'archived',
  device_id: device.id,
  release_id: release.row.id,
  parent_id: null,
  queued_at: queued,
  deployed_at: null,
  archived_at: null,
  created_at: queued,
  updated_at: queued,
  config_instance_ids: JSON.stringify(dice.pick(release.instanceSets)),
  queue_before: 0,
  queue_order: null,
  agent_activity: null,
});
