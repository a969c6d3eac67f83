/** Defects of clients that request a wrong format or wrong event types. */
import { defect, variant } from '../define-client.ts';

const TYPES = ['client.request.types'];

export const defects = [
  defect('types-apart', 'Names each type that its caller wants in a parameter of its own.', TYPES, {
    follow: { types: (wanted = '') => (wanted === '' ? '' : `types=${wanted.split(',').join('&types=')}`) },
  }),
  defect('types-forgotten', 'Asks for all types when it asks again.', TYPES, () => {
    let asked = 0;
    return {
      follow: ({ types }) => ({
        types: (wanted) => {
          asked += 1;
          return asked > 1 ? '' : types(wanted);
        },
      }),
    };
  }),
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
  variant('types-as-they-are', 'Writes the commas between types as they are.', {
    follow: { types: (wanted) => (wanted === undefined ? '' : `types=${wanted}`) },
  }),
  variant('types-untaken', 'Does not let its caller choose types.', { follow: { types: () => '' } }),
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
