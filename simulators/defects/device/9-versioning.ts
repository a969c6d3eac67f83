import { defect, onSome, variant } from '../define-device.ts';

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

export const variants = [
  variant('older-api-beside', 'Serves an older API of other answers at the same paths, without a version prefix.', {
    http: onSome(({ method, url }, response) => {
      if (method !== 'GET') return false;
      if (url === '/deployments/current')
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"deployment":{}}');
      else if (url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: {"hello":1}\n\n');
      else return false;
      return true;
    }),
  }),
];
