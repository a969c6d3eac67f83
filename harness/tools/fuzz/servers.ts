/** The simulators as processes of their own, watched for their end and for changes to the prototypes that everything inherits from. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Scratch, scratch } from '../../../simulators/common/testing/scratch.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const WATCH = fileURLToPath(new URL('watch.ts', import.meta.url));
const LAST_WORDS = 2_000;
export const API_KEY = 'key_fuzz_0123456789abcdefghij';

/** What is loaded into a server instead of the watch, and what else its environment holds. */
export interface ServerOptions {
  load?: string;
  env?: Record<string, string>;
}

/** One `muster simulate …`. */
export class Server implements AsyncDisposable {
  /** Its ready line. */
  readonly ready: Record<string, unknown>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #said: { text: string };

  private constructor(child: ChildProcess, ended: Promise<unknown>, said: { text: string }, ready: string) {
    this.#child = child;
    this.#ended = ended;
    this.#said = said;
    this.ready = JSON.parse(ready) as Record<string, unknown>;
  }

  /** Resolves when it serves. Rejects with what it said when it ends before. */
  static async start(words: readonly string[], tmp: string, more: ServerOptions = {}): Promise<Server> {
    const child = spawn(process.execPath, [CLI, 'simulate', ...words, '--log-level', 'silent'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', TMPDIR: tmp, NODE_OPTIONS: `--import=${more.load ?? WATCH}`, ...more.env },
    });
    const said = { text: '' };
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.text = (said.text + text).slice(-LAST_WORDS);
    });
    const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
    const line = await Promise.race([
      new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
      ended.then(() => Promise.reject(new Error(`muster simulate ${words[0]} does not start: ${said.text}`))),
    ]);
    return new Server(child, ended, said, line);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What is wrong with the process; undefined while it is well. */
  get trouble(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null)
      return `the process ended (${signalCode ?? `exit code ${exitCode}`}): ${lastLines(this.#said.text)}`;
    return this.#said.text === '' ? undefined : `the process says: ${lastLines(this.#said.text)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGTERM');
    // What hangs here was hung by an input, and that was told.
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    await this.#ended;
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
    const platform = [
      'platform',
      '--port',
      '0',
      '--control',
      '0',
      '--devices',
      '12',
      '--seed',
      '1',
      '--api-key',
      API_KEY,
    ];
    const [first, second] = await Promise.all([device, platform].map((words) => Server.start(words, home.path)));
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
