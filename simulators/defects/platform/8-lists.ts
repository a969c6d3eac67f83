import { instantOf } from '../../../harness/contract/shape.ts';
import { PlatformError } from '../../platform/ports.ts';
import { clampInteger } from '../../platform/reference.ts';
import { answers, defect, type PlatformChange, resources, variant } from '../define-platform.ts';

const withOffset = (text: string): string =>
  new Date(instantOf(text) + 2 * 3_600_000).toISOString().replace('Z', '000+02:00');
const timesAs = (write: (time: string) => string): PlatformChange => ({
  resource: (_kind, resource) =>
    Object.fromEntries(
      Object.entries(resource).map(([name, value]) => [
        name,
        name.endsWith('_at') && typeof value === 'string' ? write(value) : value,
      ]),
    ),
});

const CLAMP_OFFSET = ['platform.list.clamp.offset'];
const CLAMP_HIGH = ['platform.list.clamp.high'];
const DEFAULTS = ['platform.list.defaults'];
const CLAMP_HUGE = ['platform.list.clamp.huge'];
const CLAMP_NONSENSE = ['platform.list.clamp.nonsense'];
const HAS_MORE = ['platform.list.has-more'];
const TOTAL_COUNT = ['platform.list.total-count'];
const IN_RANGE = ['platform.list.in-range'];
const PAST_END = ['platform.list.past-end'];

function integers(values: readonly string[]): readonly string[] {
  if (values.every((value) => /^-?\d+$/.test(value))) return values;
  throw new PlatformError(400, 'invalid_parameter', 'limit and offset are integers');
}

const leading = (values: readonly string[]): string[] => /^\s*\+?(-?\d+)/.exec(values.at(-1) ?? '')?.slice(1) ?? [];

