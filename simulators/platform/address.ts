/** Addresses on which a platform listens, and the host names in its URLs. */
import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Maximum number of connections that wait for acceptance; further clients connect after seconds or fail. */
export const BACKLOG = 8192;

export const LOOPBACK = '127.0.0.1';

const ON_LOOPBACK = new BlockList();
ON_LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
ON_LOOPBACK.addAddress('::1', 'ipv6');

/** Host in the form of a URL (`0.0.0.0` for `0`, IPv6 in brackets); undefined for an invalid host. */
export function urlHost(host: string): string | undefined {
  const text = `http://${host.includes(':') ? `[${host}]` : host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.origin === url?.href.replace(/\/$/, '') && url?.port === '' ? url.hostname : undefined;
}

/** Returns false for every name but `localhost`, because names are not resolved. */
export function isLoopback(host: string): boolean {
  const named = urlHost(host);
  if (named === undefined || named === 'localhost') return named !== undefined;
  const address = named.replace(/^\[(.*)\]$/, '$1');
  return ON_LOOPBACK.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

/** Replaces `0.0.0.0` and `::`, to which other machines cannot connect, by the machine's first outside address. */
export function toldHost(host: string, interfaces: typeof networkInterfaces = networkInterfaces): string {
  const named = urlHost(host) ?? host;
  if (named !== '0.0.0.0' && named !== '[::]') return named;
  const outside = Object.values(interfaces()).flatMap((of = []) => of.filter(({ internal }) => !internal));
  const first = outside.find(({ family }) => family === 'IPv4');
  if (first !== undefined) return first.address;
  const other = outside.find(({ address }) => !address.startsWith('fe80:'));
  return other === undefined || named === '0.0.0.0' ? LOOPBACK : `[${other.address}]`;
}
