/** Transports by which Muster reaches a target: unix socket, loopback TCP, and URL. */

import { lstatSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { type Endpoint, HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import { tls } from '../../common/node-tls.ts';
import type { Redactor } from '../../common/redact.ts';
import { UsageError } from '../../common/usage.ts';
import { readInputText, whyNot } from '../../common/user-files.ts';
import type { Capability } from '../../contract/capabilities.ts';
import { type DiscoveryFile, discoveryFile } from '../../contract/device-api.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import {
  accepts,
  type Connection,
  type Given,
  type Transport,
  type TransportAddress,
  type TransportField,
} from './transport.ts';

const UNIX_SCHEME = 'unix:';
/** Maximum number of bytes in a socket's path, limited by the system's `sun_path`. */
const LONGEST_SOCKET_PATH = 107;

/** Unix socket without credentials; file permissions decide who may connect (section 5 of the specification). */
export const unix = {
  name: 'unix',
  fields: {
    socket: {
      help: 'Unix socket of the agent; with --image its path in it',
      description: 'Path of the unix socket',
      isPath: (value: string) => !value.startsWith(UNIX_SCHEME),
    },
  },
  addressField: 'socket',
  usage: '--socket PATH',
  placeholder: 'agent.sock',
  prepare: async (address) => {
    if (await accepts({ path: address })) throw new Error(`something else already serves ${address}`);
  },
  accepts: (address) => accepts({ path: address }),
  served: (address) => address,
  open: ({ address, headers }): UnixConnection => {
    const path = resolve(address.replace(/^unix:(?:\/\/)?/, ''));
    const bytes = Buffer.byteLength(path);
    if (bytes > LONGEST_SOCKET_PATH)
      throw new UsageError(`--socket ${address}: is ${bytes} bytes long; at most ${LONGEST_SOCKET_PATH} are possible`);
    return new UnixConnection(path, headers);
  },
} as const satisfies Transport;

export class UnixConnection implements Connection {
  readonly kind = 'unix';
  readonly socketPath: string;
  readonly headers: Given['headers'];
  /** Number of bytes that exceeds the buffers of a unix socket. */
  readonly bufferBytes = 1_200_000;

  constructor(socketPath: string, headers?: Given['headers']) {
    this.socketPath = socketPath;
    this.headers = headers;
  }

  get address(): string {
    return `unix:${this.socketPath}`;
  }

  /** Adds `root` for the superuser, who alone can test file permissions as another user. */
  get capabilities(): readonly Capability[] {
    return process.getuid?.() === 0 ? ['unix', 'root'] : ['unix'];
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

  relocate(): Promise<this> {
    return Promise.resolve(this);
  }
}

const TOKEN_VARIABLE = 'MUSTER_TOKEN';

/** Loopback TCP; a discovery file holds port and bearer token (section 5 of the specification). */
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
    // Removes the discovery file of an earlier run, whose port is outdated.
    rmSync(address, { force: true });
  },
  accepts: async (address) => {
    const found = tryDiscovery(address);
    return found !== undefined && (await accepts({ host: '127.0.0.1', port: found.port }));
  },
  served: (address) => `what ${address} names`,
  open: ({ address, headers, redactor }): LoopbackConnection => {
    const file = resolve(address);
    try {
      return LoopbackConnection.from(file, readDiscovery(file), redactor, headers);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return new LoopbackConnection(file, NO_DISCOVERY, headers, problem);
    }
  },
} as const satisfies Transport;

/** Number of bytes that exceeds the buffers of TCP on loopback. */
const TCP_BUFFER_BYTES = 4_500_000;

/** Stand-in for a missing discovery file; no server listens on port 1. */
const NO_DISCOVERY: DiscoveryFile = { port: 1, token: '' };

export class LoopbackConnection implements Connection {
  readonly kind = 'loopback';
  readonly discovery: string;
  readonly port: number;
  readonly token: string;
  readonly headers: Given['headers'];
  readonly problem: string | undefined;
  readonly capabilities = ['loopback'] as const;
  readonly bufferBytes = TCP_BUFFER_BYTES;

  constructor(discovery: string, { port, token }: DiscoveryFile, headers?: Given['headers'], problem?: string) {
    this.discovery = discovery;
    this.port = port;
    this.token = token;
    this.headers = headers;
    this.problem = problem;
  }

  static from(
    discovery: string,
    found: DiscoveryFile,
    redactor: Redactor,
    headers?: Given['headers'],
  ): LoopbackConnection {
    redactor.add(found.token, TOKEN_VARIABLE);
    return new LoopbackConnection(discovery, found, headers);
  }

