/** Defects of clients that a watch finds only after a long time. */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../simulators/common/testing/scratch.ts';
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

describe('a watch of a following client', { timeout: 120_000 }, () => {
  it.each([
    ['no-cursor', 'client.delivery.cursor.watched'],
    ['cursor-misnamed', 'client.delivery.cursor.watched'],
    ['cursor-at-id-line', 'client.delivery.torn.watched'],
  ])('finds %s', async (clientDefect, id) => {
    const watched = await watchedDevice({ clientDefect, faults: BROKEN_LINK, day: untilFound(id) });
    expect(watched.found.filter((each) => !each.startsWith('client.delivery.'))).toEqual([]);
  });

  it('finds dead-cursor when its cursor has expired', async () => {
    const id = 'client.expired.goes-on.watched';
    const watched = await watchedDevice({
      ...{ clientDefect: 'dead-cursor', faults: BROKEN_LINK, retain: 2 },
      day: untilFound(id),
    });
    expect(watched.found).toEqual([id]);
  });

  it.each([
    ['hammers', ['client.back-off.hammering.watched']],
    [undefined, []],
  ])('finds only the defect %s where every request is cut off', async (clientDefect, found) => {
    const watched = await watchedDevice({
      ...(clientDefect === undefined ? {} : { clientDefect }),
      async day(device, seen) {
        await device.publish(1);
        await device.stop();
        const server = createServer((socket) => socket.once('data', () => socket.destroy())).listen(seen.real);
        const asked = (): number => seen.traffic.filter(({ kind }) => kind === 'asked').length;
        await eventually(() => expect(asked()).toBeGreaterThan(clientDefect === undefined ? 3 : 60));
        server.close();
      },
    });
    expect(watched.found).toEqual(found);
  });
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
