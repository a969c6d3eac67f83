/** Finds the address of the watched server, and publishes the address of the relay to clients. */
import { lookup } from 'node:dns/promises';
import { chmodSync, chownSync, rmSync, type Stats, statSync, unwatchFile, watchFile } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { resolve } from 'node:path';
import { defined } from '../../common/defined.ts';
import { Redactor } from '../../common/redact.ts';
import { UsageError } from '../../common/usage.ts';
import { prepareFile, readInputText, replaceWith, SECRET_MODE } from '../../common/user-files.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import {
  accepts,
  deviceBasePath,
  type LoopbackConnection,
  loopback,
  readCa,
  socketPathOf,
  webAddress,
  webEndpoint,
} from '../../targets/transports/index.ts';
import type { Place, Upstream } from '../../watch/relay.ts';
import type { ServerAddress } from '../../watch/traffic.ts';
import type { WatchArguments } from './options.ts';
import type { TransportKind, WatchedApi } from './suite.ts';

export interface RelayRoute {
  way: TransportKind;
  address: string;
  server: ServerAddress;
  listen: Place;
  upstream(): Upstream;
  /** Publishes the bound port or socket to clients; returns fields for the ready line on standard output. */
  publish(port: number): Record<string, string | number>;
  close(): void;
}

const LOOPBACK = '127.0.0.1';
const LOOKS_MS = 500;

export async function relayRouteOf(api: WatchedApi, args: WatchArguments): Promise<RelayRoute> {
  const { socket, discovery, url, listen } = args;
  const given = Object.entries({ socket, discovery, url }).filter(([, value]) => value !== undefined);
  const ways = api === 'platform' ? '--url URL' : '--socket PATH, --discovery FILE or --url URL';
  if (given.length === 0) throw new UsageError(`${ways} says where the server is`);
  const names = given.map(([name]) => `--${name}`);
  if (names.length > 1) throw new UsageError(`${names.join(' and ')}: give one of them`);
  if (listen === undefined)
    throw new UsageError(`--listen: missing; it says where clients come: ${LISTEN[names[0] ?? '']}`);
  if (url === undefined && (args['tls-cert'] ?? args['tls-key'] ?? args.ca) !== undefined)
    throw new UsageError('--tls-cert, --tls-key and --ca go with --url: other ways have no TLS');
  if (socket !== undefined) return await onSocket(socketPathOf('--socket', socket), socketPathOf('--listen', listen));
  if (discovery !== undefined) return onLoopback(resolve(discovery), listen);
  return await onUrl(api, { ...args, listen, url: url ?? '' });
}

const LISTEN: Readonly<Record<string, string>> = {
  '--socket': 'the path of a unix socket',
  '--discovery': 'the discovery file that they read',
  '--url': 'a port, 0 for a free one, or HOST:PORT',
};

async function onSocket(real: string, path: string): Promise<RelayRoute> {
  if (path === real) throw new UsageError(`--listen ${path}: is the socket of the server itself`);
  const there = statSync(path, { throwIfNoEntry: false });
  if (there?.isSocket() === false) throw new UsageError(`--listen ${path}: is there already, and is no socket`);
  if (await accepts({ path })) throw new UsageError(`--listen ${path}: something else already serves it`);
  prepareFile(`--listen ${path}`, `${path}.probe`);
  if (there !== undefined) rmSync(path);
  let looks: NodeJS.Timeout | undefined;
  return {
    way: 'unix',
    address: `unix:${real}`,
    server: { base: DEVICE_API_PREFIX, origin: 'http://localhost', socketPath: real, variable: 'MUSTER_TOKEN' },
    listen: { path },
    upstream: () => ({ place: { path: real } }),
    publish() {
      chmodSync(path, SECRET_MODE);
      copyAccess(real, path);
      // Copies repeatedly, because the agent may start later or change its permissions.
      looks = setInterval(() => copyAccess(real, path), LOOKS_MS).unref();
      return { socket: path };
    },
    close: () => clearInterval(looks),
  };
}

/** Copies group, permissions and owner, which decide who may connect (section 5 of the specification). */
function copyAccess(from: string, to: string): void {
  const steps = [
    ({ gid }: Stats) => chownSync(to, -1, gid),
    ({ mode }: Stats) => chmodSync(to, mode & 0o777),
    // Changes the owner last, because Muster can then no longer change the permissions.
    ({ uid }: Stats) => chownSync(to, uid, -1),
  ];
  for (const step of steps) {
    try {
      const access = statSync(from, { throwIfNoEntry: false });
      if (access !== undefined) step(access);
    } catch {
      // Only a privileged user can change the owner of a file.
    }
  }
}

