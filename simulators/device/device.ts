import type { ControlInfo, StopSignal } from '../../harness/contract/control.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import { random } from '../common/random.ts';
import { Agent } from './agent.ts';
import type { ControlAddress, ControlOption, ControlServer } from './control/server.ts';
import { type AgentCall, type AgentCalls, ControlError, ControlTarget } from './control/target.ts';
import { DeviceDirectory, KilledError } from './device-directory.ts';
import { type Environment, withFaults } from './faults.ts';
import { disk } from './log/io.ts';
import { LOG_FILE } from './log/log-file.ts';
import {
  asStartError,
  completeOptions,
  type DeviceOptions,
  type Identity,
  type Settings,
  startErrorOf,
} from './options.ts';
import type { DeploymentPort, Uplink } from './ports.ts';
import { fillerEvents } from './state/deployment-store.ts';

const PUBLISH_PORTION = 1_000;

export interface DeviceStats {
  running: boolean;
  events: number;
  earliestId: number;
  latestId: number;
  logBytes: number;
  subscribers: number;
  connections: number;
}

/** Device with an agent in this process; disposal ends the agent and the control API. */
export class SimulatedDevice extends ControlTarget implements AsyncDisposable {
  readonly #settings: Settings;
  readonly #env: Environment;
  #identity: Identity | undefined;
  #agent: Agent | undefined;
  #pendingWrites: Promise<void> | undefined;
  #changing: Agent | undefined;
  #control: ControlServer | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: DeviceOptions) {
    super();
    const settings = completeOptions(options);
    const { seed, faults, clock } = settings;
    this.#settings = settings;
    const env = clock === systemClock ? MACHINE : { ...MACHINE, clock };
    const onCrash = options.onCrash ?? (() => this.kill());
    this.#env = faults.length === 0 ? env : withFaults(env, faults, random(seed), onCrash);
  }

  get identity(): Identity {
    if (this.#identity) return this.#identity;
    const { dir: directory, seed, deviceId = `dvc_${random(seed).fork('device').text(12)}`, name } = this.#settings;
    this.#identity = { deviceId, name: name ?? deviceId, directory };
    return this.#identity;
  }

  /** Undefined for a device without a unix socket. */
  get socketPath(): string | undefined {
    return this.address['socket'];
  }

  /** Paths of the unix socket (`socket`) and of the discovery file (`discovery`), as far as the device has them. */
  get address(): Record<string, string> {
    return Object.assign({}, ...this.#settings.endpoints.map(({ address }) => address));
  }

  /** URL `http://127.0.0.1:<port>`; undefined unless a running agent serves loopback. */
  get url(): string | undefined {
    return this.#agent?.url;
  }

  get token(): string | undefined {
    return this.#agent?.token;
  }

  get controlAddress(): ControlAddress | undefined {
    return this.#control?.address;
  }

  /** Bearer token of the control API's port; undefined without such a port. */
  get controlToken(): string | undefined {
    return this.#control?.token;
  }

  get uplink(): Uplink | undefined {
    return this.#agent?.uplink;
  }

  /** Throws ControlError (`agent_down`) while the agent is down. */
  get port(): DeploymentPort {
    return this.#requireAgent().deployments;
  }

  get running(): boolean {
    return this.#agent !== undefined;
  }

  /** Starts the agent; resolves once the agent accepts requests. */
  async start(): Promise<void> {
    await this.#stopping;
    if (this.#agent) return;
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  /** Ends the agent. `SIGTERM` lets the agent store accepted changes; `SIGKILL` calls `kill`. */
  async stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    if (signal === 'SIGKILL') return this.kill();
    await this.#starting;
    const agent = this.#agent;
    if (agent) {
      this.#agent = undefined;
      this.#changing = agent;
      this.#stopping = agent.stop().finally(() => (this.#stopping = this.#changing = undefined));
    }
    await this.#stopping;
  }

  /** Ends the agent like SIGKILL: breaks connections, flushes nothing, leaves the socket file. */
  kill(): void {
    this.#pendingWrites = (this.#agent ?? this.#changing)?.kill() ?? this.#pendingWrites;
    this.#agent = this.#changing = undefined;
  }

  async call<K extends AgentCall>(name: K, given: AgentCalls[K]['given']) {
    return CALLS[name](this.#requireAgent(), given, this.#env.clock);
  }

  stats(): DeviceStats {
    const agent = this.#agent;
    const events = agent?.events;
    return {
      running: agent !== undefined,
      events: events?.count ?? 0,
      earliestId: events?.earliest ?? 0,
      latestId: events?.latest ?? 0,
      logBytes: events?.generation.bytes ?? 0,
      subscribers: agent?.stream.fanOut.size ?? 0,
      connections: agent?.connections ?? 0,
    };
  }

  info(): ControlInfo {
    const { dir, retain, heartbeatMs, behaviour } = this.#settings;
    return {
      capabilities: ['drive', 'compact', 'restart', 'log', 'files'],
      ...(behaviour.log.tellsRetention && { retention: retain }),
      heartbeat_seconds: heartbeatMs / 1_000,
      event_log: `${dir}/${LOG_FILE}`,
      config_root: `${dir}/root`,
    };
  }

  async serveControl(where: ControlOption): Promise<void> {
    const { serveControl } = await import('./control/server.ts');
    this.#control ??= await asStartError('control', serveControl(this, where));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const results = await Promise.allSettled([this.stop(), this.#control?.close()]);
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'the device did not end cleanly');
  }

  async #start(): Promise<void> {
    await this.#pendingWrites;
    this.#pendingWrites = undefined;
    let directory: DeviceDirectory | undefined;
    let agent: Agent;
    try {
      directory = new DeviceDirectory(this.#settings.dir, this.#env.io);
      agent = new Agent(this.#settings, () => this.identity, this.#env, directory);
    } catch (error) {
      directory?.release();
      throw startErrorOf('dir', error);
    }
    this.#changing = agent;
    await agent.start();
    if (this.#changing !== agent) throw new KilledError('the agent was killed while it started');
    this.#changing = undefined;
    this.#agent = agent;
  }

  #requireAgent(): Agent {
    if (!this.#agent) throw new ControlError(409, 'agent_down', 'the agent is down; start it first');
    return this.#agent;
  }
}

const CALLS: {
  [K in AgentCall]: (agent: Agent, given: AgentCalls[K]['given'], clock: Clock) => Promise<AgentCalls[K]['answer']>;
} = {
  deploy: async ({ deployments }, wanted) => {
    const { release_id: release = 'rls_' } = wanted;
    if (!release.startsWith('rls_'))
      throw new RangeError(`release_id must begin with rls_, not ${JSON.stringify(release)}`);
    return deployments.drive(wanted);
  },
  remove: ({ deployments }, id) => deployments.remove(id),
  publish: async ({ events }, count, clock) => {
    const ids = { first: 0, last: 0 };
    for (let done = 0; done < count; done += PUBLISH_PORTION) {
      const drafts = fillerEvents(events.latest, Math.min(PUBLISH_PORTION, count - done), clock);
      const { first, last } = await events.append(drafts);
      ids.first ||= first;
      ids.last = last;
    }
    return { first_id: ids.first, last_id: ids.last };
  },
  compact: async ({ events }) => {
    await events.compact();
    return { earliest_id: events.earliest, latest_id: events.latest };
  },
  cut: async ({ stream: { fanOut } }) => {
    const streams = fanOut.size;
    fanOut.drop();
    return { streams };
  },
  log: ({ events }) => events.inspect(),
};

const MACHINE: Environment = { io: disk, clock: systemClock, write: (to, bytes) => to.write(bytes), latency: () => 0 };
