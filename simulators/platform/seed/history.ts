/** Past deployments of seeded devices and the state of the newest. The records of one device agree with each other. */

import type { Random } from '../../common/random.ts';
import type { Core } from '../core.ts';
import type { DeploymentRow, DeviceRow } from '../store/rows.ts';
import { at, DAY, NOTES, type SeededRelease } from './catalogue.ts';

// The newest deployments of a seeded device. A workspace of a dozen devices shows every state that a deployment can
// have.

export type Draft = Omit<DeploymentRow, 'seq' | 'id'>;

/** A seeded deployment, and what it is to its device at the end. */
export interface Part {
  draft: Draft;
  current: boolean;
  target: boolean;
}

export interface Scene {
  /** A draft that was queued at `queued` and deployed at `deployed`, with these changes. */
  draft(changes: Partial<Draft>): Draft;
  queued: string;
  deployed: string;
  queue: { readonly queued: number; nextInQueue(): number };
}

const ENDINGS = ['deployed', 'removing', 'staged', 'retrying', 'failed', 'drifted', 'queued'] as const;
type Ending = (typeof ENDINGS)[number];
/** How often each occurs, of 100, once all have. */
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
export function endingFor(turn: number, dice: Random): Ending {
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

/** The deployments that lead to `ending`. */
export function present(ending: Ending, { draft, queued, deployed, queue }: Scene): Part[] {
  const later = at(Date.parse(deployed) + AFTERWARDS);
  const next = { created_at: later, updated_at: later, deployed_at: null } as const;
  const live = {
    activity_status: 'deployed',
    target_status: 'deployed',
    deployed_at: deployed,
    updated_at: deployed,
  } as const;
  const onDevice: Part = { draft: draft(live), current: true, target: true };
  const waiting = { activity_status: 'queued', target_status: 'deployed' } as const;
  const staged = { activity_status: 'staged', target_status: 'staged', queued_at: null, queue_order: null } as const;
  switch (ending) {
    case 'deployed':
      return [onDevice];
    case 'queued':
      return [{ draft: draft(waiting), current: false, target: true }];
    case 'retrying':
      return [{ draft: draft({ ...waiting, error_status: 'retrying' }), current: false, target: true }];
    case 'failed':
      return [
        {
          draft: draft({ error_status: 'failed', archived_at: later, updated_at: later }),
          current: false,
          target: false,
        },
      ];
    case 'removing': {
      // Replaced while the device was offline: the old one is removed when the new one arrives.
      const leaving = draft({ ...live, activity_status: 'removing', target_status: 'archived', updated_at: later });
      const coming = draft({
        ...waiting,
        ...next,
        queued_at: later,
        queue_before: queue.queued,
        queue_order: queue.nextInQueue(),
      });
      return [
        { draft: leaving, current: true, target: false },
        { draft: coming, current: false, target: true },
      ];
    }
    case 'staged': {
      const ready = draft({ ...staged, ...next, queue_before: queue.queued });
      return [onDevice, { draft: ready, current: false, target: false }];
    }
    case 'drifted': {
      // Staged first, but the other one was deployed before it.
      const earlier = at(Date.parse(queued) - BEFOREHAND);
      const drifted = draft({ ...staged, activity_status: 'drifted', created_at: earlier, updated_at: queued });
      return [{ draft: drifted, current: false, target: false }, onDevice];
    }
  }
}

/** Devices with a history. Millions of deployments would take too much memory and show nothing more. */
const MOST = 20_000;

/** Gives each device its deployments, up to a number of devices. */
export function seedHistory(core: Core, dice: Random, releases: readonly SeededRelease[], devices: number): void {
  const parts: (Part & { device: DeviceRow })[] = [];
  let turn = 0;
  for (let seq = 1; seq <= Math.min(devices, MOST); seq++) {
    const device = core.store.collections.device.bySeq(seq);
    if (device === undefined || device.status === 'inactive') continue;
    parts.push(...historyOf(core, dice, device, releases, turn).map((part) => ({ ...part, device })));
    if (device.status !== 'archived') turn += 1;
  }
  const ids: string[] = [];
  const lastTarget = new Map<number, string>();
  const last = core.store.collections.deployment.last;
  core.store.collections.deployment.load(parts.length, (seq) => {
    const { draft, device } = parts[seq - last - 1] as (typeof parts)[number];
    const id = core.newId('deployment', seq);
    ids.push(id);
    const parent_id = lastTarget.get(device.seq) ?? null;
    if (draft.queue_order !== null) lastTarget.set(device.seq, id);
    return { seq, id, ...draft, parent_id };
  });
  for (const [index, { device, ...part }] of parts.entries()) point(core, device, part, ids[index] as string);
}

function point(core: Core, device: DeviceRow, { draft, current, target }: Part, id: string): void {
  if (!current && !target) return;
  const row = core.store.collections.device.bySeq(device.seq);
  if (row === undefined) return;
  core.store.collections.device.update(row, {
    ...(current && { current_deployment_id: id, current_release_id: draft.release_id }),
    ...(target && { target_deployment_id: id }),
  });
}

function historyOf(
  core: Core,
  dice: Random,
  device: DeviceRow,
  releases: readonly SeededRelease[],
  turn: number,
): Part[] {
  const created = Date.parse(device.created_at);
  const later = releases.filter(({ createdAt }) => createdAt > created);
  const chosen = later.filter(() => dice.chance(0.5)).slice(-3);
  const newestRelease = releases.at(-1) as SeededRelease;
  const taken = chosen.length > 0 ? chosen : [newestRelease];
  const parts: Part[] = [];
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
      const past = { deployed_at: deployed, archived_at: archived, updated_at: archived };
      parts.push({ draft: draft(past), current: false, target: false });
    } else {
      parts.push(...present(endingFor(turn, dice), { draft, queued, deployed, queue: core.store }));
    }
    time += 2 * DAY;
  }
  return parts;
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
