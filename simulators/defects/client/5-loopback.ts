/** Defects of clients that send the token wrongly, or read the discovery file only once. */
import type { Place } from '../../client/behaviour.ts';
import { defect, variant } from '../define-client.ts';

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
];

export const variants = [
  variant('scheme-in-lower-case', 'Writes bearer in lower case.', {
    follow: { credentials: (token) => (token === undefined ? {} : { authorization: `bearer ${token}` }) },
  }),
  variant('follows-without-token', 'Follows a redirection without credentials.', {
    follow: { redirected: ({ authorization: _, ...headers }) => headers },
  }),
];
