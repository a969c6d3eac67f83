/** What is found in everyday traffic, by nothing but watching it. */
import { describe, expect, it } from 'vitest';
import type { Traffic } from '../../watch/traffic.ts';
import { BROKEN_LINK, dayUntil, streams, untilFound, watchedDevice, watchedPlatform } from '../testing/watched.ts';

const LISTS = [{ job: 'list', collection: 'devices' }] as const;
const CALLS = [...LISTS, { job: 'list', collection: 'deployments' }, { job: 'ping', pingNanos: '1000000000' }] as const;

describe('between a correct device and a correct client', () => {
  it('nothing is found, and most is decided', async () => {
    const watched = await watchedDevice({ faults: BROKEN_LINK, day: dayUntil((seen) => streams(seen) > 5) });
    expect(watched.found).toEqual([]);
    expect(watched.judge.seen.lost).toEqual({});
    expect(watched.decided).toEqual(
      expect.arrayContaining([
        ...['device.events.frame.everywhere', 'device.events.monotonic.everywhere'],
        ...['device.events.replay.complete.everywhere', 'client.delivery.cursor.watched'],
        'client.loopback.socket.watched',
      ]),
    );
  });

  it('nothing is found where the cursor of the client expires', async () => {
    const isGone = (each: Traffic): boolean => each.kind === 'response' && each.status === 410;
    const watched = await watchedDevice({
      ...{ faults: BROKEN_LINK, retain: 2 },
      day: dayUntil(({ traffic }) => traffic.findIndex(isGone) !== -1 && traffic.at(-1)?.kind === 'frame'),
    });
    expect(watched.found).toEqual([]);
  });
});

describe('of a device', () => {
  it.each([
    ['deployment-ids-bare', 'device.deployment.shape.everywhere'],
    ['frame-without-event', 'device.events.frame.everywhere'],
    ['frame-id-prefixed', 'device.events.frame.everywhere'],
    ['type-with-version', 'device.events.type-form.everywhere'],
    ['batch-reversed', 'device.events.monotonic.everywhere'],
    ['ids-shared-by-two', 'device.events.replay.complete.everywhere'],
  ])('%s is found', async (defect, id) => {
    const watched = await watchedDevice({ defect, faults: BROKEN_LINK, day: untilFound(id) });
    expect(watched.found.filter((each) => each.startsWith('client.'))).toEqual([]);
  });
});

describe('of a client that follows', () => {
  it.each([
    ['cursor-off-by-one', 'client.delivery.cursor.watched'],
    ['accepts-json', 'client.request.accept.watched'],
    ['token-on-socket', 'client.loopback.socket.watched'],
  ])('%s is found', async (clientDefect, id) => {
    const watched = await watchedDevice({ clientDefect, faults: BROKEN_LINK, day: untilFound(id) });
    expect(watched.found.filter((each) => !each.startsWith('client.delivery.'))).toEqual(
      id.startsWith('client.delivery.') ? [] : [id],
    );
  });
});

describe('between a correct platform and a correct client', () => {
  it('nothing is found, and most is decided', async () => {
    const watched = await watchedPlatform({ jobs: [...CALLS, ...CALLS] });
    expect(watched.found).toEqual([]);
    expect(watched.judge.seen.lost).toEqual({});
    expect(watched.decided).toEqual(
      expect.arrayContaining([
        ...['platform.list.envelope.everywhere', 'platform.list.in-range.everywhere', 'client.key.sent.watched'],
        ...['client.pages.next.watched', 'client.ping.body.watched', 'client.version.sent.watched'],
      ]),
    );
  });
});

describe('of a platform', () => {
  it.each([
    ['envelope-limit-text', 'platform.list.envelope.everywhere'],
    ['items-without-object', 'platform.list.envelope.everywhere'],
    ['timestamps-in-seconds', 'platform.timestamps.everywhere'],
    ['page-too-long', 'platform.list.page-size.everywhere'],
    ['limit-off-by-one', 'platform.list.in-range.everywhere'],
    ['total-count-unasked', 'platform.list.total-count.everywhere'],
  ])('%s is found', async (defect, id) => {
    const watched = await watchedPlatform({ defect, jobs: [...CALLS, { ...LISTS[0], limit: '40' }] });
    expect(watched.found).toContain(id);
    expect(watched.found.filter((each) => each.startsWith('client.'))).toEqual([]);
  });
});

describe('of a client that calls', () => {
  it.each([
    ['ping-as-form', 'client.ping.body.watched'],
    ['ping-20s', 'client.ping.timeout.watched'],
    ['key-in-address', 'client.key.address.watched'],
    ['no-key', 'client.key.sent.watched'],
    ['key-once', 'client.key.sent.watched'],
    ['version-number', 'client.version.ping.watched'],
    ['pages-by-number', 'client.pages.next.watched'],
    ['one-item-less', 'client.pages.next.watched'],
    ['always-counts', 'client.pages.total-count.watched'],
  ])('%s is found', async (clientDefect, id) => {
    const watched = await watchedPlatform({ clientDefect, jobs: CALLS });
    expect(watched.found).toContain(id);
    expect(watched.found.filter((each) => !each.startsWith('client.'))).toEqual([]);
  });

  it('an offset that leaves out what a smaller page did not hold is found', async () => {
    const jobs = [{ job: 'list', collection: 'devices', limit: '150' }] as const;
    const watched = await watchedPlatform({ clientDefect: 'own-limit', jobs });
    expect(watched.found).toEqual(['client.pages.clamped.watched']);
  });
});
