/** The address that a platform listens on, and what its clients call it. */
import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';

/**
 * Connections that wait to be accepted; the system may allow fewer. Beyond it a client tries again after seconds, and
 * is reset in the end.
 */
export const BACKLOG = 8192;

export const LOOPBACK = '127.0.0.1';

const ON_LOOPBACK = new BlockList();
ON_LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
ON_LOOPBACK.addAddress('::1', 'ipv6');

/** As it stands in a URL: `0` is `0.0.0.0`, IPv6 has brackets. `undefined` when it is no address and no name. */
export function urlHost(host: string): string | undefined {
  const text = `http://${host.includes(':') ? `[${host}]` : host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.origin === url?.href.replace(/\/$/, '') && url?.port === '' ? url.hostname : undefined;
}

/** Whether other machines cannot reach it. A name other than `localhost` counts as one that they can. */
export function isLoopback(host: string): boolean {
  const named = urlHost(host);
  if (named === undefined || named === 'localhost') return named !== undefined;
  const address = named.replace(/^\[(.*)\]$/, '$1');
  return ON_LOOPBACK.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

/**
 * The host in the URLs that clients are told. An address that stands for all of the machine's (`0.0.0.0`, `::`) is none
 * that anybody can connect to from elsewhere, so the machine's first one that is not on loopback takes its place; IPv4
 * goes first.
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