/** Route on loopback, where clients find the relay by a copy of the agent's discovery file with the relay's port. */
function onLoopback(file: string, listen: string): RelayRoute {
  const own = prepareFile(`--listen ${listen}`, listen);
  if (own === file) throw new UsageError(`--listen ${listen}: is the discovery file of the agent itself`);
  const open = (): LoopbackConnection => loopback.open({ address: file, fields: {}, redactor: new Redactor() });
  const first = open();
  if (first.problem !== undefined) throw new UsageError(`--discovery ${file}: ${first.problem}`);
  const write = (port: number): void => {
    const content = JSON.parse(readInputText(file)) as Record<string, unknown>;
    replaceWith(own, `${JSON.stringify({ ...content, port })}\n`, SECRET_MODE);
    copyAccess(file, own);
  };
  return {
    way: 'loopback',
    address: first.address,
    server: { base: DEVICE_API_PREFIX, origin: `http://${LOOPBACK}:${first.port}`, variable: 'MUSTER_TOKEN' },
    listen: { host: LOOPBACK, port: 0 },
    upstream() {
      const { problem, port } = open();
      if (problem !== undefined) throw new Error(problem);
      return { place: { host: LOOPBACK, port } };
    },
    publish(port) {
      write(port);
      // Copies the file again after a change, because a restarted agent has a new token.
      watchFile(file, { interval: LOOKS_MS, persistent: false }, () => {
        try {
          write(port);
        } catch {
          // A half-written file changes again, which triggers another attempt.
        }
      });
      return { discovery: own, port };
    },
    close() {
      unwatchFile(file);
      rmSync(own, { force: true });
    },
  };
}

async function onUrl(api: WatchedApi, args: WatchArguments & { listen: string; url: string }): Promise<RelayRoute> {
  const address = webAddress('--url', args.url);
  const { origin, pathname, hostname, port, protocol } = new URL(address);
  const isSecure = protocol === 'https:';
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const base = api === 'device' ? deviceBasePath(pathname) : pathname === '/' ? '' : pathname;
  const { ca } = webEndpoint(origin, { ca: readCa(args.ca), caFile: args.ca });
  const place = { host, port: Number(port || (isSecure ? 443 : 80)) };
  const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
  const upstream: Upstream = isSecure ? { place, tls: { ...servername, ...defined({ ca }) } } : { place };
  const listen = listenPort(args.listen);
  if (await isOneAddress(listen, place))
    throw new UsageError(`--listen ${args.listen}: is the address of --url itself`);
  const scheme = args['tls-cert'] === undefined ? 'http' : 'https';
  const variable = api === 'device' ? 'MUSTER_TOKEN' : 'MUSTER_API_KEY';
  return {
    way: 'url',
    address,
    server: { base, origin, variable, ...defined({ caFile: args.ca }) },
    listen,
    upstream: () => upstream,
    publish: (bound) => ({
      url: `${scheme}://${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${bound}${base}`,
    }),
    close: () => {},
  };
}

async function isOneAddress(here: ReturnType<typeof listenPort>, there: typeof here): Promise<boolean> {
  if (here.port !== there.port) return false;
  const [own, others] = await Promise.all([addressesOf(here.host), addressesOf(there.host)]);
  const interfaces = Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address));
  // The system connects 0.0.0.0 and :: to loopback.
  const reached = others.flatMap((address) => (isAny(address) ? [address, LOOPBACK, '::1'] : [address]));
  return reached.some((address) => own.includes(address) || (own.some(isAny) && interfaces.includes(address)));
}

const isAny = (address: string): boolean => address === '0.0.0.0' || address === '::';

const addressesOf = async (host: string): Promise<string[]> =>
  (await lookup(host, { all: true }).catch(() => [])).map(({ address }) => address);

function listenPort(text: string): { host: string; port: number } {
  const [, host, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (digits === undefined || Number(digits) > 65_535)
    throw new UsageError(`--listen ${text}: must be a port up to 65535, 0 for a free one, or HOST:PORT`);
  return { host: host?.replace(/^\[(.*)\]$/, '$1') ?? LOOPBACK, port: Number(digits) };
}

export function listenProblem(error: unknown, listen = ''): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return new UsageError(`--listen ${listen}: is in use`);
  if (code === 'EACCES') return new UsageError(`--listen ${listen}: may not be bound`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EINVAL')
    return new UsageError(`--listen ${listen}: no address of this machine`);
  if (code?.startsWith('ERR_OSSL') === true) return new UsageError(`--tls-cert, --tls-key: cannot be used: ${message}`);
  return error;
}
