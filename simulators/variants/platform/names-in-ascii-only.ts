import type { PlatformVariant } from './types.ts';

export const namesInAsciiOnly: PlatformVariant = {
  name: 'names-in-ascii-only',
  side: 'platform',
  summary: 'Refuses a name that is not all ASCII.',
  behaviour: (right) => ({
    ...right,
    bodyProblems: (operation, value, check) => {
      const { name = '' } = (value ?? {}) as { name?: unknown };
      return /^[\x20-\x7e]*$/.test(String(name))
        ? right.bodyProblems(operation, value, check)
        : [{ path: '/name', message: 'must be ASCII' }];
    },
  }),
};
