import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { PlatformError } from '../../platform/ports.ts';
import { clampInteger } from '../../platform/reference.ts';
import { defect, variant } from '../define-platform.ts';

const CLAMP_OFFSET = ['platform.list.clamp.offset'];
const CLAMP_HIGH = ['platform.list.clamp.high'];
const DEFAULTS = ['platform.list.defaults'];

/** A page is put together without a pause, so that the offset last asked for is its own. */
function hasMoreOfRawOffset({ clampOffset, hasMore }: PlatformBehaviour): Partial<PlatformBehaviour> {
  let asked = 0;
  return {
    clampOffset: (values) => {
      asked = Number(values[0] ?? 0);
      return clampOffset(values);
    },
    hasMore: (window) => (asked < 0 ? asked + window.limit < window.total() : hasMore(window)),
  };
}

function negativeFromTheEnd({ clampOffset, page }: PlatformBehaviour): Partial<PlatformBehaviour> {
  let negative = 0;
  return {
    clampOffset: (values) => {
      negative = /^-\d+$/.test(values[0] ?? '') ? Math.max(-1000, Number(values[0])) : 0;
      return clampOffset(values);
    },
    page: (window, at) => (negative < 0 ? at(Math.max(0, window.total() + negative), window.limit) : page(window, at)),
  };
}

/** Likewise, the limit last asked for is that of the page. */
function moreThanEchoed({ clampLimit, page }: PlatformBehaviour): Partial<PlatformBehaviour> {
  let asked = 0;
  return {
    clampLimit: (values) => {
      asked = Number(values[0] ?? 0);
      return clampLimit(values);
    },
    page: (window, at) => (asked > 100 ? at(window.offset, 150) : page(window, at)),
  };
}

export const defects = [
  defect(
    'has-more-of-raw-offset',
    'Computes has_more from the offset that was asked for, however negative.',
    CLAMP_OFFSET,
    hasMoreOfRawOffset,
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
    negativeFromTheEnd,
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
  defect('limit-clamped-in-echo-only', 'Echoes 100 for a limit above it and gives more.', CLAMP_HIGH, moreThanEchoed),
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
];

export const variants = [
  variant('limit-low-to-0', 'Clamps a limit below 1 to 0.', {
    clampLimit: (values) => clampInteger(values, { low: 0, high: 100, otherwise: 10 }),
  }),
];
