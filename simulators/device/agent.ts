import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { defined } from '../../harness/common/defined.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';
import { timestamp } from '../common/clock.ts';
import { type Random, random } from '../common/random.ts';
import type { DeviceBehaviour } from './behaviour.ts';
import { type DeviceDirectory, KilledError } from './device-directory.ts';
import type { Environment } from './faults.ts';
import { type ServedAgent, serve } from './http/routes.ts';
import { adopt, type RequestHandler } from './http/shared-server.ts';
import { EventLog } from './log/event-log.ts';
import type { DiskIo } from './log/io.ts';
import type { StoredEvent } from './log/line.ts';
import type { Incarnation } from './log/log-file.ts';
import { asStartError, type Identity, type Logger, type Settings } from './options.ts';
import type { Opened, Seen, SeenEvent, SeenFrame, SeenListener, SeenLog, SyncResult, Uplink } from './ports.ts';
import { ConfigFiles } from './state/config-files.ts';
import { readState } from './state/deployment-store.ts';
import { Deployments } from './state/deployments.ts';
import { FanOut } from './stream/fan-out.ts';
import { storedAfter } from './stream/reader.ts';
import type { Stream } from './stream/subscriber.ts';
import type { DeviceListener, Entrance } from './transport.ts';

/** Frames in sent bytes; HTTP/1.1 splits the bytes into chunks. */
function framesIn(bytes: Buffer): Pick<SeenFrame, 'id' | 'type' | 'text'>[] {
  let body = '';
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at);
    const size = bytes.toString('latin1', at, end);
    if (end < 0 || !/^[0-9a-f]+$/i.test(size)) {
      body = bytes.toString();
      break;
    }
    const next = end + 2 + Number.parseInt(size, 16);
    body += bytes.toString('utf8', end + 2, next);
    at = next + 2;
  }
  return body.split('\n\n').flatMap((text) => {
    if (text.trim() === '') return [];
    const [, id] = /^id: ?(.*)$/m.exec(text) ?? [];
    const [, type] = /^event: ?(.*)$/m.exec(text) ?? [];
    return { ...defined({ id, type }), text: text.slice(0, 4_000) };
  });
}

interface Watched {
  events: EventLog;
  io: DiskIo;
  current(): Deployment | undefined;
}

const MOST_SEEN = 200;

/** Reports events, frames and changed state, at most every 100 ms. */
class Watch {
  readonly #tell: (seen: Seen) => void;
  #watched: Watched | undefined;
  #timer: NodeJS.Timeout | undefined;
  #events: SeenEvent[] = [];
  #frames: SeenFrame[] = [];
  readonly #open = new Map<Socket, { number: number; listener: SeenListener }>();
  #nextNumber = 1;
  /** Frames of the last buffer, parsed only once although several subscribers receive the same buffer. */
  #last: { bytes: Buffer; frames: SeenFrame[] } | undefined;
  readonly #told = new Map<string, string>();

  constructor(tell: (seen: Seen) => void) {
    this.#tell = tell;
  }

  start(watched: Watched): void {
    const { events, io } = watched;
    this.#watched = watched;
    const newest = storedAfter(events, io, Math.max(events.earliest - 1, events.latest - MOST_SEEN));
    this.#events = Array.from(newest, ({ id, type, json }) => ({ id, type, json })).slice(-MOST_SEEN);
    this.#timer = setInterval(() => this.#look(), 100).unref();
    this.#look();
  }

  stored(events: readonly StoredEvent[]): void {
    for (const { id, type, json } of events.slice(-MOST_SEEN)) this.#events.push({ id, type, json });
    this.#events = this.#events.slice(-MOST_SEEN);
  }

