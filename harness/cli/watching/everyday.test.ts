import { expect, it } from 'vitest';
import { PLATFORM_VERSIONS } from '../../contract/versions.ts';
import type { Traffic } from '../../watch/traffic.ts';
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

const LISTS = [{ job: 'list', collection: 'devices' }] as const;
const CALLS = [...LISTS, { job: 'list', collection: 'deployments' }, { job: 'ping', pingNanos: '1000000000' }] as const;

it('a watch of a correct device and a correct client finds nothing and decides rules of both sides', async () => {
  const watched = await watchedDevice({ faults: BROKEN_LINK, day: dayUntil((seen) => streams(seen) > 5) });
  expect(watched.found).toEqual([]);
  expect(watched.judge.seen.lost).toEqual({});
  expect(watched.decided).toEqual(
    expect.arrayContaining([
      ...['device.events.frame.everywhere', 'device.events.monotonic.everywhere'],
      ...['device.events.replay.complete.everywhere', 'device.events.content-type.watched'],
      ...['client.delivery.cursor.watched', 'client.loopback.socket.watched'],
    ]),
  );
});

it('a watch of a correct device and a correct client finds nothing when the client’s cursor expires', async () => {
  const isGone = (each: Traffic): boolean => each.kind === 'response' && each.status === 410;
  const watched = await watchedDevice({
    ...{ faults: BROKEN_LINK, retain: 2 },
    day: dayUntil(({ traffic }) => traffic.findIndex(isGone) !== -1 && traffic.at(-1)?.kind === 'frame'),
  });
  expect(watched.found).toEqual([]);
});

it.each([
  ['deployment-ids-bare', 'device.deployment.shape.everywhere'],
  ['frame-without-event', 'device.events.frame.everywhere'],
  ['type-with-version', 'device.events.type-form.everywhere'],
  ['batch-reversed', 'device.events.monotonic.everywhere'],
  ['ids-shared-by-two', 'device.events.replay.complete.everywhere'],
  ['events-as-json', 'device.events.content-type.watched'],
  ['replay-inclusive', 'device.events.replay.exclusive.watched'],
])('a watch of a device finds %s', async (defect, id) => {
  const watched = await watchedDevice({ defect, faults: BROKEN_LINK, day: untilFound(id) });
  expect(watched.found.filter((each) => each.startsWith('client.'))).toEqual([]);
});

it.each([
  ['cursor-off-by-one', 'client.delivery.cursor.watched'],
  ['accepts-json', 'client.request.accept.watched'],
  ['token-on-socket', 'client.loopback.socket.watched'],
])('a watch of a following client finds %s', async (clientDefect, id) => {
  const watched = await watchedDevice({ clientDefect, faults: BROKEN_LINK, day: untilFound(id) });
  expect(watched.found.filter((each) => !each.startsWith('client.delivery.'))).toEqual(
    id.startsWith('client.delivery.') ? [] : [id],
  );
});

it('a watch of a correct platform and a correct client finds nothing and decides rules of both', async () => {
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

it.each([
  ['envelope-limit-text', 'platform.list.envelope.everywhere'],
  ['timestamps-in-seconds', 'platform.timestamps.everywhere'],
  ['page-too-long', 'platform.list.page-size.everywhere'],
  ['limit-off-by-one', 'platform.list.in-range.everywhere'],
  ['total-count-unasked', 'platform.list.total-count.everywhere'],
])('a watch of a platform finds %s', async (defect, id) => {
  const watched = await watchedPlatform({ defect, jobs: [...CALLS, { ...LISTS[0], limit: '40' }] });
  expect(watched.found).toContain(id);
  expect(watched.found.filter((each) => each.startsWith('client.'))).toEqual([]);
});

it.each([
  ['ping-round-trip-missing', ['platform.ping.success.watched']],
  ['ping-round-trip-too-long', ['platform.ping.success.watched']],
  [undefined, []],
])('a watch of a platform with answered pings finds only %s', async (defect, found) => {
  const day = { jobs: CALLS.slice(-1), online: true };
  const watched = await watchedPlatform(defect === undefined ? day : { ...day, defect });
  expect(watched.found).toEqual(found);
  expect(watched.decided).toContain('platform.ping.success.watched');
});

it.each([
  ['default-limit-20', 'platform.list.defaults.watched'],
  ['default-offset-1', 'platform.list.defaults.watched'],
  ['limit-unbounded', 'platform.list.clamp.high.watched'],
  ['limit-low-negative', 'platform.list.clamp.low.watched'],
  ['limit-low-to-default', 'platform.list.clamp.nearest.watched'],
  ['offset-negative-mirrored', 'platform.list.clamp.offset.watched'],
])('a watch of a platform with requests typed by hand finds %s', async (defect, id) => {
  const { found } = await watchedPlatform({ defect, asks: BY_HAND });
  expect(found).toContain(id);
});

it.each([
  ['end-of-life-served', '2025-10-21.zion', 'platform.version.end-of-life.watched'],
  ['version-malformed-served', '0.11.0', 'platform.version.malformed.watched'],
  ['version-unknown-served', '2026-05-06.nowhere', 'platform.version.unknown.watched'],
  ['removing-in-tetons', '2026-03-09.tetons', 'platform.deployment.removing.watched'],
  ['archived-in-rainier', '2026-05-06.rainier', 'platform.device.archived.watched'],
])(
  'a watch of a platform with requests typed by hand finds %s where clients use version %s',
  async (defect, version, id) => {
    const asks = [...BY_HAND, ...DEPLOYMENTS];
    const server = ({ found }: { found: string[] }): string[] => found.filter((each) => each.startsWith('platform.'));
    expect(server(await watchedPlatform({ defect, version, asks }))).toEqual([id]);
    expect(server(await watchedPlatform({ version, asks }))).toEqual([]);
  },
);

it('a watch of a platform with requests typed by hand finds nothing without a defect in any version', async () => {
  const odd = ['/devices?limit=abc', '/devices?limit=5&limit=7', '/devices?offset=999'];
  const asks = [...BY_HAND, ...DEPLOYMENTS, ...odd];
  for (const version of [...PLATFORM_VERSIONS, '2031-01-02.yosemite']) {
    const { found } = await watchedPlatform({ version, asks });
    expect(found, version).toEqual([]);
  }
});

it.each([
  ['ping-20s', 'client.ping.timeout.watched'],
  ['version-number', 'client.version.ping.watched'],
  ['pages-by-number', 'client.pages.next.watched'],
  ['always-counts', 'client.pages.total-count.watched'],
])('a watch of a calling client finds %s', async (clientDefect, id) => {
  const watched = await watchedPlatform({ clientDefect, jobs: CALLS });
  expect(watched.found).toContain(id);
  expect(watched.found.filter((each) => !each.startsWith('client.'))).toEqual([]);
});

it('a watch of a calling client finds an offset that skips items after a smaller page', async () => {
  const jobs = [{ job: 'list', collection: 'devices', limit: '150' }] as const;
  const watched = await watchedPlatform({ clientDefect: 'own-limit', jobs });
  expect(watched.found).toEqual(['client.pages.clamped.watched']);
});
