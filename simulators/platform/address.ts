import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';

export const BACKLOG = 8192;

export const LOOPBACK = '127.0.0.1';

const ON_LOOPBACK = new BlockList();
ON_LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
ON_LOOPBACK.addAddress('::1', 'ipv6');

/** Host as written in a URL, e.g. `0.0.0.0` for `0` or `[::1]` for `::1`; undefined for an invalid host. */
export function urlHost(host: string): string | undefined {
  const text = `http://${host.includes(':') ? `[${host}]` : host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.origin === url?.href.replace(/\/$/, '') && url?.port === '' ? url.hostname : undefined;
}

/** True for a loopback address and for `localhost`; false for any other name, without resolving the name. */
export function isLoopback(host: string): boolean {
  const named = urlHost(host);
  if (named === undefined || named === 'localhost') return named !== undefined;
  const address = named.replace(/^\[(.*)\]$/, '$1');
  return ON_LOOPBACK.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

/** Host for a URL: replaces `0.0.0.0` and `::` by the first external address of the machine, or by loopback. */
export function reachableHost(host: string, interfaces: typeof networkInterfaces = networkInterfaces): string {
  const named = urlHost(host) ?? host;
  if (named !== '0.0.0.0' && named !== '[::]') return named;
  const outside = Object.values(interfaces()).flatMap((of = []) => of.filter(({ internal }) => !internal));
  const first = outside.find(({ family }) => family === 'IPv4');
  if (first !== undefined) return first.address;
  const other = outside.find(({ address }) => !address.startsWith('fe80:'));
  return other === undefined || named === '0.0.0.0' ? LOOPBACK : `[${other.address}]`;
}
