import { createServer, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { served } from '../../../../harness/common/testing/servers.ts';
import type { AgentDeployment, AgentRelease } from '../../../../harness/contract/agent.ts';
import type { Deployment } from '../../../../harness/contract/device-api.ts';
import { ApiError } from '../../../common/platform-http.ts';
import { eventually, scratch } from '../../../common/testing/scratch.ts';
import { agentHost } from '../../../platform/agent/testing/agent-host.ts';
import { MemoryPlatform } from '../../../platform/agent/testing/memory-platform.ts';
import { PlatformError } from '../../../platform/ports.ts';
import type { ConfigFile, DeployError, DeploymentPort, Uplink } from '../../ports.ts';
import { type AgentUplinkOptions, createUplink } from '../index.ts';
import { type DeploymentSource, Syncer } from '../sync.ts';
import type { Time, Timer } from '../time.ts';

export class ManualTime implements Time {
  /** Milliseconds of the steady clock; the wall clock adds `#turnedBy`. */
  #now: number;
  #turnedBy = 0;
  #pending: (Timer & { due: number; task(): void })[] = [];

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  get waiting(): number[] {
    return this.#pending.map(({ due }) => due - this.#now).sort((a, b) => a - b);
  }

  now(): number {
    return this.#now + this.#turnedBy;
  }

  elapsed(): number {
    return this.#now;
  }

  turn(ms: number): void {
    this.#turnedBy += ms;
  }

  after(ms: number, task: () => void): Timer {
    const pending = { due: this.#now + ms, task };
    this.#pending.push(pending);
    return pending;
  }

  cancel(timer: Timer | undefined): void {
    this.#pending = this.#pending.filter((pending) => pending !== timer);
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#pending.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.cancel(next);
      this.#now = Math.max(this.#now, next.due);
      next.task();
    }
    this.#now = end;
  }
}

export class MemoryDevice implements DeploymentPort {
  readonly files = new Map<string, string>();
  /** Texts `deployed <id>` and `removed <id>`, in the order of the event stream. */
  readonly events: string[] = [];
  readonly releases: AgentRelease[] = [];
  beforeDeploy: (wanted: AgentDeployment) => Promise<void> | DeployError | undefined = () => undefined;
  readonly #deployments = new Map<string, Deployment>();
  readonly #filesOf = new Map<string, ConfigFile[]>();

  active(): Deployment[] {
    return [...this.#deployments.values()].filter(({ activity_status }) => activity_status === 'deployed');
  }

  get(id: string): Deployment | undefined {
    return this.#deployments.get(id);
  }

  async deploy(wanted: AgentDeployment, files: ConfigFile[]) {
    const trouble = this.beforeDeploy(wanted);
    if (trouble instanceof Error) throw trouble;
    await trouble;
    const replaced: Deployment[] = [];
    for (const old of this.active()) replaced.push(await this.remove(old.id));
    for (const { filepath, content } of files) this.files.set(filepath, Buffer.from(content).toString());
    this.#filesOf.set(wanted.id, files);
    const deployment = this.#record(wanted, { activity_status: 'deployed', error_status: 'none', status: 'deployed' });
    this.events.push(`deployed ${wanted.id}`);
    return { deployment, replaced };
  }

  async remove(id: string): Promise<Deployment> {
    const deployment = this.#deployments.get(id);
    if (!deployment) throw new Error(`nothing to remove: ${id}`);
    for (const { filepath } of this.#filesOf.get(id) ?? []) this.files.delete(filepath);
    this.#filesOf.delete(id);
    this.events.push(`removed ${id}`);
    return this.#record(deployment, { activity_status: 'archived', status: 'archived' });
  }

  async fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment> {
    if (error === 'failed' && this.#filesOf.has(wanted.id)) await this.remove(wanted.id);
    const activity_status = error === 'failed' ? 'archived' : wanted.activity_status;
    return this.#record(wanted, { activity_status, error_status: error, status: error });
  }

  remember(release: AgentRelease): void {
    this.releases.push(release);
  }

  async publish(): Promise<void> {}

  #record(deployment: Deployment, change: Partial<Deployment>): Deployment {
    const recorded = { ...deployment, ...change };
    this.#deployments.set(recorded.id, recorded);
    return recorded;
  }
}

/** Bits of a test robot's RSA key, few because larger keys take long to generate. */
export const KEY_BITS = 1024;

type HostOptions = Parameters<typeof agentHost>[0];

export async function testRobot(options: { host?: HostOptions; uplink?: Partial<AgentUplinkOptions> } = {}) {
  const time = new ManualTime(Date.now());
  const home = scratch();
  const directory = home.path;
  const requests: string[] = [];
  const host = await agentHost({ clock: time, minKeyBits: KEY_BITS, ...options.host }, (method, path) =>
    requests.push(`${method} ${path}`),
  );
  const device = new MemoryDevice();
  const runs: Uplink[] = [];
  const anotherRun = (more: Partial<AgentUplinkOptions> = {}) => {
    const uplink = createUplink({
      kind: 'agent',
      platform: host.url,
      mqtt: host.mqttUrl,
      token: host.platform.provisioningToken(),
      time,
      keyBits: KEY_BITS,
      ...options.uplink,
      ...more,
    })(device, { name: 'robot', directory });
    runs.push(uplink);
    return uplink;
  };
  const uplink = anotherRun();
  const id = () => runs.findLast(({ deviceId }) => deviceId !== undefined)?.deviceId ?? '';
  const beginDeployment = async () => {
    const [begun, finished] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    device.beforeDeploy = (wanted) => {
      if (wanted.id !== deployment) return undefined;
      begun.resolve();
      return finished.promise;
    };
    const deployment = host.deploy(id(), { '/a.json': '1' });
    await begun.promise;
    return { deployment, finish: finished.resolve };
  };
  return {
    host,
    time,
    device,
    directory,
    requests,
    uplink,
    anotherRun,
    id,
    beginDeployment,
    count: (request: string) => requests.filter((each) => each === request).length,
    eventually: (holds: () => void | Promise<void>) =>
      eventually(async () => {
        time.advance(1_000);
        await holds();
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(runs.map((run) => run.stop()));
      await host[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

type Operation = 'list' | 'contents' | 'report';

export function overHttp<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof PlatformError ? new ApiError(error.status, error.code, error.message) : error;
  }
}

export function syncSetup() {
  const time = new ManualTime();
  const platform = new MemoryPlatform(time);
  const { id } = platform.enrolled('r');
  const device = new MemoryDevice();
  const downloads: string[] = [];
  const state: { trouble: (operation: Operation) => Error | undefined } = { trouble: () => undefined };
  const attempt = async <T>(operation: Operation, act: () => T): Promise<T> => {
    const trouble = state.trouble(operation);
    if (trouble) throw trouble;
    return overHttp(act);
  };
  const open = { activity: ['queued', 'deployed'], limit: 1000, offset: 0 };
  const source: DeploymentSource = {
    list: () => attempt('list', () => structuredClone(platform.deployments(id, open).items)),
    contents: (instances) =>
      attempt('contents', () =>
        instances.map((instance) => {
          downloads.push(instance.id);
          return platform.content(id, instance.id).data;
        }),
      ),
    report: (deploymentId, report) => attempt('report', () => void platform.report(id, deploymentId, report)),
  };
  const { signal } = new AbortController();
  const syncer = new Syncer(device, source, time);
  return { time, platform, device, downloads, state, syncer, id, sync: () => syncer.run(signal) };
}

export type ScriptedBroker = Awaited<ReturnType<typeof scriptedBroker>>;

export function welcoming(packet: Packet): Packet | undefined {
  if (packet.cmd === 'connect') return { cmd: 'connack', returnCode: 0, sessionPresent: false };
  if (packet.cmd === 'subscribe') return { cmd: 'suback', messageId: packet.messageId ?? 0, granted: [1, 1] };
  return undefined;
}

export async function scriptedBroker(answer: (packet: Packet, socket: Socket) => Packet | Buffer | undefined) {
  const received: Packet[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    const incoming = parser();
    incoming.on('packet', (packet) => {
      received.push(packet);
      const reply = answer(packet, socket);
      if (reply) socket.write(Buffer.isBuffer(reply) ? reply : generate(reply));
    });
    socket.on('data', (chunk: Buffer) => incoming.parse(chunk));
  });
  return { port: (await served(server)).port, received, sockets };
}
