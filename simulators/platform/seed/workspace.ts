/**
 * A believable workspace: config types with schemas, releases with commits, a tree of groups, devices with names that a
 * plant would give them, and a history of deployments. The same for the same seed, timestamps included. No seeded device
 * is online: nothing is connected.
 */

import { random } from '../../common/random.ts';
import { type Core, idsFrom } from '../core.ts';
import { seedCatalogue } from './catalogue.ts';
import { seedFleet } from './fleet.ts';
import { seedHistory } from './history.ts';

export interface SeedOptions {
  devices: number;
  seed: string;
}

/** Does nothing when the database holds devices already. */
export function seedWorkspace(core: Core, { devices, seed }: SeedOptions): void {
  if (core.store.collections.device.size > 0) return;
  const seeded: Core = { ...core, newId: idsFrom(`${seed}/seeded`) };
  const dice = random(seed).fork('workspace');
  core.store.write(() => {
    const catalogue = seedCatalogue(seeded, dice.fork('catalogue'));
    seedFleet(seeded, dice.fork('fleet'), devices);
    seedHistory(seeded, dice.fork('history'), catalogue, devices);
  });
}
