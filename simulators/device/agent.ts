/** One incarnation of a device's agent: what a process is on a real robot. It comes up from disk and is never reused. */
import { existsSync, mkdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock, timestamp } from '../common/clock.ts';
import { random } from '../common/random.ts';
import { type DeviceBehaviour, behaviour as rightBehaviour } from './behaviour.ts';
import { adopt, type RequestHandler, type Transport } from './http/hub.ts';
import { serve } from './http/routes.ts';
import { EventLog } from './log/event-log.ts';
import { disk } from './log/io.ts';
import { DEFAULTS, type DeviceOptions, type Identity, type Logger } from './options.ts';
import type { Uplink } from './ports.ts';
import { ConfigFiles } from './state/config-files.ts';
import { Deployments } from './state/deployments.ts';
import { emptyState, readState } from './state/stored-state.ts';
import { FanOut } from './stream/fan-out.ts';
import type { Stream } from './stream/subscriber.ts';
import { type LoopbackListener, listenLoopback } from './transport/loopback.ts';
import { type Listener, listenUnix } from './transport/unix.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export class Agent implements RequestHandler {
  readonly behaviour: DeviceBehaviour;
  readonly log: Logger;
  readonly events: EventLog;
  readonly deployments: Deployments;
  readonly stream: Stream;
  readonly #options: DeviceOptions;
  readonly #identity: Identity;
  readonly #sockets = new Set<Socket>();
  #unix: Listener | undefined;
  #loopback: LoopbackListener | undefined;
  uplink: Uplink | undefined;

  /** Reads the robot's directory. Throws when it cannot be read or made. */
  constructor(options: DeviceOptions, identity: Identity, incarnation: number) {
    this.#options = options;
    this.#identity = identity;
    this.behaviour = options.behaviour ?? rightBehaviour;
    this.log = options.log ?? silent;
    const { dir: directory, durability = 'sync', clock = systemClock, seed = options.dir } = options;
    mkdirSync(directory, { recursive: true });
    const fanOut = new FanOut(this.behaviour.stream);
    this.events = new EventLog({
      directory,
      durability,
      clock,
      io: disk,
      retain: options.retain ?? DEFAULTS.retain,
      retainBytes: options.retainBytes ?? DEFAULTS.retainBytes,
      onStored: (events) => fanOut.publish(events),
      onNotice: (notice, error) => this.log.warn(error ? { err: error } : {}, notice),
    });
    this.stream = {
      log: this.events,
      io: disk,
      behaviour: this.behaviour.stream,
      heartbeatMs: options.heartbeatMs ?? DEFAULTS.heartbeatMs,
      subscriberBytes: options.subscriberBytes ?? DEFAULTS.subscriberBytes,
      fanOut,
    };
    this.deployments = new Deployments(
      {
        directory,
        deviceId: identity.deviceId,
        durable: durability === 'sync',
        io: disk,
        clock,
        random: () => random(seed).fork(`deployment/${incarnation}/${this.events.latest}`),
        log: this.events,
        files: new ConfigFiles(directory, disk, durability === 'sync'),
        behaviour: this.behaviour,
      },
      readState(directory) ?? emptyState(),
    );
  }

  get token(): string | undefined {
    return this.#loopback?.token;
  }

  get url(): string | undefined {
    return this.#loopback && `http://127.0.0.1:${this.#loopback.port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const { socket, loopback, dir } = this.#options;
    if (existsSync(`${dir}/state.json`)) await this.deployments.settle();
    try {
      if (socket !== undefined) {
        const { path, mode = DEFAULTS.socketMode } = typeof socket === 'string' ? { path: socket } : socket;
        this.#unix = await listenUnix(path, mode, (connection) => this.#accept(connection, 'unix'));
      }
      if (loopback) {
        this.#loopback = await listenLoopback(loopback.discovery, (connection) => this.#accept(connection, 'loopback'));
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.uplink = this.#options.uplink?.(this.deployments, this.#identity);
    this.uplink?.start().catch((error: unknown) => this.log.error({ err: error }, 'the uplink did not come up'));
  }

  /** Ends in order: what was accepted is finished and stored, streams are ended, files that say "here I am" removed. */
  async stop(): Promise<void> {
    this.#unix?.close();
    this.#loopback?.close();
    const results = await Promise.allSettled([this.uplink?.stop(), this.deployments.idle()]);
    results.push(...(await Promise.allSettled([this.events.close()])));
    this.stream.fanOut.end();
    for (const socket of this.#sockets) socket.destroySoon();
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'the agent did not end cleanly');
  }

  /** Ends as after SIGKILL: nothing is flushed or tidied up, connections break. */
  kill(): void {
    this.events.abandon();
    this.#unix?.abandon();
    this.#loopback?.abandon();
    this.stream.fanOut.drop();
    for (const socket of this.#sockets) socket.destroy();
    this.uplink?.stop().catch(() => undefined);
  }

  handle(request: IncomingMessage, response: ServerResponse, transport: Transport): void {
    serve(this, request, response, transport);
  }

  /** `GET /device`. */
  device() {
    const { uplink } = this;
    const never = '1970-01-01T00:00:00.000Z';
    return {
      object: 'device',
      id: uplink?.deviceId ?? this.#identity.deviceId,
      name: this.#identity.name,
      status: uplink?.status === 'online' ? 'online' : 'offline',
      last_synced_at: uplink?.lastSyncedAt ?? never,
      last_connected_at: uplink?.lastConnectedAt ?? never,
      last_disconnected_at: uplink?.lastDisconnectedAt ?? never,
    };
  }

  /** `POST /device/sync`. */
  async sync() {
    const attempted = timestamp(this.#options.clock ?? systemClock);
    const result = (await this.uplink?.sync()) ?? {
      code: 'network_connection_error',
      message: 'this robot has no uplink to a platform',
    };
    return {
      ...result,
      last_synced_at: this.uplink?.lastSyncedAt ?? '1970-01-01T00:00:00.000Z',
      last_attempted_sync_at: attempted,
      in_cooldown: result.code === 'in_cooldown',
      cooldown_ends_at: attempted,
    };
  }

  #accept(socket: Socket, transport: Transport): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    adopt(socket, this, transport);
  }
}
