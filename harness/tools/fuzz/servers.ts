/** Simulators as processes, watched for their end and for changes to shared prototypes. */
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { type Scratch, scratch } from '../../../simulators/common/testing/scratch.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { PROBE, startMuster } from '../measure/process.ts';
import type { Subject } from './engine.ts';

/** Milliseconds for a server to end. */
const END_MS = 10_000;
export const API_KEY = 'key_fuzz_0123456789abcdefghij';

type Ready = Record<string, unknown>;

/** Process of `muster simulate …` with the probe in it. */
export interface Server extends AsyncDisposable {
  readonly ready: Ready;
  readonly pid: number;
  /** Failure of the process; undefined while it is well. */
  readonly trouble: string | undefined;
}

/** Resolves when it serves. Rejects with its output when it ends before. `env`: also has the settings of the probe. */
export async function startServer(words: readonly string[], tmp: string, env: NodeJS.ProcessEnv): Promise<Server> {
  const loaded = { TMPDIR: tmp, NODE_OPTIONS: `--import=${PROBE}`, ...env };
  const running = startMuster(['simulate', ...words, '--log-level', 'silent'], loaded);
  const { child } = running;
  return {
    ready: await running.ready(),
    pid: child.pid ?? 0,
    get trouble() {
      const { stderr } = running;
      if (child.exitCode !== null || child.signalCode !== null)
        return `the process ended (${child.signalCode ?? `exit code ${child.exitCode}`}): ${lastLines(stderr)}`;
      return stderr === '' ? undefined : `the process says: ${lastLines(stderr)}`;
    },
    [Symbol.asyncDispose]: async () => {
      // A hanging server was hung by an input, which was reported.
      const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
      await running[Symbol.asyncDispose]();
      clearTimeout(late);
    },
  };
}

/** Stacks vary between runs, so only the error counts. */
const lastLines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => /^\w*Error|polluted|warning/i.test(line))
    .slice(-2)
    .join('; ') || text.trim().slice(-200);

/** Words of a simulated platform, which takes `API_KEY`. */
export const platformWords = (devices: number, ...more: readonly string[]): string[] => [
  ...['platform', '--port', '0', '--devices', String(devices), '--seed', '1', '--api-key', API_KEY],
  ...more,
];

/** Options to reach a device, or its control API. */
export const onSocket = (socketPath: string, basePath = ''): HttpClientOptions => ({
  endpoint: { origin: 'http://localhost', socketPath },
  basePath,
});

/** Options to reach a platform, by its ready line. */
export function onPlatform({ url }: Ready): HttpClientOptions {
  const { origin, pathname } = new URL(String(url));
  const headers = { 'x-api-key': API_KEY, 'service-version': NEWEST_VERSION };
  return { endpoint: { origin }, basePath: pathname, headers };
}

/** Options to reach the control API of a platform, by its ready line. */
export const onPlatformControl = ({ control, control_token: token }: Ready): HttpClientOptions => ({
  endpoint: { origin: String(control) },
  headers: { authorization: `Bearer ${String(token)}` },
});

/**
 * Clients of this process under attack by a server of the fuzzer's own. `attack` gets one with a recorder of its own,
 * which waits up to `longestMs`.
 */
export async function attackClients<T>(
  server: HttpServer | NetServer,
  longestMs: number,
  attack: (http: HttpClient, input: T) => Promise<string | undefined>,
): Promise<Subject<T>> {
  const home = scratch();
  const socketPath = join(home.path, 's');
  await once(server.listen(socketPath), 'listening');
  const http = new HttpClient({ ...onSocket(socketPath), timeoutMs: longestMs });
  return {
    unharmed: true,
    attack: (input) => attack(http.with({ recorder: new Recorder() }), input),
    [Symbol.asyncDispose]: async () => {
      await http.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
      await once(server, 'close');
      home[Symbol.dispose]();
    },
  };
}

export type ServerName = 'device' | 'deviceControl' | 'platform' | 'platformControl';

/** A device and a platform, each with its control API. */
export class Servers implements AsyncDisposable {
  readonly #clients: Record<ServerName, HttpClient>;
  readonly #processes: readonly [device: Server, platform: Server];
  readonly #home: Scratch;

  private constructor(home: Scratch, processes: readonly [device: Server, platform: Server]) {
    this.#home = home;
    this.#processes = processes;
    const { ready } = processes[1];
    const client = (options: HttpClientOptions): HttpClient => new HttpClient({ ...options, timeoutMs: 30_000 });
    this.#clients = {
      device: client(onSocket(join(home.path, 'd.sock'), '/v0.2')),
      deviceControl: client(onSocket(join(home.path, 'c.sock'))),
      platform: client(onPlatform(ready)),
      platformControl: client(onPlatformControl(ready)),
    };
  }

  /** Resolves when both serve. */
  static async start(): Promise<Servers> {
    const home = scratch();
    const at = (name: string): string => join(home.path, name);
    const places = ['--socket', at('d.sock'), '--control', at('c.sock'), '--dir', at('robot')];
    const device = ['device', ...places, '--seed', '1', '--durability', 'os', '--retain', '500'];
    const start = (words: readonly string[]) => startServer(words, home.path, { MUSTER_WATCH: '1' });
    return new Servers(home, await Promise.all([start(device), start(platformWords(12, '--control', '0'))]));
  }

  /** A client for one of them, with a recorder of its own. */
  client(name: ServerName): HttpClient {
    return this.#clients[name].with({ recorder: new Recorder() });
  }

  /** Resolves with the failure of a process, or of its answer to a plain request. */
  async trouble(): Promise<string | undefined> {
    const ended = (): string | undefined => this.#processes.map((server) => server.trouble).find((it) => it);
    try {
      const health = await this.client('device').get('/health');
      if (health.status !== 200) return `GET /health is answered ${health.status}`;
      const devices = await this.client('platform').get('/devices?limit=1');
      if (devices.status !== 200) return `GET /devices is answered ${devices.status}`;
      return ended();
    } catch (error) {
      return ended() ?? `a plain request fails: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#clients).map((client) => client.close()));
    await Promise.all(this.#processes.map((server) => server[Symbol.asyncDispose]()));
    this.#home[Symbol.dispose]();
  }
}

/** Attacks after which the servers start afresh, because their state grows. */
const FRESH_AFTER = 5_000;

/** Simulators under attack: a failure of theirs afterwards outranks the attack's own. */
export async function againstServers<T>(
  attack: (servers: Servers, input: T) => Promise<string | undefined>,
): Promise<Subject<T>> {
  let servers = await Servers.start();
  let attacks = 0;
  const subject = {
    unharmed: true,
    attack: async (input: T): Promise<string | undefined> => {
      attacks += 1;
      if (attacks % FRESH_AFTER === 0) {
        await servers[Symbol.asyncDispose]();
        servers = await Servers.start();
      }
      const wrong = await attack(servers, input);
      const trouble = await servers.trouble();
      subject.unharmed = trouble === undefined;
      return trouble ?? wrong;
    },
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
  return subject;
}
