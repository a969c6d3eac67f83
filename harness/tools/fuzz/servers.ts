/**
 * The simulators as processes of their own, watched for their end and for changes to the prototypes that everything
 * inherits from.
 */
import { join } from 'node:path';
import { type Scratch, scratch } from '../../../simulators/common/testing/scratch.ts';
import type { Running } from '../../cli/testing/muster.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { muster, PROBE } from '../measure/process.ts';

/** How long a server may take to end. */
const END_MS = 10_000;
export const API_KEY = 'key_fuzz_0123456789abcdefghij';

/** One `muster simulate …`, with the probe in it. */
export class Server implements AsyncDisposable {
  /** Its ready line. */
  readonly ready: Record<string, unknown>;
  readonly #running: Running;

  private constructor(running: Running, ready: Record<string, unknown>) {
    this.#running = running;
    this.ready = ready;
  }

  /**
   * Resolves when it serves. Rejects with what it said when it ends before. `env`: also what the probe is asked for.
   */
  static async start(words: readonly string[], tmp: string, env: NodeJS.ProcessEnv): Promise<Server> {
    const loaded = { TMPDIR: tmp, NODE_OPTIONS: `--import=${PROBE}`, ...env };
    const running = muster(['simulate', ...words, '--log-level', 'silent'], loaded);
    return new Server(running, await running.ready());
  }

  get pid(): number {
    return this.#running.child.pid ?? 0;
  }

  /** What is wrong with the process; undefined while it is well. */
  get trouble(): string | undefined {
    const { child, stderr } = this.#running;
    if (child.exitCode !== null || child.signalCode !== null)
      return `the process ended (${child.signalCode ?? `exit code ${child.exitCode}`}): ${lastLines(stderr)}`;
    return stderr === '' ? undefined : `the process says: ${lastLines(stderr)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What hangs here was hung by an input, and that was told.
    const late = setTimeout(() => this.#running.child.kill('SIGKILL'), END_MS);
    await this.#running[Symbol.asyncDispose]();
    clearTimeout(late);
  }
}

/** Stacks name other lines from run to run, so the error alone is told. */
const lastLines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => /^\w*Error|polluted|warning/i.test(line))
    .slice(-2)
    .join('; ') || text.trim().slice(-200);

/** How each of the four servers is reached. */
export interface Addresses {
  device: HttpClientOptions;
  deviceControl: HttpClientOptions;
  platform: HttpClientOptions;
  platformControl: HttpClientOptions;
}

/** A device and a platform, each with its control API. */
export class Servers implements AsyncDisposable {
  readonly addresses: Addresses;
  /** Where the platform's agent API and its broker are. */
  readonly agentUrl: string;
  readonly mqttUrl: string;
  readonly #clients: Record<keyof Addresses, HttpClient>;
  readonly #processes: Server[];
  readonly #home: Scratch;

  private constructor(home: Scratch, device: Server, platform: Server) {
    this.#home = home;
    this.#processes = [device, platform];
    const { url, agent_url, mqtt, control, control_token } = platform.ready as Record<string, string>;
    const { origin, pathname } = new URL(url ?? '');
    const socket = (name: string): HttpClientOptions['endpoint'] => ({
      origin: 'http://localhost',
      socketPath: join(home.path, name),
    });
    this.agentUrl = agent_url ?? '';
    this.mqttUrl = mqtt ?? '';
    this.addresses = {
      device: { endpoint: socket('d.sock'), basePath: '/v0.2' },
      deviceControl: { endpoint: socket('c.sock') },
      platform: {
        endpoint: { origin },
        basePath: pathname,
        headers: { 'x-api-key': API_KEY, 'service-version': NEWEST_VERSION },
      },
      platformControl: {
        endpoint: { origin: control ?? '' },
        headers: { authorization: `Bearer ${control_token}` },
      },
    };
    const client = (name: keyof Addresses): HttpClient =>
      new HttpClient({ ...this.addresses[name], timeoutMs: 30_000 });
    this.#clients = {
      device: client('device'),
      deviceControl: client('deviceControl'),
      platform: client('platform'),
      platformControl: client('platformControl'),
    };
  }

  /** Resolves when both serve. */
  static async start(): Promise<Servers> {
    const home = scratch();
    const at = (name: string): string => join(home.path, name);
    const places = ['--socket', at('d.sock'), '--control', at('c.sock'), '--dir', at('robot')];
    const device = ['device', ...places, '--seed', '1', '--durability', 'os', '--retain', '500'];
    const platform = 'platform --port 0 --control 0 --devices 12 --seed 1 --api-key'.split(' ');
    const start = (words: readonly string[]) => Server.start(words, home.path, { MUSTER_WATCH: '1' });
    const [first, second] = await Promise.all([device, [...platform, API_KEY]].map(start));
    if (first === undefined || second === undefined) throw new Error('a simulator did not start');
    return new Servers(home, first, second);
  }

  /** A client for one of them, with a record of its own. */
  client(name: keyof Addresses): HttpClient {
    return this.#clients[name].with({ recorder: new Recorder() });
  }

  /** Resolves with what is wrong with a process or its answer to a plain question. */
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
