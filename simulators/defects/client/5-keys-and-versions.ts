import { defined } from '../../../harness/common/defined.ts';
import type { Place } from '../../client/behaviour.ts';
import { defect, variant } from '../define-client.ts';

const named = (version: string | undefined) => ({
  calls: {
    access: ({ key }: { key: string }): Record<string, string> => ({
      'X-API-Key': key,
      ...defined({ 'Service-Version': version }),
    }),
  },
});

export const defects = [
  defect('no-token', 'Sends no token.', ['client.loopback.token', 'client.current.token'], {
    follow: { credentials: () => ({}) },
  }),
  defect('token-as-basic', 'Sends the token by another scheme.', ['client.loopback.token'], {
    follow: { credentials: (token) => ({ authorization: `Basic ${token}` }) },
  }),
  defect(
    'token-on-socket',
    'Sends credentials on a unix socket too.',
    ['client.loopback.socket', 'client.current.socket'],
    { follow: { credentials: (token) => ({ authorization: `Bearer ${token ?? 'none'}` }) } },
  ),
  defect('discovery-once', 'Reads the discovery file once.', ['client.loopback.reread'], () => {
    let place: Place | undefined;
    return {
      follow: ({ discover }) => ({
        discover: (read) => {
          place ??= discover(read);
          return place;
        },
      }),
    };
  }),
  defect('token-kept', 'Reads the new port, and keeps the old token.', ['client.loopback.reread'], () => {
    let token: string | undefined;
    return {
      follow: ({ discover }) => ({
        discover: (read) => {
          const place = discover(read);
          token ??= place?.token;
          return place === undefined ? undefined : { ...place, token: token ?? place.token };
        },
      }),
    };
  }),
  defect(
    'half-written-crashes',
    'Breaks down at a discovery file that is half written.',
    ['client.loopback.half-written'],
    { follow: { discover: (read) => JSON.parse(read()) } },
  ),
  defect(
    'half-written-at-start',
    'Wants a discovery file that is whole when it starts.',
    ['client.loopback.half-written.start'],
    () => {
      let found = false;
      return {
        follow: ({ discover }) => ({
          discover: (read) => {
            const place = discover(read);
            if (place === undefined && !found) throw new Error('the discovery file is not whole');
            found = true;
            return place;
          },
        }),
      };
    },
  ),
  defect(
    'discovery-strict',
    'Takes a discovery file with other members for none.',
    ['client.loopback.unknown-members'],
    {
      follow: ({ discover }) => ({
        discover: (read) => {
          const place = discover(read);
          return Object.keys(place ?? {}).length > 2 ? undefined : place;
        },
      }),
    },
  ),
  defect('stale-file-kept', 'Reads the discovery file again once it has connected.', ['client.loopback.stale'], () => {
    let first: Place | undefined;
    let connected = false;
    return {
      follow: ({ discover, reads }) => ({
        discover: (read) => {
          if (connected) return discover(read);
          first ??= discover(read);
          return first;
        },
        reads: (contentType) => {
          connected = true;
          return reads(contentType);
        },
      }),
    };
  }),
  defect('stale-file-ends', 'Gives up when nobody listens at its first attempt.', ['client.loopback.stale'], () => {
    let connected = false;
    return {
      follow: ({ reads, reconnect }) => ({
        reads: (contentType) => {
          connected = true;
          return reads(contentType);
        },
        reconnect: (why) => (connected ? reconnect(why) : undefined),
      }),
    };
  }),
  defect('token-follows', 'Follows a redirection with all of its headers.', ['client.loopback.elsewhere'], {
    follow: { redirected: (headers) => headers },
  }),
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
  defect(
    'key-in-address',
    'Writes the API key into the address as well.',
    ['client.key.sent', 'client.key.address.list', 'client.key.address.ping', 'client.key.address.deploy'],
    { calls: { address: (path, { key }) => `${path}${path.includes('?') ? '&' : '?'}api_key=${key}` } },
  ),
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
  defect(
    'no-version',
    'Names no API version.',
    ['client.version.ping', 'client.version.sent.list', 'client.version.sent.deploy'],
    named(undefined),
    { tells: /none; POST \/beta\/devices\/\w+\/ping has the headers .*x-api-key/ },
  ),
  defect(
    'version-of-dialect',
    'Names the version in the header of a published service.',
    ['client.version.ping', 'client.version.sent.list', 'client.version.sent.deploy'],
    { calls: { access: ({ key, version }) => ({ 'X-API-Key': key, 'Miru-Version': version }) } },
    { tells: /the headers .*miru-version.* \(Miru-Version is that of --dialect miru\)/ },
  ),
  defect('version-number', 'Names a version of another format.', ['client.version.ping'], named('0.11.0')),
  defect(
    'version-of-old',
    'Names a version that is no longer supported.',
    ['client.version.sent'],
    named('2025-10-21.zion'),
  ),
  defect('version-changes', 'Names another version on each request.', ['client.version.sent.list'], () => {
    let requests = 0;
    return {
      calls: {
        access: ({ key }) => ({ 'X-API-Key': key, 'Service-Version': `2026-05-0${1 + (++requests % 9)}.rainier` }),
      },
    };
  }),
];

export const variants = [
  variant('scheme-in-lower-case', 'Writes bearer in lower case.', {
    follow: { credentials: (token) => (token === undefined ? {} : { authorization: `bearer ${token}` }) },
  }),
  variant('follows-without-token', 'Follows a redirection without credentials.', {
    follow: { redirected: ({ authorization: _, ...headers }) => headers },
  }),
  variant('headers-in-lower-case', 'Writes the names of its headers in lower case.', {
    calls: ({ access }) => ({
      access: (given, job) =>
        Object.fromEntries(Object.entries(access(given, job)).map(([name, value]) => [name.toLowerCase(), value])),
    }),
  }),
  variant('follows-without-key', 'Follows a redirection without its key.', {
    calls: { redirected: ({ 'X-API-Key': _, ...headers }) => headers },
  }),
  // Excludes `never-again`, because a server may close a kept connection, after which this client must retry.
  variant(
    'keeps-connections',
    'Keeps its connection for the next request.',
    { calls: { keepsAlive: true } },
    { alternative: 'kept-connections' },
  ),
  variant('version-of-its-own', 'Names the version that it was built against.', named('2026-03-09.tetons')),
  variant('version-to-come', 'Names a version that Muster does not know.', named('2031-01-02.yosemite')),
];
