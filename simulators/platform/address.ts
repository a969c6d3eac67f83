/** Listen address of a platform, and its host name for clients. */
import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Length of the accept queue, unless the system allows less; beyond it, connecting takes seconds or fails. */
export const BACKLOG = 8192;

export const LOOPBACK = '127.0.0.1';

const ON_LOOPBACK = new BlockList();
ON_LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
ON_LOOPBACK.addAddress('::1', 'ipv6');

/** Host as written in a URL: `0.0.0.0` for `0`, brackets around IPv6. Undefined for neither address nor name. */
export function urlHost(host: string): string | undefined {
  const text = `http://${host.includes(':') ? `[${host}]` : host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.origin === url?.href.replace(/\/$/, '') && url?.port === '' ? url.hostname : undefined;
}

/** Whether this machine alone can reach the host. A name other than `localhost` counts as reachable by others. */
export function isLoopback(host: string): boolean {
  const named = urlHost(host);
  if (named === undefined || named === 'localhost') return named !== undefined;
  const address = named.replace(/^\[(.*)\]$/, '$1');
  return ON_LOOPBACK.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

/**
 * Host in URLs for clients. Replaces an unspecified address (`0.0.0.0`, `::`), to which other machines cannot connect,
 * by the machine's first address outside loopback, IPv4 first.
 */
export function toldHost(host: string, interfaces: typeof networkInterfaces = networkInterfaces): string {
  const named = urlHost(host) ?? host;
  if (named !== '0.0.0.0' && named !== '[::]') return named;
  const outside = Object.values(interfaces()).flatMap((of = []) => of.filter(({ internal }) => !internal));
  const first = outside.find(({ family }) => family === 'IPv4');
  if (first !== undefined) return first.address;
  const other = outside.find(({ address }) => !address.startsWith('fe80:'));
  return other === undefined || named === '0.0.0.0' ? LOOPBACK : `[${other.address}]`;
}
