import { defect } from '../define-device.ts';

export const defects = [
  defect('version-prefix-optional', 'Answers below any version prefix, and below none.', ['device.version.prefix'], {
    http: { route: (path) => path.replace(/^\/v\d+\.\d+(?=\/)/, '') },
  }),
  defect(
    'version-of-the-release',
    'Serves below /v0.2.2, the release, instead of /v0.2, the interface.',
    ['device.version.prefix'],
    { http: { route: (path) => (path.startsWith('/v0.2.2/') ? path.slice('/v0.2.2'.length) : undefined) } },
  ),
];
