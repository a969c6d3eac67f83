import { PlatformError } from '../../platform/ports.ts';
import { defect, variant } from '../define-platform.ts';

const CLAMP_HUGE = ['platform.list.clamp.huge'];
const CLAMP_NONSENSE = ['platform.list.clamp.nonsense'];

function integers(values: readonly string[]): readonly string[] {
  if (values.every((value) => /^-?\d+$/.test(value))) return values;
  throw new PlatformError(400, 'invalid_parameter', 'limit and offset are integers');
}

const leading = (values: readonly string[]): string[] => /^\s*\+?(-?\d+)/.exec(values.at(-1) ?? '')?.slice(1) ?? [];

export const defects = [
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
];

export const variants = [
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
];
