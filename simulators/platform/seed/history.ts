/** Past deployments of seeded devices and the state of the newest. The records of one device agree with each other. */
import type { Random } from '../../common/random.ts';
import type { Core } from '../core.ts';
import type { DeviceRow } from '../store/rows.ts';
import type { SeededRelease } from './catalogue.ts';
import { type Draft, endingFor, type Part, present } from './endings.ts';
import { at, DAY, NOTES } from './vocabulary.ts';

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
