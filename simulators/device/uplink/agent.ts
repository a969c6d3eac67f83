/** Uplink of a published agent: enrols once, connects by MQTT, syncs on request, answers pings, reports over HTTP. */

import { jsonOf } from '../../../harness/common/lenient.ts';
import { agentTopics, pingMessage, syncMessage } from '../../../harness/contract/agent.ts';
import { timestamp } from '../../common/clock.ts';
import { ApiError } from '../../common/platform-http.ts';
import type { DeploymentPort, SyncResult, UplinkStatus } from '../ports.ts';
import { AgentApi, type AgentHub } from './agent-api.ts';
import { type UplinkIdentity, UplinkLifecycle } from './lifecycle.ts';
import { BrokerError, MqttConnection, type MqttListener } from './mqtt.ts';
import type { Timer } from './time.ts';

export class AgentUplink extends UplinkLifecycle implements MqttListener {
  readonly #hub: AgentHub;
  readonly #api: AgentApi;
  #connecting: Promise<void> | undefined;
  #connection: MqttConnection | undefined;
  #syncedOver: MqttConnection | undefined;
  #reconnect: Timer | undefined;
  #failedConnects = 0;
  #announced = false;

  constructor(hub: AgentHub, port: DeploymentPort, identity: UplinkIdentity) {
    const api = new AgentApi(hub, identity);
    super(hub, port, api, identity.name, hub.habits);
    this.#hub = hub;
    this.#api = api;
  }

  get deviceId(): string | undefined {
    return this.#api.device?.device_id;
  }

  protected get liveStatus(): UplinkStatus {
    if (this.#connection) return 'online';
    return this.disconnectedAt > 0 || this.#failedConnects > 0 ? 'offline' : 'starting';
  }

  abandon(): Promise<void> {
    const stopping = this.stop();
    this.#connection?.close();
    return stopping;
  }

  async sync(): Promise<SyncResult> {
    if (this.#api.device) return this.scheduler.sync();
    return { code: 'network_connection_error', message: 'the platform does not know this device yet' };
  }

  protected async open(): Promise<void> {
    try {
      await this.enrol((error) => {
        this.#failedConnects++;
        this.#report(error, 'cannot enrol yet');
      });
    } catch (error) {
      this.#failedConnects++;
      throw error;
    }
    this.#failedConnects = 0;
    await this.untilOnline(() => (this.#connecting = this.#connect()));
  }

  protected async close(): Promise<void> {
    this.#hub.time.cancel(this.#reconnect);
    await this.#connecting;
    await this.scheduler.stop();
    await this.#connection?.end();
  }

  async #connect(): Promise<void> {
    const { signal } = this;
    let token = '';
    try {
      token = await this.#api.token(signal);
      await this.#announce(signal);
      this.#connection = await this.#open(token, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof BrokerError && error.credentials) this.#api.dropToken(token);
      this.#report(error as Error, 'cannot connect');
      // Syncs after the first failure to connect, because HTTP may work although MQTT fails.
      if (this.#failedConnects === 0) this.scheduler.syncRequested();
      this.#connectLater();
      return;
    }
    this.#failedConnects = 0;
    this.connectedAt = this.#hub.time.now();
    // Syncs at once, because requests to sync that came before the subscription are lost.
    this.scheduler.syncRequested();
    await this.scheduler.settled();
    this.online?.resolve();
  }

  async #open(token: string, signal: AbortSignal): Promise<MqttConnection> {
    const { device_id: id, session_id } = this.#api.device ?? { device_id: '', session_id: '' };
    const { mqtt: endpoint, habits } = this.#hub;
    const isDeaf = habits.subscribesOnce === true && this.connectedAt > 0;
    try {
      const connection = await MqttConnection.open({
        endpoint,
        clientId: id,
        username: session_id,
        password: token,
        topics: isDeaf ? [] : [agentTopics.sync(id), agentTopics.ping(id)],
        subscribeAfterMs: habits.subscribesAfterMs ?? 0,
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

  /** Announces the agent's version once; ignores a refusal, so that the robot still goes online. */
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
    this.#reconnect = this.#hub.time.after(this.retryDelay(this.#failedConnects++), () => {
      this.#connecting = this.#connect();
    });
  }

  onClose(connection: MqttConnection, reason: Error): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    this.disconnectedAt = this.#hub.time.now();
    if (this.signal.aborted) return;
    this.onLost(new BrokerError(this.#hub.mqtt, reason));
    this.#connectLater();
  }

  onMessage(connection: MqttConnection, topic: string, payload: Buffer, retained: boolean): void {
    const id = this.deviceId ?? '';
    const message = jsonOf(payload);
    if (topic === agentTopics.ping(id) && pingMessage.is(message)) {
      const answer = (): void => {
        const pong = { message_id: message.message_id, timestamp: timestamp(this.#hub.time) };
        if (!connection.closed) connection.publish(agentTopics.pong(id), pong, { retain: false });
      };
      const { answersPingsAfterMs, answersPings = true } = this.#hub.habits;
      if (!answersPings) return;
      if (answersPingsAfterMs === undefined) answer();
      else this.#hub.time.after(answersPingsAfterMs, answer);
      return;
    }
    // Retained requests need no sync, because the agent syncs after each subscription.
    const isRequest = topic === agentTopics.sync(id) && !retained && syncMessage.is(message) && !message.is_synced;
    const { pollsEveryMs, heedsRequests = true } = this.#hub.habits;
    if (isRequest && heedsRequests && pollsEveryMs === undefined) this.scheduler.syncRequested();
  }

  override onSyncStarted(): void {
    this.#syncedOver = this.#connection;
  }

  /** Runs after each failure to enrol or connect; a fleet overrides it. */
  onUnreachable(_error: Error): void {}

  /** Runs when the broker or the network ends the connection; a fleet overrides it. */
  onLost(_error: Error): void {}

  override onSynced(): void {
    // A request before a reconnection may be lost, so only a sync on the current connection counts.
    if (!this.#connection || this.#connection !== this.#syncedOver) return;
    this.#connection.publish(agentTopics.sync(this.deviceId ?? ''), { is_synced: true }, { retain: true });
  }

  onSyncFailed(error: Error): void {
    this.#hub.log?.warn({ robot: this.name, error: error.message }, 'cannot sync');
  }

  #report(error: Error, what: string): void {
    this.onUnreachable(error);
    this.#hub.log?.debug({ robot: this.name, error: error.message }, what);
  }
}
