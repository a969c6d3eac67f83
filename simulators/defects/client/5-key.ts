/** Defects of clients that lose their API key, or reveal the key. */
import { defect, variant } from '../define-client.ts';

const IN_ADDRESS = [
  'client.key.sent',
  'client.key.address.list',
  'client.key.address.ping',
  'client.key.address.deploy',
];

export const defects = [
  defect('no-key', 'Sends no API key.', ['client.key.sent.list', 'client.key.sent.ping', 'client.key.sent.deploy'], {
    calls: ({ access }) => ({
      access: (given, job) => {
        const { 'X-API-Key': _, ...headers } = access(given, job);
        return headers;
      },
    }),
  }),
  defect('key-once', 'Sends the API key with its first request alone.', ['client.key.sent.list'], () => {
    let sent = false;
    return {
      calls: ({ access }) => ({
        access: (given, job) => {
          const { 'X-API-Key': key, ...headers } = access(given, job);
          const first = !sent;
          sent = true;
          return first && key !== undefined ? { ...headers, 'X-API-Key': key } : headers;
        },
      }),
    };
  }),
  defect('key-as-bearer', 'Sends the API key as a bearer token.', ['client.key.sent'], {
    calls: { access: ({ key, version }) => ({ Authorization: `Bearer ${key}`, 'Service-Version': version }) },
  }),
  defect('key-in-address', 'Writes the API key into the address as well.', IN_ADDRESS, {
    calls: { address: (path, { key }) => `${path}${path.includes('?') ? '&' : '?'}api_key=${key}` },
  }),
  defect(
    'key-follows',
    'Follows a redirection with all of its headers.',
    ['client.key.elsewhere.list', 'client.key.elsewhere.ping'],
    { calls: { redirected: (headers) => headers } },
  ),
  defect('key-greeted', 'Writes what it was called with to its standard error.', ['client.key.printed'], {
    calls: { greeting: ({ key, version }) => `key ${key}, version ${version}` },
  }),
  defect('key-in-errors', 'Shows its headers in an error.', ['client.key.printed'], {
    calls: ({ failed }) => ({
      failed: (error, access) => {
        const told = failed(error, access);
        return { ...told, lines: [{ saw: 'error', message: `${told.complaint}; X-API-Key: ${access.key}` }] };
      },
    }),
  }),
];

export const variants = [
  variant('headers-in-lower-case', 'Writes the names of its headers in lower case.', {
    calls: ({ access }) => ({
      access: (given, job) =>
        Object.fromEntries(Object.entries(access(given, job)).map(([name, value]) => [name.toLowerCase(), value])),
    }),
  }),
  variant('follows-without-key', 'Follows a redirection without its key.', {
    calls: {
      redirected: (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'X-API-Key')),
    },
  }),
  // A server may close an idle connection at any time, after which this client must repeat its request.
  variant(
    'keeps-connections',
    'Keeps its connection for the next request.',
    { calls: { keepsAlive: true } },
    { alternative: 'kept-connections' },
  ),
];