  get address(): string {
    return `http://127.0.0.1:${this.port} (from ${this.discovery})`;
  }

  get hint(): string {
    return (
      `Is the agent running, and does ${this.discovery} belong to this start of it? Try: curl -H ` +
      `"Authorization: Bearer $${TOKEN_VARIABLE}" http://127.0.0.1:${this.port}${DEVICE_API_PREFIX}/deployments/current`
    );
  }

  client(recorder: Recorder): HttpClient {
    return new HttpClient({
      endpoint: { origin: `http://127.0.0.1:${this.port}` },
      basePath: DEVICE_API_PREFIX,
      headers: { ...this.headers, authorization: `Bearer ${this.token}` },
      recorder,
    });
  }

  /** Reads port and token again after a restart; without a usable file the old values stay. */
  relocate(redactor: Redactor): Promise<LoopbackConnection> {
    const found = tryDiscovery(this.discovery);
    const same = found === undefined || (found.port === this.port && found.token === this.token);
    return Promise.resolve(same ? this : LoopbackConnection.from(this.discovery, found, redactor, this.headers));
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
  const usable = withNumericPort(content);
  if (!discoveryFile.is(usable)) {
    const [problem] = discoveryFile.problems(content);
    throw new Error(`${file} is not a discovery file: ${problem?.path ?? ''} ${problem?.message ?? ''}`);
  }
  if (/[^\x21-\x7e]/.test(usable.token))
    throw new Error(`${file}: its token has a line end, or another character that no header carries`);
  return usable;
}

function withNumericPort(content: unknown): unknown {
  if (typeof content !== 'object' || content === null || !('port' in content)) return content;
  const { port } = content;
  return typeof port === 'string' && /^\d{1,5}$/.test(port) ? { ...content, port: Number(port) } : content;
}

function tryDiscovery(file: string): DiscoveryFile | undefined {
  try {
    return readDiscovery(file);
  } catch {
    return undefined;
  }
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
  accepts: (address) => {
    const { hostname, port, protocol } = new URL(address);
    return accepts({ host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) });
  },
  served: (address) => address,
  open: ({ address: given, fields: { token }, headers, ...authority }): Connection => {
    const address = webAddress('--url', given);
    const { origin, pathname } = new URL(address);
    const connection: Connection = {
      kind: 'url',
      address,
      capabilities: [],
      bufferBytes: TCP_BUFFER_BYTES,
      hint: `Try: curl -i ${address}/deployments/current`,
      client: (recorder) =>
        new HttpClient({
          endpoint: webEndpoint(origin, authority),
          basePath: pathname === '/' ? DEVICE_API_PREFIX : pathname.replace(/\/$/, ''),
          headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
          recorder,
        }),
      relocate: () => Promise.resolve(connection),
    };
    return connection;
  },
} as const satisfies Transport;

/** Removes a final slash from an http(s) address. Throws UsageError for an invalid address. */
export function webAddress(option: string, text: string): string {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new UsageError(`${option} ${text}: must be an http:// or https:// address`);
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new UsageError(`${option}: credentials do not belong into the address`);
  }
  if (parsed.search !== '' || parsed.hash !== '') throw new UsageError(`${option} ${text}: must end with the path`);
  return parsed.href.replace(/\/$/, '');
}

/** Adds `ca` to Node's root certificates, which the TLS option `ca` would otherwise replace. */
export const webEndpoint = (origin: string, { ca, caFile }: Pick<Given, 'ca' | 'caFile'>): Endpoint => ({
  origin,
  ...(ca === undefined ? {} : { ca: [...tls.rootCertificates, ca].join('\n'), caFile }),
});

export function readCa(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let pem: string;
  try {
    pem = readInputText(file);
  } catch (error) {
    throw new UsageError(`--ca ${file}: cannot be read (${whyNot(error)})`);
  }
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) {
    throw new UsageError(`--ca ${file}: holds no certificate in PEM form`);
  }
  return pem;
}

export const TRANSPORTS = [unix, loopback, url] as const;

type NamesOf<T> = T extends { fields: infer Fields } ? keyof Fields : never;
export type TransportFieldName = NamesOf<(typeof TRANSPORTS)[number]>;
export type TransportFields = { [Name in TransportFieldName]?: string };

export const TRANSPORT_FIELDS: Record<TransportFieldName, TransportField> = {
  ...unix.fields,
  ...loopback.fields,
  ...url.fields,
};

export const addressesIn = (source: object, transports: readonly Transport[]): TransportAddress[] =>
  transports.flatMap((transport) => {
    const { [transport.addressField]: address } = source as Record<string, unknown>;
    return typeof address === 'string' ? [{ transport, address }] : [];
  });
