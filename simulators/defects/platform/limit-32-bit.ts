import type { PlatformDefect } from './types.ts';

export const limit32Bit: PlatformDefect = {
  name: 'limit-32-bit',
  side: 'platform',
  summary: 'Keeps limit in 32 bits.',
  breaks: ['platform.list.clamp.huge'],
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => {
      const text = values[0] ?? '';
      return /^-?\d+$/.test(text)
        ? right.clampLimit([String(Number(BigInt.asIntN(32, BigInt(text))))])
        : right.clampLimit(values);
    },
  }),
};
