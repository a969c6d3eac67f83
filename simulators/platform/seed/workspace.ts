/**
 * Believable workspace: config types with schemas, releases with commits, a tree of groups, devices with names of a
 * plant, and a history of deployments. Equal for equal seeds, timestamps included. Seeded devices are offline, because
 * nothing is connected.
 */

import { type Random, random } from '../../common/random.ts';
import { type Core, idsFrom } from '../core.ts';
import { insert } from '../domain/find.ts';
import { type DeviceRow, UNPROVISIONED } from '../store/rows.ts';
import { AGENT_VERSIONS, at, DAY, LINES, REGIONS, ROBOTS, SEED_END, seedCatalogue, stampsAt } from './catalogue.ts';
import { seedHistory } from './history.ts';

interface Place {
  site: string;
  groupId: string;
}

/** Devices that share a moment of creation, as after a bulk import. */
const PALLET = 25;
const FIRST = SEED_END - 380 * DAY;

function seedFleet(core: Core, dice: Random, count: number): void {
  const places = seedGroups(core, count);
  core.store.collections.device.load(count, (seq) => device(core, dice, places, seq, count));
}

function seedGroups(core: Core, devices: number): Place[] {
  const add = (name: string, parentId: string | null, time: number): string =>
    insert(core, 'group', { name, parent_id: parentId, ...stampsAt(time) }).id;
  const places: Place[] = [];
  // A few devices do not spread over eighteen sites.
  const sitesEach = Math.max(1, Math.min(6, Math.ceil(devices / 100)));
  for (const [index, region] of REGIONS.entries()) {
    const top = add(region.name, null, FIRST - 10 * DAY + index * 1000);
    for (const site of region.sites.slice(0, sitesEach)) {
      const below = add(site, top, FIRST - 9 * DAY);
      for (const line of LINES) places.push({ site: site.toLowerCase(), groupId: add(line, below, FIRST - 8 * DAY) });
    }
  }
  return places;
}

function device(core: Core, dice: Random, places: readonly Place[], seq: number, count: number): DeviceRow {
  const place = dice.pick(places);
  const pallet = Math.floor((seq - 1) / PALLET);
  const created = FIRST + Math.floor((pallet * PALLET * 370 * DAY) / Math.max(count, PALLET));
  const status = statusFor(seq, dice);
  const provisioned = status !== 'inactive';
  const connected = created + dice.integer(1, 5 * DAY);
  const seen = connected + dice.integer(1, 4 * DAY);
  return {
    seq,
    id: core.newId('device', seq),
    name: `${place.site}-${dice.pick(ROBOTS)}-${String(seq).padStart(4, '0')}`,
    description: dice.chance(0.2) ? `Bay ${dice.integer(1, 60)}` : null,
    status,
    agent_version: provisioned ? dice.pick(AGENT_VERSIONS) : null,
    last_connected_at: provisioned ? at(connected) : null,
    last_disconnected_at: provisioned ? at(seen) : null,
    created_at: at(created),
    updated_at: at(provisioned ? seen : created),
    group_id: dice.chance(0.95) ? place.groupId : null,
    ...UNPROVISIONED,
  };
}

/** Gives even a small workspace devices of each status. */
function statusFor(seq: number, dice: Random): DeviceRow['status'] {
  if (seq <= 24) return seq % 12 === 6 ? 'archived' : seq % 8 === 4 ? 'inactive' : 'offline';
  const draw = dice.next();
  return draw < 0.12 ? 'inactive' : draw < 0.15 ? 'archived' : 'offline';
}

/** Does nothing if the database already holds devices. */
export function seedWorkspace(core: Core, { devices, seed }: { devices: number; seed: string }): void {
  if (core.store.collections.device.size > 0) return;
  const seeded: Core = { ...core, newId: idsFrom(`${seed}/seeded`) };
  const dice = random(seed).fork('workspace');
  core.store.write(() => {
    const catalogue = seedCatalogue(seeded, dice.fork('catalogue'));
    seedFleet(seeded, dice.fork('fleet'), devices);
    seedHistory(seeded, dice.fork('history'), catalogue, devices);
  });
}
