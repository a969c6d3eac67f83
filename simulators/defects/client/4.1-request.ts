/** Clients that ask for something else than an event stream. */
import { defect, variant } from '../define-client.ts';

export const defects = [
  defect('accepts-json', 'Asks for application/json.', ['client.request.accept'], {
    follow: ({ request }) => ({
      request: (path, cursor) => {
        const asked = request(path, cursor);
        return { ...asked, headers: { ...asked.headers, accept: 'application/json' } };
      },
    }),
  }),
];

export const variants = [
  variant('no-accept', 'Sends no Accept.', {
    follow: ({ request }) => ({
      request: (path, cursor) => {
        const asked = request(path, cursor);
        const { accept: _, ...headers } = asked.headers;
        return { ...asked, headers };
      },
    }),
  }),
  variant('accepts-anything', 'Accepts the stream among other types, or anything.', {
    follow: ({ request }) => ({
      request: (path, cursor) => {
        const asked = request(path, cursor);
        return { ...asked, headers: { ...asked.headers, accept: 'application/json;q=0.1, */*' } };
      },
    }),
  }),
];
