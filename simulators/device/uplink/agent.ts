/** The uplink of a published agent: enrol once, connect by MQTT, sync when told, answer pings, report over HTTP. */
import { agentTopics, pingMessage, syncMessage } from '../../../harness/contract/agent.ts';
import { timestamp } from '../../common/clock.ts';
import { ApiError, isTemporary } from '../../common/platform-http.ts';
import type { DiskIo } from '../log/io.ts';
import type { DeploymentPort, SyncResult, Uplink, UplinkStatus } from '../ports.ts';
import { AgentApi } from './agent-api.ts';
import { reconnectDelay } from './backoff.ts';
import type { UplinkHub } from './hub.ts';
import { BrokerError } from './mqtt/broker-error.ts';
import { MqttConnection, type MqttListener } from './mqtt/connection.ts';
import { Scheduler, type SyncEvents } from './scheduler.ts';
import { Syncer } from './sync.ts';
import { moment, pause, type Timer } from './time.ts';

export interface UplinkIdentity {
  name: string;
  /** Where the robot keeps what makes it itself. */
  directory: string;
  /** How it writes there; default: directly. */
  io?: DiskIo;
}

export class AgentUplink implements Uplink, MqttListener, SyncEvents {
  readonly #hub: UplinkHub;
  readonly #name: string;
  readonly #api: AgentApi;
  readonly #scheduler: Scheduler;
  readonly #abort = new AbortController();
  #starting: Promise<void> | undefined;
  #connecting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #connection: MqttConnection | undefined;
  /** The connection at the time a sync began. */
  #syncedOver: MqttConnection | undefined;
  #reconnect: Timer | undefined;
  #failedConnects = 0;
  #announced = false;
  #connectedAt = 0;
  #disconnectedAt = 0;
  /** Settles `start`. */
  #onOnline: (() => void) | undefined;