  opened(socket: Socket, { client = 'unnamed', after, types }: Opened): void {
    const listener: SeenListener = { client, since: Date.now(), after, frames: 0, waiting: 0 };
    if (types !== undefined) listener.types = [...types];
    this.#open.set(socket, { number: this.#nextNumber++, listener });
    socket.once('close', () => this.#open.delete(socket));
  }

  sent(socket: Socket, bytes: Buffer): void {
    const open = this.#open.get(socket);
    if (open === undefined) return;
    const shared = this.#last?.bytes === bytes ? this.#last.frames : undefined;
    const frames = shared ?? framesIn(bytes).map((frame) => ({ ...frame, at: Date.now(), to: [] as number[] }));
    if (shared === undefined) {
      this.#last = { bytes, frames };
      this.#frames = [...this.#frames, ...frames].slice(-MOST_SEEN);
    }
    for (const frame of frames) {
      frame.to.push(open.number);
      if (frame.id !== undefined) open.listener.last = frame.id;
    }
    open.listener.frames += frames.length;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  #look(): void {
    const watched = this.#watched;
    if (watched === undefined) return;
    const { earliest, latest, count, generation } = watched.events;
    const log: SeenLog = { earliest, latest, count, bytes: generation.bytes };
    const listeners: Record<string, SeenListener> = {};
    for (const [{ writableLength: waiting }, { number, listener }] of this.#open)
      listeners[number] = { ...listener, waiting };
    const current = watched.current() ?? null;
    this.#last = undefined;
    const seen: Seen = {
      events: this.#events.splice(0),
      frames: this.#frames.splice(0),
      ...(this.#isNew('listeners', listeners) && { listeners }),
      ...(this.#isNew('log', log) && { log }),
      ...(this.#isNew('current', current) && { current }),
    };
    if (seen.events.length + seen.frames.length > 0 || Object.keys(seen).length > 2) this.#tell(seen);
  }

  #isNew(name: string, value: unknown): boolean {
    const text = JSON.stringify(value);
    if (this.#told.get(name) === text) return false;
    this.#told.set(name, text);
    return true;
  }
}

/** Stands for the time of a sync or connection that never happened, because the API requires a time. */
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
  /** Grows by copying, because `push` reserves room for more items, which costs a fleet memory for each robot. */
  #listeners: readonly DeviceListener[] = [];
  readonly #watch: Watch | undefined;

  /** Throws if the robot's event log or state cannot be read. */
  constructor(settings: Settings, identity: () => Identity, env: Environment, directory: DeviceDirectory) {
    this.#settings = settings;
    this.#identity = identity;
    this.#env = env;
    this.#directory = directory;
    const { behaviour, retain, retainBytes, heartbeatMs, subscriberBytes, retryMs, failedMs } = settings;
    this.behaviour = behaviour;
    this.log = settings.log;
    if (settings.watch) this.#watch = new Watch(settings.watch);
    const incarnation: Incarnation = {
      directory: settings.dir,
      io: directory,
      durable: settings.durability === 'sync',
      isNew: directory.isNew,
      clock: env.clock,
      behaviour,
      onNotice: (notice, error) => this.log.warn(error ? { err: error } : {}, notice),
    };
    const fanOut = new FanOut(behaviour.stream);
    const watch = this.#watch;
    const onStored = (events: readonly StoredEvent[]): void => {
      watch?.stored(events);
      fanOut.publish(events);
    };
    this.events = new EventLog({ ...incarnation, retain, retainBytes, onStored });
    this.stream = {
      log: this.events,
      io: directory,
      behaviour: behaviour.stream,
      heartbeatMs,
      subscriberBytes,
      fanOut,
      onNotice: incarnation.onNotice,
      write: env.write,
      ...(watch && {
        onOpen: (socket: Socket, opened: Opened) => watch.opened(socket, opened),
        write: (socket: Socket, bytes: Buffer) => {
          watch.sent(socket, bytes);
          return env.write(socket, bytes);
        },
      }),
    };
    // Derives ids from the seed and the robot's history, so that a restarted agent repeats no id.
    const newId = (): string => {
      const { records } = this.deployments.book.state;
      this.#ids ??= random(settings.seed).fork(`${this.events.latest}/${records.map(({ id }) => id).join()}`);
      return this.#ids.text(12);
    };
    const files = new ConfigFiles(settings.dir, directory, incarnation.durable);
    const deviceId = () => identity().deviceId;
    const remembered = behaviour.deployments.remembers !== 'nothing' && !directory.isNew;
    this.deployments = new Deployments(
      { ...incarnation, deviceId, newId, log: this.events, files, retryMs, failedMs },
      remembered ? readState(settings.dir) : undefined,
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

  /** Rejects with StartError, or with KilledError if the agent is killed. */
  async start(): Promise<void> {
    const { endpoints, behaviour } = this.#settings;
    if (!this.#directory.isNew) {
      await this.deployments.settle().catch((error: unknown) => {
        this.log.error({ err: error }, 'what was under way at the last stop could not be finished');
      });
    }
    const serving = {
      rules: behaviour.transport,
      onConnection: (socket: Socket, entrance: Entrance): void => {
        this.#sockets ??= new Set();
        if (!this.behaviour.transport.accepts(this.#sockets.size)) return void socket.destroy();
        this.behaviour.transport.connected(socket);
        this.#sockets.add(socket);
        socket.once('close', () => this.#sockets?.delete(socket));
        adopt(socket, this, entrance);
      },
      check: () => this.#directory.check(),
    };
    try {
      for (const endpoint of endpoints)
        this.#listeners = [...this.#listeners, await asStartError(endpoint.option, endpoint.listen(serving))];
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

  /** Ends the agent without flushing; resolves once the kernel has completed a pending write. */
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
    const exchange = { agent: this, request, response };
    const delayMs = this.#env.latency() + this.behaviour.http.delayMs();
    if (delayMs > 0) setTimeout(() => serve(exchange, entrance), delayMs);
    else serve(exchange, entrance);
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
    const { code, message, endsAt }: SyncResult = (await this.uplink?.sync()) ?? {
      code: 'network_connection_error',
      message: 'this robot has no uplink to a platform',
    };
    return {
      code,
      message,
      last_synced_at: this.uplink?.lastSyncedAt ?? NEVER,
      last_attempted_sync_at: attempted,
      in_cooldown: code === 'in_cooldown',
      cooldown_ends_at: endsAt ?? attempted,
    };
  }
}
