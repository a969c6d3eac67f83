import type { PlatformVariant } from './types.ts';

export const timestampsWithOffset: PlatformVariant = {
  name: 'timestamps-with-offset',
  side: 'platform',
  summary: 'Gives moments with an offset and microseconds.',
  behaviour: (right) => ({
    ...right,
    resource: (_kind, resource) =>
      Object.fromEntries(
        Object.entries(resource).map(([name, value]) => [
          name,
          name.endsWith('_at') && typeof value === 'string' ? withOffset(value) : value,
        ]),
      ),
  }),
};

/** The same moment two hours further east. */
const withOffset = (text: string): string =>
  new Date(Date.parse(text) + 2 * 3_600_000).toISOString().replace('Z', '000+02:00');