  constructor(hub: UplinkHub, port: DeploymentPort, identity: UplinkIdentity) {
    this.#hub = hub;
    this.#name = identity.name;
    this.#api = new AgentApi(hub, identity.directory, identity.io);
    this.#scheduler = new Scheduler(new Syncer(port, this.#api, hub.time), {
      time: hub.time,
      signal: this.#abort.signal,
      events: this,
    });
  }

  get status(): UplinkStatus {
    if (this.#stopping) return 'stopped';
    if (this.#connection) return 'online';
    return this.#disconnectedAt > 0 || this.#failedConnects > 0 ? 'offline' : 'starting';
  }
  get deviceId(): string | undefined {
    return this.#api.device?.device_id;
  }
  get lastSyncedAt(): string | undefined {
    return moment(this.#scheduler.syncedAt);
  }
  get lastConnectedAt(): string | undefined {
    return moment(this.#connectedAt);
  }
  get lastDisconnectedAt(): string | undefined {
    return moment(this.#disconnectedAt);
  }

  /** Rejects when the platform refuses to enrol this robot, or when it is stopped before it was online. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  abandon(): Promise<void> {
    const stopping = this.stop();
    this.#connection?.close();
    return stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async sync(): Promise<SyncResult> {
    if (this.#api.device) return this.#scheduler.sync();
    return { code: 'network_connection_error', message: 'the platform does not know this device yet' };
  }

  async #start(): Promise<void> {
    const { signal } = this.#abort;
    signal.throwIfAborted();
    this.#hub.acquire();
    await this.#enrol(signal);
    signal.throwIfAborted();
    this.#failedConnects = 0;
    const online = Promise.withResolvers<void>();
    const abort = () => online.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#onOnline = online.resolve;
    this.#connecting = this.#connect();
    await online.promise;
    signal.removeEventListener('abort', abort);
  }

  async #stop(): Promise<void> {
    this.#abort.abort(new Error(`the uplink of ${this.#name} was stopped`));
    this.#hub.time.cancel(this.#reconnect);
    // Whatever is under way ends soon, and may still write below the robot's directory until it has.
    await this.#starting?.catch(() => {});
    await this.#connecting;
    await this.#scheduler.stop();
    await this.#connection?.end();
    if (this.#starting) await this.#hub.release();
  }

  async #enrol(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await this.#api.enrol(this.#name, signal);
      } catch (error) {
        const attempt = this.#failedConnects++;
        if (!isTemporary(error)) throw error;
        this.onUnreachable(error as Error);
        this.#hub.log?.debug({ robot: this.#name, error: (error as Error).message }, 'cannot enrol yet');
        await pause(this.#hub.time, this.#delay(attempt), signal);
      }
    }
  }

  async #connect(): Promise<void> {
    const { signal } = this.#abort;
    let token = '';
    try {
      token = await this.#api.token(signal);
      await this.#announce(signal);
      this.#connection = await this.#open(token, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof BrokerError && error.credentials) this.#api.dropToken(token);
      this.onUnreachable(error as Error);
      this.#hub.log?.debug({ robot: this.#name, error: (error as Error).message }, 'cannot connect');
      // HTTP may work where MQTT does not.
      if (this.#failedConnects === 0) this.#scheduler.told();
      this.#connectLater();
      return;
    }
    this.#failedConnects = 0;
    this.#connectedAt = this.#hub.time.now();
    // Whatever was published while this robot was not subscribed is found by syncing.
    this.#scheduler.told();
    await this.#scheduler.settled();
    this.#onOnline?.();
    this.#onOnline = undefined;
  }

  /** Rejects with BrokerError. */
  async #open(token: string, signal: AbortSignal): Promise<MqttConnection> {
    const { device_id: id, session_id } = this.#api.device ?? { device_id: '', session_id: '' };
    const { mqtt: endpoint } = this.#hub;
    try {
      const connection = await MqttConnection.open({
        endpoint,
        clientId: id,
        username: session_id,
        password: token,
        topics: [agentTopics.sync(id), agentTopics.ping(id)],
        listener: this,
        keepAlive: this.#hub.keepAlive,
        signal,
      });
      if (connection.closed) throw new Error('it closed the connection at once');
      return connection;
    } catch (error) {
      throw new BrokerError(endpoint, error as Error);
    }
  }

  /** Once. A platform that does not want to know is no reason to stay offline. */
  async #announce(signal: AbortSignal): Promise<void> {
    if (this.#announced) return;
    try {
      await this.#api.announceVersion(signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
    this.#announced = true;
  }

  #connectLater(): void {
    this.#reconnect = this.#hub.time.after(this.#delay(this.#failedConnects++), () => {
      this.#connecting = this.#connect();
    });
  }

  /** Drawn from the robot's name: whatever else shares this process changes nothing. */
  #delay(attempt: number): number {
    return reconnectDelay(attempt, this.#hub.random.fork(`${this.#name}/${attempt}`));
  }

  onClose(connection: MqttConnection): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    this.#disconnectedAt = this.#hub.time.now();
    if (!this.#abort.signal.aborted) this.#connectLater();
  }

  onMessage(connection: MqttConnection, topic: string, payload: Buffer, retained: boolean): void {
    const id = this.deviceId ?? '';
    const message = parse(payload);
    if (topic === agentTopics.ping(id) && pingMessage.is(message)) {
      const pong = { message_id: message.message_id, timestamp: timestamp(this.#hub.time) };
      connection.publish(agentTopics.pong(id), pong, { retain: false });
      return;
    }
    // A retained message is older than the subscription, and a sync follows every subscription.
    const told = topic === agentTopics.sync(id) && !retained && syncMessage.is(message) && !message.is_synced;
    if (told) this.#scheduler.told();
  }

  onSyncStarted(): void {
    this.#syncedOver = this.#connection;
  }

  onReached(): void {}

  /** Neither enrolled nor connected for now, and tried again later. For whoever watches. */
  onUnreachable(_error: Error): void {}

  onSynced(): void {
    // Over another connection than at the start, a request to sync may have been missed in between.
    if (!this.#connection || this.#connection !== this.#syncedOver) return;
    this.#connection.publish(agentTopics.sync(this.deviceId ?? ''), { is_synced: true }, { retain: true });
  }

  onSyncFailed(error: Error): void {
    this.#hub.log?.warn({ robot: this.#name, error: error.message }, 'cannot sync');
  }
}

function parse(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString());
  } catch {
    return undefined;
  }
}
