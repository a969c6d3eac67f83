/** The Device API on loopback TCP: a discovery file names the port and the bearer token (section 5). */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import type { Redactor } from '../../client/redact.ts';
import { readInputText } from '../../common/user-files.ts';
import { type DiscoveryFile, discoveryFile } from '../../contract/discovery.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { accepts, type Connection, type Transport } from './transport.ts';

/** The variable that a report's `curl` lines take the token from. */
const TOKEN_VARIABLE = 'MUSTER_TOKEN';

/** Named by the path of a discovery file. */
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
    // A file that an earlier run left would lead to a port that is no longer the agent's.
    rmSync(address, { force: true });
  },
  accepts: async (address) => {
    const found = tryDiscovery(address);
    return found !== undefined && (await accepts({ host: '127.0.0.1', port: found.port }));
  },
  served: (address) => `what ${address} names`,
  open: ({ address, redactor }): LoopbackConnection => {
    const file = resolve(address);
    try {
      return LoopbackConnection.from(file, readDiscovery(file), redactor);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return new LoopbackConnection(file, NOWHERE, problem);
    }
  },
} as const satisfies Transport;

/** Nothing serves port 1 of loopback. */
const NOWHERE: DiscoveryFile = { port: 1, token: '' };

/** A loopback port, as a discovery file named it when it was read. */
export class LoopbackConnection implements Connection {
  readonly kind = 'loopback';
  /** Absolute path of the discovery file. */
  readonly discovery: string;
  readonly port: number;
  readonly token: string;
  readonly problem: string | undefined;
  readonly capabilities = ['loopback'] as const;
  /** The buffers of TCP on loopback grow to several MiB. */
  readonly bufferBytes = 4_500_000;

  constructor(discovery: string, { port, token }: DiscoveryFile, problem?: string) {
    this.discovery = discovery;
    this.port = port;
    this.token = token;
    this.problem = problem;
  }

  static from(discovery: string, found: DiscoveryFile, redactor: Redactor): LoopbackConnection {
    redactor.add(found.token, TOKEN_VARIABLE);
    return new LoopbackConnection(discovery, found);
  }

  get address(): string {
    return `http://127.0.0.1:${this.port} (from ${this.discovery})`;
  }

  get hint(): string {
    return `Is the agent running, and does ${this.discovery} belong to this start of it? Try: curl -H "Authorization: Bearer $${TOKEN_VARIABLE}" http://127.0.0.1:${this.port}${DEVICE_API_PREFIX}/deployments/current`;
  }

  client(recorder: Recorder): HttpClient {
    return new HttpClient({
      endpoint: { origin: `http://127.0.0.1:${this.port}` },
      basePath: DEVICE_API_PREFIX,
      headers: { authorization: `Bearer ${this.token}` },
      recorder,
    });
  }

  /** An agent that was restarted may have another port and another token; without a usable file the old ones stay. */
  relocate(redactor: Redactor): Promise<LoopbackConnection> {
    const found = tryDiscovery(this.discovery);
    const same = found === undefined || (found.port === this.port && found.token === this.token);
    return Promise.resolve(same ? this : LoopbackConnection.from(this.discovery, found, redactor));
  }
}

/** Throws Error in words when the file is missing or is no discovery file. */
function readDiscovery(file: string): DiscoveryFile {
  let content: unknown;
  try {
    content = JSON.parse(readInputText(file));
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new Error(missing ? `${file}: no such discovery file` : `${file} is not JSON`, { cause: error });
  }
  // A port in quotes still leads to the agent; the check of discovery files reports it.
  const usable = withNumericPort(content);
  if (!discoveryFile.is(usable)) {
    const [problem] = discoveryFile.problems(content);
    throw new Error(`${file} is not a discovery file: ${problem?.path ?? ''} ${problem?.message ?? ''}`);
  }
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