export const defects = [
  defect(
    'releases-without-envelope',
    'Answers the list of releases with its items alone.',
    ['platform.list.envelope'],
    answers('listReleases', (body, status) => (status === 200 ? body['data'] : body)),
  ),
  defect('objects-in-plural', 'Names the collection in object, not the type.', ['platform.list.items'], {
    resource: (_kind, resource) => ({ ...resource, object: `${resource['object']}s` }),
  }),
  defect(
    'items-of-another-type',
    'Names the type of a device by its status.',
    ['platform.list.items'],
    resources('device', (device) => ({ ...device, object: `${device['status']}_device` })),
  ),
  defect('envelope-items', 'Gives the items of every list as items, not as data.', ['platform.list.envelope.any'], {
    envelope: ({ data, ...envelope }) => ({ ...envelope, items: data }),
  }),
  defect('envelope-object', 'Names its lists `page`.', ['platform.list.envelope'], {
    envelope: (envelope) => ({ ...envelope, object: 'page' }),
  }),
  defect('envelope-limit-text', 'Echoes limit as text.', ['platform.list.envelope'], {
    envelope: (envelope) => ({ ...envelope, limit: String(envelope['limit']) }),
  }),
  defect('items-without-object', 'Lists items without their object field.', ['platform.list.envelope'], {
    resource: (_kind, { object: _object, ...resource }) => resource,
  }),
  defect(
    'items-null',
    'Gives null as the first item of every page of git commits.',
    ['platform.list.envelope'],
    answers('listGitCommits', (body, status) =>
      status === 200
        ? { ...body, data: (body['data'] as unknown[]).map((item, place) => (place === 0 ? null : item)) }
        : body,
    ),
  ),
  defect('timestamps-in-seconds', 'Gives moments as seconds since the epoch.', ['platform.timestamps'], {
    resource: (kind, resource) =>
      kind === 'deployment'
        ? resource
        : { ...resource, created_at: Math.floor(Date.parse(String(resource['created_at'])) / 1000) },
  }),
  defect('timestamps-without-t', 'Separates date and time by a space.', ['platform.timestamps'], {
    resource: (_kind, resource) => ({ ...resource, created_at: String(resource['created_at']).replace('T', ' ') }),
  }),
  defect('timestamps-without-zone', 'Gives moments without a zone.', ['platform.timestamps'], {
    resource: (_kind, resource) => ({ ...resource, created_at: String(resource['created_at']).replace(/Z$/, '') }),
  }),
  defect(
    'has-more-of-raw-offset',
    'Computes has_more from the offset that was asked for, however negative.',
    CLAMP_OFFSET,
    // Keeps the offset in one variable, because no other request can come between `clampOffset` and `hasMore`.
    ({ clampOffset, hasMore }) => {
      let asked = 0;
      return {
        clampOffset: (values) => {
          asked = Number(values[0] ?? 0);
          return clampOffset(values);
        },
        hasMore: (window) => (asked < 0 ? asked + window.limit < window.total() : hasMore(window)),
      };
    },
  ),
  defect('offset-negative-refused', 'Refuses a negative offset.', CLAMP_OFFSET, ({ clampOffset }) => ({
    clampOffset: (values) => {
      if (/^-\d*[1-9]/.test(values[0] ?? '')) throw new PlatformError(400, 'invalid_offset', 'offset is negative');
      return clampOffset(values);
    },
  })),
  defect('offset-negative-mirrored', 'Treats a negative offset as positive.', CLAMP_OFFSET, {
    clampOffset: (values) =>
      Math.abs(clampInteger(values, { low: -1000, high: Number.MAX_SAFE_INTEGER, otherwise: 0 })),
  }),
  defect(
    'offset-negative-from-the-end',
    'Counts a negative offset from the end, and echoes 0.',
    CLAMP_OFFSET,
    ({ clampOffset, page }) => {
      let negative = 0;
      return {
        clampOffset: (values) => {
          negative = /^-\d+$/.test(values[0] ?? '') ? Math.max(-1000, Number(values[0])) : 0;
          return clampOffset(values);
        },
        page: (window, at) =>
          negative < 0 ? at(Math.max(0, window.total() + negative), window.limit) : page(window, at),
      };
    },
  ),
  defect('default-limit-20', 'Gives pages of 20 by default.', DEFAULTS, ({ clampLimit }) => ({
    clampLimit: (values) => (values.length === 0 ? 20 : clampLimit(values)),
  })),
  defect('default-offset-1', 'Begins with the second item by default.', DEFAULTS, ({ clampOffset }) => ({
    clampOffset: (values) => (values.length === 0 ? 1 : clampOffset(values)),
  })),
  defect('limit-unbounded', 'Accepts any limit.', CLAMP_HIGH, {
    clampLimit: (values) => clampInteger(values, { low: 1, high: 1_000_000, otherwise: 10 }),
  }),
  defect(
    'limit-clamped-in-echo-only',
    'Echoes 100 for a limit above it and gives more.',
    CLAMP_HIGH,
    // Keeps the limit in one variable, because no other request can come between `clampLimit` and `page`.
    ({ clampLimit, page }) => {
      let asked = 0;
      return {
        clampLimit: (values) => {
          asked = Number(values[0] ?? 0);
          return clampLimit(values);
        },
        page: (window, at) => (asked > 100 ? at(window.offset, 150) : page(window, at)),
      };
    },
  ),
  defect(
    'limit-high-refused',
    'Refuses a limit above 100.',
    ['platform.list.clamp.high', 'platform.list.clamp.huge'],
    ({ clampLimit }) => ({
      clampLimit: (values) => {
        if (/^\d+$/.test(values[0] ?? '') && Number(values[0]) > 100)
          throw new PlatformError(400, 'invalid_limit', 'limit is above 100');
        return clampLimit(values);
      },
    }),
  ),
  defect('limit-high-to-default', 'Replaces a limit above 100 with the default.', CLAMP_HIGH, ({ clampLimit }) => ({
    clampLimit: (values) => (Number(values[0]) > 100 ? 10 : clampLimit(values)),
  })),
  defect('limit-low-refused', 'Refuses a limit below 1.', ['platform.list.clamp.low'], ({ clampLimit }) => ({
    clampLimit: (values) => {
      if (/^-?\d+$/.test(values[0] ?? '') && Number(values[0]) < 1)
        throw new PlatformError(400, 'invalid_limit', 'limit is below 1');
      return clampLimit(values);
    },
  })),
  defect('limit-low-negative', 'Echoes a negative limit.', ['platform.list.clamp.low'], {
    clampLimit: (values) => clampInteger(values, { low: -1, high: 100, otherwise: 10 }),
  }),
  defect(
    'limit-low-to-default',
    'Replaces a limit below 1 with the default.',
    ['platform.list.clamp.nearest'],
    ({ clampLimit }) => ({
      clampLimit: (values) => (Number(values[0]) < 1 && values[0]?.trim() !== '' ? 10 : clampLimit(values)),
    }),
  ),
  defect('limit-32-bit', 'Keeps limit in 32 bits.', CLAMP_HUGE, ({ clampLimit }) => ({
    clampLimit: (values) => {
      const text = values[0] ?? '';
      return /^-?\d+$/.test(text) ? clampLimit([String(Number(BigInt.asIntN(32, BigInt(text))))]) : clampLimit(values);
    },
  })),
  defect('offset-huge-fails', 'Fails on an offset that needs more than 64 bits.', CLAMP_HUGE, ({ clampOffset }) => ({
    clampOffset: (values) => {
      if (/^-?\d{20,}$/.test(values[0] ?? '')) throw new RangeError('offset does not fit');
      return clampOffset(values);
    },
  })),
  defect('nonsense-fails', 'Fails on a limit that is not an integer.', CLAMP_NONSENSE, ({ clampLimit }) => ({
    clampLimit: (values) => {
      if (values.length > 0 && !/^-?\d+$/.test(values[0] ?? '')) throw new TypeError('limit is no integer');
      return clampLimit(values);
    },
  })),
  defect('nonsense-echoed', 'Echoes a fraction or a power as limit.', CLAMP_NONSENSE, ({ clampLimit }) => ({
    clampLimit: (values) => {
      const value = Number(values[0]);
      return values.length === 0 || Number.isInteger(value) || !Number.isFinite(value) ? clampLimit(values) : value;
    },
  })),
  defect('limit-off-by-one', 'Lowers a limit in range by one.', ['platform.list.in-range'], ({ clampLimit }) => ({
    clampLimit: (values) => Math.max(1, clampLimit(values) - (values.length > 0 && clampLimit(values) < 100 ? 1 : 0)),
  })),
  defect('page-too-long', 'Gives one item more than limit.', ['platform.list.page-size'], {
    page: ({ limit, offset }, at) => at(offset, limit + 1),
  }),
  defect('has-more-on-full-page', 'Sets has_more whenever a page is full, even on the last one.', HAS_MORE, {
    hasMore: ({ limit, returned }) => returned === limit,
  }),
  defect('has-more-never', 'Always answers has_more false.', HAS_MORE, { hasMore: () => false }),
  defect('has-more-forgets-offset', 'Compares limit with the number of all items, whatever the offset.', PAST_END, {
    hasMore: ({ limit, total }) => limit < total(),
  }),
  defect('total-count-with-any-expansion', 'Counts whenever anything is expanded.', TOTAL_COUNT, ({ totalCount }) => ({
    totalCount: (window) => (window.expanding ? window.total() : totalCount(window)),
  })),
  defect('total-count-unasked', 'Gives total_count even when nobody asked for it.', TOTAL_COUNT, {
    totalCount: ({ total }) => total(),
  }),
  defect('total-count-of-the-rest', 'Counts from the offset on.', TOTAL_COUNT, {
    totalCount: ({ asked, offset, total }) => (asked ? Math.max(0, total() - offset) : undefined),
  }),
  defect('total-count-absent', 'Omits total_count although it was asked for.', TOTAL_COUNT, {
    totalCount: () => undefined,
  }),
  defect('pages-skip-with-limit-33', 'Skips an item between two pages of 33.', ['platform.list.walk-once'], {
    page: ({ limit, offset }, at) => at(limit === 33 && offset > 0 ? offset + 1 : offset, limit),
  }),
  defect('pages-overlap', 'Begins every page but the first with the last item of the one before.', IN_RANGE, {
    page: ({ limit, offset }, at) => at(Math.max(0, offset - 1), limit),
  }),
  defect('pages-skip', 'Leaves out an item between two pages.', IN_RANGE, {
    page: ({ limit, offset }, at) => at(offset === 0 ? 0 : offset + 1, limit),
  }),
  defect('offset-in-pages', 'Treats offset as a number of pages.', IN_RANGE, {
    page: ({ limit, offset }, at) => at(offset * limit, limit),
  }),
  defect('offset-ignored', 'Always gives the first page.', IN_RANGE, { page: ({ limit }, at) => at(0, limit) }),
  defect(
    'order-unstable',
    'Orders items of one moment differently every time.',
    ['platform.list.stable'],
    ({ page }) => {
      let times = 0;
      return {
        page: (window, at) => {
          times += 1;
          const rows = page(window, at);
          return times % 2 === 0 ? rows.toReversed() : rows;
        },
      };
    },
  ),
  defect('beyond-end-last-page', 'Gives the last page for an offset past the end.', PAST_END, {
    page: ({ limit, offset, total }, at) => at(offset < total() ? offset : Math.max(0, total() - limit), limit),
  }),
  defect('beyond-end-refused', 'Answers 404 to an offset past the end.', PAST_END, ({ page }) => ({
    page: (window, at) => {
      if (window.offset > window.total()) throw new PlatformError(404, 'no_such_page', 'there is no such page');
      return page(window, at);
    },
  })),
  defect(
    'created-unlisted',
    'Lists nothing that is younger than a minute.',
    ['platform.list.page-size', 'platform.list.created'],
    {
      envelope: (envelope) => ({
        ...envelope,
        data: (envelope['data'] as { created_at?: string }[]).filter(
          (item) => !(Date.now() - Date.parse(item.created_at ?? '') < 60_000),
        ),
      }),
    },
  ),
];

