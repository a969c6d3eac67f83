/** Defects of clients that a watch finds only after a long time. */
import { describe, expect, it } from 'vitest';
import { deviceVariants } from '../../../simulators/defects/device/index.ts';
import { platformVariants } from '../../../simulators/defects/platform/index.ts';
import {
  BROKEN_LINK,
  BY_HAND,
  DEPLOYMENTS,
  dayUntil,
  streams,
  untilFound,
  watchedDevice,
  watchedPlatform,
} from '../testing/watched.ts';

it('a watch finds dead-cursor when the cursor of the client has expired', { timeout: 120_000 }, async () => {
  const id = 'client.expired.goes-on.watched';
  const rare = { clientDefect: 'dead-cursor', faults: BROKEN_LINK, retain: 2 };
  expect((await watchedDevice({ ...rare, day: untilFound(id) })).found).toEqual([id]);
});

describe('a watch finds nothing in a legal choice', { timeout: 120_000 }, () => {
  /** Leaves out slow variants, whose answers are those of the reference. */
  const namesOf = (variants: readonly { name: string; file: string }[]): string[] =>
    variants.filter(({ file }) => !file.includes('slowness')).map(({ name }) => name);

  it.each(namesOf(platformVariants))('of a platform: %s', async (defect) => {
    const asks = [...BY_HAND, ...DEPLOYMENTS, '/devices?limit=abc', '/devices?offset=999'];
    const { found } = await watchedPlatform({ defect, asks, jobs: [{ job: 'list', collection: 'devices' }] });
    expect(found).toEqual([]);
  });

  it.each(namesOf(deviceVariants))('of a device: %s', async (defect) => {
    const { found } = await watchedDevice({ defect, faults: BROKEN_LINK, day: dayUntil((seen) => streams(seen) > 3) });
    expect(found).toEqual([]);
  });
});
