/** One incarnation of a device's agent: what a process is on a real robot. It comes up from disk and is never reused. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { timestamp } from '../common/clock.ts';
import { type Random, random } from '../common/random.ts';
import type { DeviceBehaviour } from './behaviour.ts';
import type { Surroundings } from './faults/apply.ts';
import { type Home, KilledError } from './home.ts';
import { adopt, type RequestHandler } from './http/hub.ts';
import { serve } from './http/routes.ts';
import { EventLog } from './log/event-log.ts';
import type { Identity, Logger, Settings } from './options.ts';
import type { Uplink } from './ports.ts';
import { asStartError } from './start-error.ts';
import { ConfigFiles } from './state/config-files.ts';
import { Deployments } from './state/deployments.ts';
import { readState } from './state/stored-state.ts';
import { FanOut } from './stream/fan-out.ts';
import type { Stream } from './stream/subscriber.ts';
import type { DeviceListener, Entrance } from './transport/transport.ts';

/** Shown where something has never happened, because the published shape has no way to say so. */
const NEVER = '1970-01-01T00:00:00.000Z';

export class Agent implements RequestHandler {
  readonly behaviour: DeviceBehaviour;
  readonly log: Logger;
  readonly events: EventLog;
  readonly deployments: Deployments;
  readonly stream: Stream;
  uplink: Uplink | undefined;
  readonly #settings: Settings;
  readonly #identity: () => Identity;
  readonly #around: Surroundings;
  readonly #home: Home;
  #ids: Random | undefined;
  #sockets: Set<Socket> | undefined;
  readonly #listeners: DeviceListener[] = [];

  /** Reads the robot's directory. Throws the system's error when it cannot be read. */
  constructor(settings: Settings, identity: () => Identity, around: Surroundings, home: Home) {
    const { dir: directory, behaviour, retain, retainBytes, log, retryMs, failedMs } = settings;
    const { clock } = around;
    const durable = settings.durability === 'sync';
    this.#settings = settings;
    this.#identity = identity;
    this.#around = around;
    this.behaviour = behaviour;
    this.log = log;
    const io = home;
    this.#home = home;
    const onNotice = (notice: string, error?: unknown) => log.warn(error ? { err: error } : {}, notice);
    const fanOut = new FanOut(behaviour.stream);
    const onStored = fanOut.publish.bind(fanOut);
    const { isNew } = home;
    this.events = new EventLog({
      directory,
      retain,
      retainBytes,
      durable,
      io,
      isNew,
      clock,
      behaviour,
      onStored,
      onNotice,
    });
    this.stream = {
      log: this.events,
      io,
      behaviour: behaviour.stream,
      heartbeatMs: settings.heartbeatMs,
      subscriberBytes: settings.subscriberBytes,
      fanOut,
      write: around.write,
      onNotice,
    };
    this.deployments = new Deployments(
      {
        directory,
        deviceId: () => identity().deviceId,
        durable,
        io,
        clock,
        newId: () => this.#newId(),
        log: this.events,
        files: new ConfigFiles(directory, io, durable),
        behaviour: behaviour.deployments,
        retryMs,
        failedMs,
        onNotice,
      },
      behaviour.deployments.remembers && !isNew ? readState(directory) : undefined,
    );
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

  /** Resolves when it serves. */
  async start(): Promise<void> {
    const { endpoints, behaviour } = this.#settings;
    if (!this.#home.isNew) {
      await this.deployments.settle().catch((error: unknown) => {
        this.log.error({ err: error }, 'what was under way at the last stop could not be finished');
      });
    }
    const serving = {
      rules: behaviour.transport,
      onConnection: (socket: Socket, entrance: Entrance) => this.#accept(socket, entrance),
      check: () => this.#home.check(),
    };
    try {
      for (const endpoint of endpoints) {
        this.#listeners.push(await asStartError(endpoint.option, endpoint.listen(serving)));
      }
      serving.check();
    } catch (error) {
      if (error instanceof KilledError) this.kill();
      else await this.stop();
      throw error;
    }
    this.uplink = this.#settings.uplink?.(this.deployments, { ...this.#identity(), io: this.#home });
    this.uplink?.start().catch((error: unknown) => this.log.error({ err: error }, 'the uplink did not come up'));
  }

  /** Ends in order: what was accepted is finished and stored, streams are ended, files that say "here I am" removed. */
  async stop(): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    const results = await Promise.allSettled([this.uplink?.stop(), this.deployments.close()]);
    results.push(...(await Promise.allSettled([this.events.close()])));
    this.stream.fanOut.end();
    for (const socket of this.#sockets ?? []) socket.destroySoon();
    this.#home.release();
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'the agent did not end cleanly');
  }

  /** Ends as after SIGKILL: nothing is flushed or tidied up, connections break. The result is that of `Home.cut`. */
  kill(): Promise<void> | undefined {
    const writing = this.#home.cut();
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
    const late = this.#around.latency();
    if (late > 0) setTimeout(() => serve(this, request, response, entrance), late);
    else serve(this, request, response, entrance);
  }

  /** `GET /device`. */
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

  /** `POST /device/sync`. */
  async sync() {
    const attempted = timestamp(this.#around.clock);
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

  /** The same ids for the same seed and history, and never one twice. */
  #newId(): string {
    this.#ids ??= random(this.#settings.seed).fork(`${this.events.latest}/${this.deployments.history}`);
    return this.#ids.text(12);
  }

  #accept(socket: Socket, entrance: Entrance): void {
    this.#sockets ??= new Set();
    if (!this.behaviour.transport.accepts(this.#sockets.size)) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets?.delete(socket));
    adopt(socket, this, entrance);
  }
}
