/** Transports of the Device API: unix socket, loopback TCP, and URL (section 5 of the specification). */
import { once } from 'node:events';
import { lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { type Endpoint, hostAndPort } from '../../client/connection.ts';
import { errorOf, nothingListens, Unreachable } from '../../client/errors.ts';
import { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import { orElse } from '../../common/lenient.ts';
import { tls } from '../../common/node-tls.ts';
import type { Redactor } from '../../common/redact.ts';
import { refuseCredentials, UsageError } from '../../common/usage.ts';
import { LONGEST_SOCKET_PATH, readInputText, readUserText } from '../../common/user-files.ts';
import { Patience } from '../../common/waiting.ts';
import type { Capability } from '../../contract/capabilities.ts';
import { type DiscoveryFile, discoveryFile } from '../../contract/device-api.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';

interface TransportField {
  readonly help: string;
  readonly description: string;
  readonly isPath?: boolean | ((value: string) => boolean);
  readonly variable?: string;
}

export interface Given {
  readonly address: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** Certificate authorities trusted beside Node's root certificates, as PEM text; `caFile` is their file. */
  readonly ca?: string | undefined;
  readonly caFile?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly redactor: Redactor;
}

export interface Transport {
  readonly name: string;
  readonly fields: Readonly<Record<string, TransportField>>;
  readonly addressField: string;
  readonly usage: string;
  /** File name of the path that replaces `{<addressField>}` in a command; undefined without such a placeholder. */
  readonly placeholder?: string;
  /** Throws Error if the agent cannot serve at `address`. */
  prepare?(address: string): Promise<void>;
  accepts(address: string): Promise<boolean>;
  served(address: string): string;
  /** Throws UsageError for a malformed address; the connection's `problem` names all other failures. */
  open(given: Given): Connection;
}

export interface Connection {
  readonly kind: string;
  readonly address: string;
  readonly problem?: string | undefined;
  readonly hint: string;
  readonly capabilities: readonly Capability[];
  /** Bytes that exceed all buffers between an agent and a client that does not read. */
  readonly bufferBytes: number;
  client(recorder: Recorder): HttpClient;
}

export interface TransportAddress {
  readonly transport: Transport;
  readonly address: string;
}

/** Undefined if a connection succeeds. While no server listens, retries for `listensWithinMs`. */
export async function whyUnreachable(http: HttpClient, hint: string, listensWithinMs = 0): Promise<string | undefined> {
  const patience = new Patience(listensWithinMs);
  for (;;) {
    try {
      (await http.connect()).destroy();
      return undefined;
    } catch (error) {
      if (!nothingListens(error) || patience.leftMs <= 0) {
        const why = error instanceof Unreachable ? error.message : `${http.describe()}: ${String(error)}`;
        return `${why}. ${hint}`;
      }
    }
    await delay(50);
  }
}

export async function accepts(address: { path: string } | { host: string; port: number }): Promise<boolean> {
  const socket = connect(address);
  const [accepted] = await Promise.allSettled([once(socket, 'connect')]);
  socket.destroy();
  return accepted.status === 'fulfilled';
}

export function acceptsControl(address: string): Promise<boolean> {
  const { origin, socketPath } = endpointOf(address);
  if (socketPath !== undefined) return accepts({ path: socketPath });
  return accepts(hostAndPort(origin));
}

/** Accepts an `http(s)://` URL, a port, or a unix socket's path. Throws UsageError for an invalid URL. */
export function endpointOf(address: string): { origin: string; socketPath?: string; path: string } {
  const text = /^\d+$/.test(address) ? `http://127.0.0.1:${address}` : address;
  if (!/^https?:/i.test(text)) return { origin: 'http://localhost', socketPath: address, path: '' };
  const parsed = URL.parse(text);
  if (parsed === null)
    throw new UsageError(`--control ${address}: is no address; accepted: an http(s) URL, a port or a socket`);
  refuseCredentials('--control', parsed);
  return { origin: parsed.origin, path: parsed.pathname.replace(/\/$/, '') };
}

/** Accepts `unix:PATH` and `unix://PATH` too. Throws UsageError that names `option` for a path that is too long. */
export function socketPathOf(option: string, address: string): string {
  const path = resolve(address.replace(/^unix:(?:\/\/)?/, ''));
  const bytes = Buffer.byteLength(path);
  if (bytes > LONGEST_SOCKET_PATH)
    throw new UsageError(`${option} ${address}: is ${bytes} bytes long; at most ${LONGEST_SOCKET_PATH} are possible`);
  return path;
}

/** No credentials; file permissions decide who may connect. */
export const unix = {
  name: 'unix',
  fields: {
    socket: {
      help: 'Unix socket of the agent; with --image its path in it',
      description: 'Path of the unix socket',
      isPath: (value: string) => !value.startsWith('unix:'),
    },
  },
  addressField: 'socket',
  usage: '--socket PATH',
  placeholder: 'agent.sock',
  prepare: async (address: string): Promise<void> => {
    if (await unix.accepts(address)) throw new Error(`something else already serves ${address}`);
  },
  accepts: (address: string): Promise<boolean> => accepts({ path: socketPathOf('--socket', address) }),
  served: (address) => address,
  open: ({ address, headers }): UnixConnection => new UnixConnection(socketPathOf('--socket', address), headers),
} as const satisfies Transport;

export class UnixConnection implements Connection {
  readonly kind = 'unix';
  readonly address: string;
  readonly socketPath: string;
  readonly headers: Given['headers'];
  /** Adds `root` for the superuser, who alone can test file permissions as another user. */
  readonly capabilities: readonly Capability[] = process.getuid?.() === 0 ? ['unix', 'root'] : ['unix'];
  readonly bufferBytes = 1_200_000;

  constructor(socketPath: string, headers?: Given['headers']) {
    this.address = `unix:${socketPath}`;
    this.socketPath = socketPath;
    this.headers = headers;
  }

  get hint(): string {
    const found = lstatSync(this.socketPath, { throwIfNoEntry: false });
    if (found?.isDirectory() || found?.isFile())
      return `${this.socketPath} is a ${found.isFile() ? 'file' : 'folder'}, and no socket`;
    return (
      `Is the agent running, and may this user open the socket? Try: curl --unix-socket ${this.socketPath} ` +
      `http://localhost${DEVICE_API_PREFIX}/deployments/current`
    );
  }

  client(recorder: Recorder): HttpClient {
    const endpoint = { origin: 'http://localhost', socketPath: this.socketPath };
    return new HttpClient({ endpoint, basePath: DEVICE_API_PREFIX, headers: { ...this.headers }, recorder });
  }
}

const TOKEN_VARIABLE = 'MUSTER_TOKEN';

export const loopback = {
  name: 'loopback',
  fields: {
    discovery: {
      help: 'Discovery file of an agent on loopback TCP',
      description: 'Path of the discovery file',
      isPath: true,
    },
  },
  addressField: 'discovery',
  usage: '--discovery FILE',
  placeholder: 'discovery.json',
  prepare: async (address) => {
    // Removes an earlier run's discovery file, whose port is outdated.
    rmSync(address, { force: true });
  },
  accepts: async (address) => {
    const found = orElse(() => readDiscovery(address), undefined);
    return found !== undefined && (await accepts({ host: '127.0.0.1', port: found.port }));
  },
  served: (address) => `what ${address} names`,
  open: (given): LoopbackConnection => new LoopbackConnection(given),
} as const satisfies Transport;

const TCP_BUFFER_BYTES = 4_500_000;

export class LoopbackConnection implements Connection {
  readonly kind = 'loopback';
  readonly address: string;
  readonly discovery: string;
  readonly problem: string | undefined;
  readonly capabilities = ['loopback'] as const;
  readonly bufferBytes = TCP_BUFFER_BYTES;
  readonly #given: Given;
  // No server listens on port 1.
  #found = { port: 1, token: '' };

  constructor(given: Given) {
    this.discovery = resolve(given.address);
    this.#given = given;
    try {
      this.#read();
    } catch (error) {
      this.problem = errorOf(error).message;
    }
    this.address = `http://127.0.0.1:${this.#found.port} (from ${this.discovery})`;
  }

  get port(): number {
    return this.#now().port;
  }

  get token(): string {
    return this.#now().token;
  }

  get hint(): string {
    return (
      `Is the agent running, and does ${this.discovery} belong to this start of it? Try: curl -H ` +
      `"Authorization: Bearer $${TOKEN_VARIABLE}" http://127.0.0.1:${this.port}${DEVICE_API_PREFIX}/deployments/current`
    );
  }

  client(recorder: Recorder): HttpClient {
    const now = (): DiscoveryFile => this.#now();
    return new HttpClient({
      endpoint: {
        get origin() {
          return `http://127.0.0.1:${now().port}`;
        },
      },
      basePath: DEVICE_API_PREFIX,
      headers: {
        ...this.#given.headers,
        get authorization() {
          return `Bearer ${now().token}`;
        },
      },
      recorder,
    });
  }

  #read(): DiscoveryFile {
    this.#found = readDiscovery(this.discovery);
    this.#given.redactor.add(this.#found.token, TOKEN_VARIABLE);
    return this.#found;
  }

  /** Reads the file each time, because a restart may change port and token; an unusable file leaves the old ones. */
  #now(): DiscoveryFile {
    return orElse(() => this.#read(), this.#found);
  }
}

function readDiscovery(file: string): DiscoveryFile {
  let content: unknown;
  try {
    content = JSON.parse(readInputText(file));
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new Error(missing ? `${file}: no such discovery file` : `${file} is not JSON`, { cause: error });
  }
  // Accepts a port in quotes, so that the run continues; a check reports the quotes.
  const { port } = Object(content) as { port?: unknown };
  const isQuoted = typeof port === 'string' && /^\d{1,5}$/.test(port);
  const usable: unknown = isQuoted ? { ...Object(content), port: Number(port) } : content;
  if (!discoveryFile.is(usable)) {
    const [problem] = discoveryFile.problems(content);
    throw new Error(`${file} is not a discovery file: ${problem?.path ?? ''} ${problem?.message ?? ''}`);
  }
  if (/[^\x21-\x7e]/.test(usable.token))
    throw new Error(`${file}: its token has a line end, or another character that no header carries`);
  return usable;
}

export const NOWHERE = 'http://127.0.0.1:1';

export const url = {
  name: 'url',
  fields: {
    url: { help: `Base URL, with or without ${DEVICE_API_PREFIX}`, description: 'Base address' },
    token: {
      help: 'Bearer token for --url; or MUSTER_TOKEN in the environment',
      description: 'Bearer token, with url',
      variable: 'MUSTER_TOKEN',
    },
  },
  addressField: 'url',
  usage: '--url URL',
  // Looks for another server only on loopback, because elsewhere a gateway may answer before the target runs.
  prepare: async (address: string): Promise<void> => {
    const place = hostAndPort(address);
    if (/^(?:localhost|127\..*|::1)$/.test(place.host) && (await accepts(place)))
      throw new Error(`something else already serves ${address}`);
  },
  accepts: (address: string): Promise<boolean> => accepts(hostAndPort(address)),
  served: (address) => address,
  open: ({ address: given, fields: { token }, headers, ...authority }): Connection => {
    const address = webAddress('--url', given);
    const { origin, pathname } = new URL(address);
    const basePath = deviceBasePath(pathname);
    return {
      kind: 'url',
      address,
      capabilities: [],
      bufferBytes: TCP_BUFFER_BYTES,
      hint: `Try: curl -i ${origin}${basePath}/deployments/current`,
      client: (recorder) =>
        new HttpClient({
          endpoint: webEndpoint(origin, authority),
          basePath,
          headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
          recorder,
        }),
    };
  },
} as const satisfies Transport;

export const deviceBasePath = (path: string): string => path.replace(/(?:\/v0\.2)?\/?$/, DEVICE_API_PREFIX);

/** Throws UsageError for an invalid address. */
export function webAddress(option: string, text: string): string {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw new UsageError(`${option} ${text}: must be an http:// or https:// address`);
  refuseCredentials(option, parsed);
  if (parsed.search !== '' || parsed.hash !== '') throw new UsageError(`${option} ${text}: must end with the path`);
  return parsed.href.replace(/\/$/, '');
}

/** Adds `ca` to Node's root certificates, which the TLS option `ca` would replace. */
export const webEndpoint = (origin: string, { ca, caFile }: Pick<Given, 'ca' | 'caFile'>): Endpoint => ({
  origin,
  ...(ca === undefined ? {} : { ca: [...tls.rootCertificates, ca].join('\n'), caFile }),
});

export function readCa(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const pem = readUserText(`--ca ${file}`, file);
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new UsageError(`--ca ${file}: holds no certificate in PEM form`);
  return pem;
}

export const TRANSPORTS = [unix, loopback, url] as const;

export const TRANSPORT_FIELDS = { ...unix.fields, ...loopback.fields, ...url.fields };
export type TransportFields = { [Name in keyof typeof TRANSPORT_FIELDS]?: string };

export const addressesIn = (source: object, transports: readonly Transport[]): TransportAddress[] =>
  transports.flatMap((transport) => {
    const { [transport.addressField]: address } = source as Record<string, unknown>;
    return typeof address === 'string' ? [{ transport, address }] : [];
  });
