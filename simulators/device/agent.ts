/** One run of a device's agent, from its start to its stop or kill. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { timestamp } from '../common/clock.ts';
import { type Random, random } from '../common/random.ts';
import type { DeviceBehaviour } from './behaviour.ts';
import { type DeviceDirectory, KilledError } from './device-directory.ts';
import type { Environment } from './faults.ts';
import { type ServedAgent, serve } from './http/routes.ts';
import { adopt, type RequestHandler } from './http/shared-server.ts';
import { EventLog } from './log/event-log.ts';
import type { StoredEvent } from './log/line.ts';
import type { Incarnation } from './log/log-file.ts';
import { asStartError, type Identity, type Logger, type Settings } from './options.ts';
import type { Uplink } from './ports.ts';
import { ConfigFiles } from './state/config-files.ts';
import { readState } from './state/deployment-store.ts';
import { Deployments } from './state/deployments.ts';
import { FanOut } from './stream/fan-out.ts';
import type { Stream } from './stream/subscriber.ts';
import type { DeviceListener, Entrance } from './transport.ts';
import { Watch } from './watch.ts';

/** Placeholder for the time of a sync or connection that never happened, because the API requires a time. */
const NEVER = '1970-01-01T00:00:00.000Z';

export class Agent implements RequestHandler, ServedAgent {
  readonly behaviour: DeviceBehaviour;
  readonly log: Logger;
  readonly events: EventLog;
  readonly deployments: Deployments;
  readonly stream: Stream;
  uplink: Uplink | undefined;
  readonly #settings: Settings;
  readonly #identity: () => Identity;
  readonly #env: Environment;
  readonly #directory: DeviceDirectory;
  #ids: Random | undefined;
  #sockets: Set<Socket> | undefined;
  readonly #listeners: DeviceListener[] = [];
  readonly #watch: Watch | undefined;

  /** Throws Node's system error if the robot's directory is unreadable. */
  constructor(settings: Settings, identity: () => Identity, env: Environment, directory: DeviceDirectory) {
    this.#settings = settings;
    this.#identity = identity;
    this.#env = env;
    this.#directory = directory;
    this.behaviour = settings.behaviour;
    this.log = settings.log;
    if (settings.watch) this.#watch = new Watch(settings.watch);
    const incarnation: Incarnation = {
      directory: settings.dir,
      io: directory,
      durable: settings.durability === 'sync',
      isNew: directory.isNew,
      clock: env.clock,
      behaviour: settings.behaviour,
      onNotice: (notice, error) => this.log.warn(error ? { err: error } : {}, notice),
    };
    const fanOut = new FanOut(settings.behaviour.stream);
    const { retain, retainBytes, heartbeatMs, subscriberBytes, behaviour } = settings;
    const watch = this.#watch;
    const onStored = (events: readonly StoredEvent[]): void => {
      watch?.stored(events);
      fanOut.publish(events);
    };
    this.events = new EventLog({ ...incarnation, retain, retainBytes, onStored });
    const write: Environment['write'] = (socket, bytes) => {
      watch?.sent(socket, bytes);
      return env.write(socket, bytes);
    };
    this.stream = {
      ...{ log: this.events, io: directory, behaviour: behaviour.stream, heartbeatMs, subscriberBytes, fanOut },
      onNotice: incarnation.onNotice,
      write: watch === undefined ? env.write : write,
      ...(watch && { onOpen: (socket, opened) => watch.opened(socket, opened) }),
    };
    this.deployments = this.#openDeployments(incarnation);
  }

  get token(): string | undefined {
    return this.#listeners.find(({ token }) => token !== undefined)?.token;
  }

  get url(): string | undefined {
    return this.#listeners.find(({ url }) => url !== undefined)?.url;
  }

  get connections(): number {
    return this.#sockets?.size ?? 0;
  }

