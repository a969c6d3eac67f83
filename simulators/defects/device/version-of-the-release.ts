import type { DeviceDefect } from './types.ts';

export const versionOfTheRelease: DeviceDefect = {
  name: 'version-of-the-release',
  side: 'device',
  summary: 'Serves below /v0.2.2, the release, in place of /v0.2, the interface.',
  breaks: ['device.version.prefix'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, route: (path) => (path.startsWith('/v0.2.2/') ? path.slice('/v0.2.2'.length) : undefined) },
  }),
};
