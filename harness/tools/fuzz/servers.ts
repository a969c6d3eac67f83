/** Starts simulators as processes, and notices when a process ends or changes shared prototypes. */
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { PROBE, startMuster } from '../measure/process.ts';
import type { FuzzSubject } from './fuzzer.ts';

export const API_KEY = 'key_fuzz_0123456789abcdefghij';

type Ready = Record<string, unknown>;

export type Server = Awaited<ReturnType<typeof startServer>>;

/** Rejects with the server's output if it ends before it is ready. */
export async function startServer(words: readonly string[], tmp: string, env: NodeJS.ProcessEnv) {
  const loaded = { TMPDIR: tmp, NODE_OPTIONS: `--import=${PROBE}`, ...env };
  const running = startMuster(['simulate', ...words, '--log-level', 'silent'], loaded);
  const { child } = running;
  return {
    ready: await running.ready<Ready>(),
    pid: child.pid ?? 0,
    get trouble(): string | undefined {
      const { stderr } = running;
      if (child.exitCode !== null || child.signalCode !== null)
        return `the process ended (${child.signalCode ?? `exit code ${child.exitCode}`}): ${lastLines(stderr)}`;
      return stderr === '' ? undefined : `the process says: ${lastLines(stderr)}`;
    },
    [Symbol.asyncDispose]: async () => {
      // Kills the process after a delay, because an input may block it.
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await running[Symbol.asyncDispose]();
      clearTimeout(late);
    },
  };
}

/** Error messages without stack traces, which vary between runs. */
const lastLines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => /^\w*Error|polluted|warning/i.test(line))
    .slice(-2)
    .join('; ') || text.trim().slice(-200);

export const platformWords = (devices: number, ...more: readonly string[]): string[] => [
  ...['platform', '--port', '0', '--devices', String(devices), '--seed', '1', '--api-key', API_KEY],
  ...more,
];

export const onSocket = (socketPath: string, basePath = ''): HttpClientOptions => ({
  endpoint: { origin: 'http://localhost', socketPath },
  basePath,
});

export function onPlatform({ url }: Ready): HttpClientOptions {
  const { origin, pathname } = new URL(String(url));
  const headers = { 'x-api-key': API_KEY, 'service-version': NEWEST_VERSION };
  return { endpoint: { origin }, basePath: pathname, headers };
}

export const onPlatformControl = ({ control, control_token: token }: Ready): HttpClientOptions => ({
  endpoint: { origin: String(control) },
  headers: { authorization: `Bearer ${String(token)}` },
});

export async function attackClients<T>(
  server: HttpServer | NetServer,
  longestMs: number,
  attack: (http: HttpClient, input: T) => Promise<string | undefined>,
): Promise<FuzzSubject<T>> {
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

export type Servers = Awaited<ReturnType<typeof startServers>>;

async function startServers() {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(scratch());
  const at = (name: string): string => join(path, name);
  const start = async (words: readonly string[]) => starting.use(await startServer(words, path, { MUSTER_WATCH: '1' }));
  const places = ['--socket', at('d.sock'), '--control', at('c.sock'), '--dir', at('robot')];
  const [device, platform] = await Promise.all([
    start(['device', ...places, '--seed', '1', '--durability', 'os', '--retain', '500']),
    start(platformWords(12, '--control', '0')),
  ]);
  const reaching = (options: HttpClientOptions): HttpClient => {
    const http = new HttpClient({ ...options, timeoutMs: 30_000 });
    starting.defer(() => http.close());
    return http;
  };
  const clients: Record<ServerName, HttpClient> = {
    device: reaching(onSocket(at('d.sock'), '/v0.2')),
    deviceControl: reaching(onSocket(at('c.sock'))),
    platform: reaching(onPlatform(platform.ready)),
    platformControl: reaching(onPlatformControl(platform.ready)),
  };
  const client = (name: ServerName): HttpClient => clients[name].with({ recorder: new Recorder() });
  const ended = (): string | undefined => device.trouble ?? platform.trouble;
  const all = starting.move();
  return {
    client,
    trouble: async (): Promise<string | undefined> => {
      try {
        const health = await client('device').get('/health');
        if (health.status !== 200) return `GET /health is answered ${health.status}`;
        const devices = await client('platform').get('/devices?limit=1');
        if (devices.status !== 200) return `GET /devices is answered ${devices.status}`;
        return ended();
      } catch (error) {
        return ended() ?? `a plain request fails: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export async function againstServers<T>(
  attack: (servers: Servers, input: T) => Promise<string | undefined>,
): Promise<FuzzSubject<T>> {
  let servers = await startServers();
  let attacks = 0;
  const subject = {
    unharmed: true,
    attack: async (input: T): Promise<string | undefined> => {
      attacks += 1;
      // Restarts the servers now and then, because their state grows.
      if (attacks % 5_000 === 0) {
        await servers[Symbol.asyncDispose]();
        servers = await startServers();
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