  /** Resolves once the agent accepts requests. Rejects with StartError, or with KilledError if the agent is killed. */
  async start(): Promise<void> {
    const { endpoints, behaviour } = this.#settings;
    if (!this.#directory.isNew) {
      await this.deployments.settle().catch((error: unknown) => {
        this.log.error({ err: error }, 'what was under way at the last stop could not be finished');
      });
    }
    const serving = {
      rules: behaviour.transport,
      onConnection: (socket: Socket, entrance: Entrance) => this.#accept(socket, entrance),
      check: () => this.#directory.check(),
    };
    try {
      for (const endpoint of endpoints) {
        this.#listeners.push(await asStartError(endpoint.option, endpoint.listen(serving)));
      }
      serving.check();
    } catch (error) {
      if (error instanceof KilledError) await this.kill();
      else await this.stop();
      throw error;
    }
    this.#watch?.start({ events: this.events, io: this.#directory, current: () => this.deployments.current() });
    this.uplink = this.#settings.uplink?.(this.deployments, { ...this.#identity(), io: this.#directory });
    this.uplink?.start().catch((error: unknown) => this.log.error({ err: error }, 'the uplink did not come up'));
  }

  /** Rejects with AggregateError if the uplink, the deployments or the event log cannot close. */
  async stop(): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    const results = await Promise.allSettled([this.uplink?.stop(), this.deployments.close()]);
    results.push(...(await Promise.allSettled([this.events.close()])));
    this.#watch?.stop();
    this.stream.fanOut.end();
    for (const socket of this.#sockets ?? []) socket.destroySoon();
    this.#directory.release();
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'the agent did not end cleanly');
  }

  /** Ends the agent like SIGKILL, without flushing. Resolves once the kernel has completed a pending write. */
  kill(): Promise<void> | undefined {
    const writing = this.#directory.fence();
    this.#watch?.stop();
    this.events.abandon();
    this.deployments.abandon();
    for (const listener of this.#listeners) listener.abandon();
    this.stream.fanOut.drop();
    for (const socket of this.#sockets ?? []) socket.destroy();
    (this.uplink?.abandon?.() ?? this.uplink?.stop())?.catch((error: unknown) =>
      this.log.debug({ err: error }, 'the uplink of a killed agent'),
    );
    return writing;
  }

  handle(request: IncomingMessage, response: ServerResponse, entrance: Entrance): void {
    const delayMs = this.#env.latency() + this.behaviour.http.delayMs();
    if (delayMs > 0) setTimeout(() => serve(this, request, response, entrance), delayMs);
    else serve(this, request, response, entrance);
  }

  device() {
    const { uplink } = this;
    return {
      object: 'device',
      id: uplink?.deviceId ?? this.#identity().deviceId,
      name: this.#identity().name,
      status: uplink?.status === 'online' ? 'online' : 'offline',
      last_synced_at: uplink?.lastSyncedAt ?? NEVER,
      last_connected_at: uplink?.lastConnectedAt ?? NEVER,
      last_disconnected_at: uplink?.lastDisconnectedAt ?? NEVER,
    };
  }

  async sync() {
    const attempted = timestamp(this.#env.clock);
    const { code, message } = (await this.uplink?.sync()) ?? {
      code: 'network_connection_error',
      message: 'this robot has no uplink to a platform',
    };
    return {
      code,
      message,
      last_synced_at: this.uplink?.lastSyncedAt ?? NEVER,
      last_attempted_sync_at: attempted,
      in_cooldown: code === 'in_cooldown',
      cooldown_ends_at: attempted,
    };
  }

  #openDeployments(incarnation: Incarnation): Deployments {
    const { directory, io, durable, behaviour, isNew } = incarnation;
    const { retryMs, failedMs } = this.#settings;
    // Derives new ids from the seed and the robot's history, so that a restarted agent repeats no id.
    const newId = (): string => {
      this.#ids ??= random(this.#settings.seed).fork(`${this.events.latest}/${this.deployments.history}`);
      return this.#ids.text(12);
    };
    const deviceId = () => this.#identity().deviceId;
    const files = new ConfigFiles(directory, io, durable);
    const options = { ...incarnation, deviceId, newId, log: this.events, files, retryMs, failedMs };
    const remembered = behaviour.deployments.remembers !== 'nothing' && !isNew;
    return new Deployments(options, remembered ? readState(directory) : undefined);
  }

  #accept(socket: Socket, entrance: Entrance): void {
    this.#sockets ??= new Set();
    if (!this.behaviour.transport.accepts(this.#sockets.size)) {
      socket.destroy();
      return;
    }
    this.behaviour.transport.connected(socket);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets?.delete(socket));
    adopt(socket, this, entrance);
  }
}
