/** Deployments of the past: every state that a deployment can be in occurs, and all that is recorded fits together. */
import type { Random } from '../../common/random.ts';
import type { Core } from '../core.ts';
import type { DeploymentRow, DeviceRow } from '../store/rows.ts';
import type { SeededRelease } from './catalogue.ts';
import { at, DAY, SEED_END } from './time.ts';
import { NOTES } from './vocabulary.ts';

/** Devices with a history: a workspace of a million has no use for millions of deployments, and no room. */
const MOST = 20_000;

type Draft = Omit<DeploymentRow, 'seq' | 'id'>;

export function seedHistory(core: Core, dice: Random, releases: readonly SeededRelease[], devices: number): void {
  const drafts: { device: DeviceRow; draft: Draft; role: Role }[] = [];
  for (let seq = 1; seq <= Math.min(devices, MOST); seq++) {
    const device = core.store.collections.device.bySeq(seq);
    if (device === undefined || device.status === 'inactive') continue;
    for (const { draft, role } of historyOf(core, dice, device, releases)) drafts.push({ device, draft, role });
  }
  const ids: string[] = [];
  const lastTarget = new Map<number, string>();
  const last = core.store.collections.deployment.last;
  core.store.collections.deployment.load(drafts.length, (seq) => {
    const index = seq - last - 1;
    const { draft, device } = drafts[index] as (typeof drafts)[number];
    const id = core.newId('deployment', seq);
    ids.push(id);
    const parent_id = lastTarget.get(device.seq) ?? null;
    if (draft.queue_order !== null) lastTarget.set(device.seq, id);
    return { seq, id, ...draft, parent_id };
  });
  for (const [index, { device, draft, role }] of drafts.entries())
    point(core, device, draft, role, ids[index] as string);
}

/** What a deployment is to its device at the end. */
type Role = { current: boolean; target: boolean };

function point(core: Core, device: DeviceRow, draft: Draft, role: Role, id: string): void {
  if (!role.current && !role.target) return;
  const row = core.store.collections.device.bySeq(device.seq);
  if (row === undefined) return;
  core.store.collections.device.update(row, {
    ...(role.current && { current_deployment_id: id, current_release_id: draft.release_id }),
    ...(role.target && { target_deployment_id: id }),
  });
}

function historyOf(core: Core, dice: Random, device: DeviceRow, releases: readonly SeededRelease[]) {
  const created = Date.parse(device.created_at);
  const usable = releases.filter(({ createdAt }) => createdAt < SEED_END - 2 * DAY);
  const first = Math.max(
    0,
    usable.findIndex(({ createdAt }) => createdAt > created),
  );
  const taken = usable
    .slice(first)
    .filter(() => dice.chance(0.5))
    .slice(-3);
  const past: { draft: Draft; role: Role }[] = [];
  let time = Math.max(created, taken[0]?.createdAt ?? created) + dice.integer(3_600_000, DAY);
  const draft = (release: SeededRelease, changes: Partial<Draft>): Draft => ({
    description: dice.pick(NOTES),
    activity_status: 'archived',
    error_status: 'none',
    target_status: 'archived',
    device_id: device.id,
    release_id: release.row.id,
    parent_id: null,
    queued_at: null,
    deployed_at: null,
    archived_at: null,
    created_at: at(time),
    updated_at: at(time),
    config_instance_ids: JSON.stringify(dice.pick(release.instanceSets)),
    queue_before: core.store.queued,
    queue_order: null,
    ...changes,
  });
  for (const [index, release] of taken.entries()) {
    const newest = index === taken.length - 1;
    time = Math.max(time, release.createdAt + dice.integer(3_600_000, DAY));
    const moments = { queued: at(time), deployed: at(time + dice.integer(1000, 600_000)) };
    const end = at(time + dice.integer(DAY, 2 * DAY));
    const archived = device.status === 'archived' || !newest;
    const failed = dice.chance(0.05);
    const base = { queue_before: core.store.queued, queue_order: core.store.nextInQueue(), queued_at: moments.queued };
    if (failed) {
      past.push({
        draft: draft(release, { ...base, error_status: 'failed', archived_at: end, updated_at: end }),
        role: { current: false, target: false },
      });
    } else if (archived) {
      past.push({
        draft: draft(release, { ...base, deployed_at: moments.deployed, archived_at: end, updated_at: end }),
        role: { current: false, target: false },
      });
    } else {
      past.push(...present(dice, (changes) => draft(release, { ...base, ...changes }), moments, core.store));
    }
    time += 2 * DAY;
  }
  return past;
}

/** The end of a history: what is on the device, and what is meant to come. */
function present(
  dice: Random,
  draft: (changes: Partial<Draft>) => Draft,
  moments: { queued: string; deployed: string },
  queue: { readonly queued: number; nextInQueue(): number },
): { draft: Draft; role: Role }[] {
  const { deployed } = moments;
  const on = {
    activity_status: 'deployed',
    target_status: 'deployed',
    deployed_at: deployed,
    updated_at: deployed,
  } as const;
  const later = at(Date.parse(deployed) + 6 * 3_600_000);
  const next = { created_at: later, updated_at: later, queued_at: null } as const;
  const waiting = { ...next, activity_status: 'queued', target_status: 'deployed', queued_at: later } as const;
  const kind = dice.next();
  if (kind < 0.6) return [{ draft: draft(on), role: { current: true, target: true } }];
  if (kind < 0.7) {
    // Replaced while the device was away: the old one goes when the new one comes.
    return [
      {
        draft: draft({ ...on, activity_status: 'removing', target_status: 'archived', updated_at: later }),
        role: { current: true, target: false },
      },
      { draft: draft({ ...waiting, queue_order: queue.nextInQueue() }), role: { current: false, target: true } },
    ];
  }
  if (kind < 0.8) {
    const waits = { activity_status: 'queued', target_status: 'deployed' } as const;
    const error_status = dice.chance(0.5) ? 'retrying' : 'none';
    return [{ draft: draft({ ...waits, error_status }), role: { current: false, target: true } }];
  }
  const current = { draft: draft(on), role: { current: true, target: true } };
  const none = { current: false, target: false };
  const staged = { activity_status: 'staged', target_status: 'staged', queued_at: null, queue_order: null } as const;
  if (kind < 0.9) return [current, { draft: draft({ ...staged, ...next, queue_before: queue.queued }), role: none }];
  // Staged first, but the other came before it.
  const earlier = at(Date.parse(moments.queued) - 1_800_000);
  const drifted = { ...staged, activity_status: 'drifted', created_at: earlier, updated_at: moments.queued } as const;
  return [{ draft: draft(drifted), role: none }, current];
}
