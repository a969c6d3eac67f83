import type { ServerResponse } from 'node:http';
import { answered, asksForEvents, defect, onRequest, onSome, refusals, variant, whenOver } from '../define-device.ts';

const REQUESTS = ['device.robust.requests'];

export const defects = [
  defect('every-method-reads', 'Answers every method as if it were GET.', REQUESTS, {
    http: onRequest((request) => (request.method = 'GET')),
  }),
  defect('bad-method-fails', 'Answers an unknown method with 500.', REQUESTS, {
    http: refusals(({ status }) => status === 405, { status: 500 }),
  }),
  defect('bad-method-hangs', 'Never answers an unknown method.', REQUESTS, {
    http: onSome(({ method = '' }) => !['GET', 'HEAD', 'POST'].includes(method)),
  }),
  defect('unknown-path-serves', 'Answers unknown paths with 200.', REQUESTS, {
    http: refusals(({ code }) => code === 'not_found', { status: 200 }),
  }),
  defect('bad-escape-fails', 'Fails with 500 on a path with a broken escape.', REQUESTS, {
    http: ({ route }) => ({
      route: (path) => {
        const below = route(path);
        return below === undefined ? undefined : decodeURIComponent(below);
      },
    }),
  }),
  defect('pipeline-answers-the-first', 'Answers each request of a pipeline as the first one.', REQUESTS, {
    // A response has no socket while it waits for an earlier one on its connection.
    http: onRequest((request, { socket }) => {
      if (socket === null) request.url = '/v0.2/deployments/current';
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
    () => {
      let counted = 0;
      const forgotten = new Set<ServerResponse>();
      return {
        http: onSome((request, response) => {
          if (!asksForEvents(request)) return false;
          if (counted >= 64) return answered(response, 503, { 'Content-Length': 0 });
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
    },
  ),
];

export const variants = [
  variant('unknown-parameters-refused', 'Answers 400 to a parameter that it does not know.', {
    http: onSome(({ url = '' }, response) => {
      const known = url.includes('/events') ? ['after', 'types'] : [];
      const names = [...new URL(url, 'http://device').searchParams.keys()];
      return !names.every((name) => known.includes(name)) && answered(response, 400, { 'Content-Length': 0 });
    }),
  }),
  variant('bad-method-is-404', 'Answers a method that a path does not have with 404.', {
    http: refusals(({ status }) => status === 405, { status: 404, headers: {} }),
  }),
  variant('closes-each-connection', 'Closes the connection after each answer, and says so.', {
    http: onRequest((_request, response) => (response.shouldKeepAlive = false)),
  }),
];
