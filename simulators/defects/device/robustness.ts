import type { ServerResponse } from 'node:http';
import { type DeviceChanges, defect, onRequest, onSome, refusals, variant, whenOver } from '../define-device.ts';

function noticesLeaversLate(): DeviceChanges {
  let counted = 0;
  const forgotten = new Set<ServerResponse>();
  return {
    ...onSome((request, response) => {
      if (request.url?.includes('/events') !== true) return false;
      if (counted >= 64) {
        response.writeHead(503, { 'Content-Length': 0 }).end();
        return true;
      }
      counted += 1;
      whenOver(request, response, () => forgotten.add(response));
      return false;
    }),
    log: {
      publish: async ({ store, commit, deliver }) => {
        counted -= forgotten.size;
        forgotten.clear();
        await store();
        commit();
        deliver();
      },
    },
  };
}

export const defects = [
  defect(
    'every-method-reads',
    'Answers every method as if it were GET.',
    ['device.robust.requests'],
    onRequest((request) => {
      request.method = 'GET';
    }),
  ),
  defect(
    'bad-method-fails',
    'Answers an unknown method with 500.',
    ['device.robust.requests'],
    refusals(({ status }) => status === 405, { status: 500 }),
  ),
  defect(
    'bad-method-hangs',
    'Never answers an unknown method.',
    ['device.robust.requests'],
    onSome(({ method = '' }) => !['GET', 'HEAD', 'POST'].includes(method)),
  ),
  defect(
    'unknown-path-serves',
    'Answers unknown paths with 200.',
    ['device.robust.requests'],
    refusals(({ code }) => code === 'not_found', { status: 200 }),
  ),
  defect('bad-escape-fails', 'Fails with 500 on a path with a broken escape.', ['device.robust.requests'], {
    http: ({ route }) => ({
      route: (path) => {
        const below = route(path);
        return below === undefined ? undefined : decodeURIComponent(below);
      },
    }),
  }),
  defect(
    'few-connections',
    'Accepts only 12 connections at once, so that a few silent clients shut out all others.',
    ['device.robust.requests.unfinished'],
    { transport: { accepts: (open) => open < 12 } },
  ),
  defect(
    'subscribers-leak',
    'Notices that subscribers have left only when it has an event for them, and serves no more than 64.',
    ['device.robust.requests.come-and-go'],
    noticesLeaversLate,
  ),
];

export const variants = [
  variant(
    'unknown-parameters-refused',
    'Answers 400 to a parameter that it does not know.',
    onSome(({ url = '' }, response) => {
      const known = url.includes('/events') ? ['after', 'types'] : [];
      if ([...new URL(url, 'http://device').searchParams.keys()].every((name) => known.includes(name))) return false;
      response.writeHead(400, { 'Content-Length': 0 }).end();
      return true;
    }),
  ),
  variant(
    'bad-method-is-404',
    'Answers a method that a path does not have with 404.',
    refusals(({ status }) => status === 405, { status: 404, headers: {} }),
  ),
  variant(
    'closes-each-connection',
    'Closes the connection after each answer, and says so.',
    onRequest((_request, response) => {
      response.shouldKeepAlive = false;
    }),
  ),
];