export const variants = [
  variant('fields-beyond-the-published', 'Adds unpublished fields to lists and resources.', {
    envelope: (envelope) => ({ ...envelope, next_offset: Number(envelope['offset']) + Number(envelope['limit']) }),
    resource: (_kind, resource) => ({ ...resource, labels: { region: 'eu' }, revision: 3 }),
  }),
  variant('timestamps-with-offset', 'Gives moments with an offset and microseconds.', timesAs(withOffset)),
  variant(
    'times-with-comma',
    'Gives moments with a decimal comma and an offset of hours.',
    timesAs((time) => withOffset(time).replace('.', ',').replace(/:00$/, '')),
  ),
  variant('nulls-omitted', 'Omits fields that are null.', {
    resource: (_kind, resource) => Object.fromEntries(Object.entries(resource).filter(([, value]) => value !== null)),
  }),
  variant('limit-low-to-0', 'Clamps a limit below 1 to 0.', {
    clampLimit: (values) => clampInteger(values, { low: 0, high: 100, otherwise: 10 }),
  }),
  variant('nonsense-refused', 'Refuses a limit or offset that is not an integer.', ({ clampLimit, clampOffset }) => ({
    clampLimit: (values) => clampLimit(integers(values)),
    clampOffset: (values) => clampOffset(integers(values)),
  })),
  variant(
    'nonsense-read-leniently',
    'Reads the integer that a limit or offset begins with, and the last of several.',
    ({ clampLimit, clampOffset }) => ({
      clampLimit: (values) => clampLimit(leading(values)),
      clampOffset: (values) => clampOffset(leading(values)),
    }),
  ),
  variant('oldest-first', 'Lists the oldest items first by default.', ({ order }) => ({
    order: (asked) => order(asked.length > 0 ? asked : [{ field: 'created_at', descending: false }]),
  })),
  variant('by-id', 'Lists items by id by default.', ({ order }) => ({
    order: (asked) => order(asked.length > 0 ? asked : [{ field: 'id', descending: false }]),
  })),
  variant(
    'order-depends-on-limit',
    'Begins a list at another item for every limit unless order_by is given, as section 8 walks with the same one.',
    ({ order }) => {
      let isOrdered = false;
      return {
        order: (asked) => {
          isOrdered = asked.length > 0;
          // Resets the flag once this turn has answered the list, because `page` also runs without a call of `order`.
          queueMicrotask(() => (isOrdered = false));
          return order(asked);
        },
        page: ({ limit, offset, total }, at) => {
          const rotation = isOrdered ? 0 : limit % Math.max(1, total());
          const all = at(0, total());
          return [...all.slice(rotation), ...all.slice(0, rotation)].slice(offset, offset + limit);
        },
      };
    },
  ),
  variant(
    'past-end-clamped',
    'Clamps an offset past the end to the last item, and says so: section 8 names no largest offset.',
    ({ page, envelope }) => {
      let effective: number | undefined;
      return {
        page: (window, at) => {
          const last = Math.max(0, window.total() - 1);
          effective = window.offset > last ? last : undefined;
          return page({ ...window, offset: effective ?? window.offset }, at);
        },
        envelope: (given) => {
          const shown = envelope?.(given) ?? given;
          return effective === undefined ? shown : { ...shown, offset: effective };
        },
      };
    },
  ),
];
