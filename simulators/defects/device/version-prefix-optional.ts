import type { DeviceDefect } from './types.ts';

export const versionPrefixOptional: DeviceDefect = {
  name: 'version-prefix-optional',
  side: 'device',
  summary: 'Answers below any version prefix, and below none.',
  breaks: ['device.version.prefix'],
  behaviour: (right) => ({
    ...right,
    http: { ...right.http, route: (path) => path.replace(/^\/v\d+\.\d+(?=\/)/, '') },
  }),
};
