import type { DeviceVariant } from './types.ts';

/** The same moment, as a clock two hours to the east shows it. */
const withOffset = (time: string): string =>
  new Date(Date.parse(time) + 2 * 60 * 60 * 1_000).toISOString().replace('Z', '000123+02:00');

export const timesWithOffset: DeviceVariant = {
  name: 'times-with-offset',
  side: 'device',
  summary: 'Writes times with nanoseconds and an offset.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      deploymentBody: (deployment) => ({ ...deployment, created_at: withOffset(deployment.created_at) }),
    },
    deployments: {
      ...right.deployments,
      occurredAt: withOffset,
      event: ({ type, data }) => ({
        type,
        data: Object.fromEntries(
          Object.entries(data).map(([name, value]) => [name, name.endsWith('_at') ? withOffset(String(value)) : value]),
        ),
      }),
    },
  }),
};
