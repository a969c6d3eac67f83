/** One robot of a fleet: a whole simulated device, its uplink, and the clients that read its event stream. */

import type { Clock } from '../../common/clock.ts';
import { type DeviceOptions, SimulatedDevice } from '../../device/index.ts';
import type { Recorder } from '../measure/metrics.ts';
import { monotonicMs } from '../schedule/scheduler.ts';
import { type DeploymentMoments, MomentLog } from './deployment-timings.ts';
import { type MakeUplink, RobotUplink, type UplinkListener } from './observed-uplink.ts';
import type { StreamFault } from './stream-check.ts';
import { Subscriber, type SubscriberOptions } from './subscriber.ts';

export const ROBOT_STATES = ['waiting', 'connecting', 'online', 'cut off', 'down', 'stopped', 'refused'] as const;
/** `online` also stands for a robot without an uplink that serves. */
export type RobotState = (typeof ROBOT_STATES)[number];

/** What a robot tells the host that runs it. */
export interface RobotListener {
  count: Recorder['count'];
  time: Recorder['time'];
  fault(robot: Robot, fault: StreamFault): void;
  /** It is not online, and this is why. */
  trouble(robot: Robot, error: Error): void;
  /** The first subscriber has read `deployment.deployed`, or the platform has been told: look at the moments again. */
  progress(deploymentId: string, moments: DeploymentMoments): void;
}

export interface RobotOptions {
  index: number;
  name: string;
  dir: string;
  socketPath: string;
  subscribers: number;
  /** Where subscribers begin; default: after the newest event. */
  cursor?: number | undefined;
  makeUplink: MakeUplink | undefined;
  device: Pick<DeviceOptions, 'retain' | 'heartbeatMs' | 'durability' | 'seed' | 'behaviour'>;
  listener: RobotListener;
}

export class Robot implements UplinkListener {
  readonly index: number;
  readonly name: string;
  readonly socketPath: string;
  readonly #listener: RobotListener;
  readonly #subscriberCount: number;
  readonly #device: SimulatedDevice;
  readonly #clock: { offset: number } & Clock = {
    offset: 0,
    now() {
      return Date.now() + this.offset;
    },
  };
  #uplink: RobotUplink | undefined;
  #subscribers: Subscriber[] = [];
  readonly moments = new MomentLog();
  #connecting = 0;
  /** Newest event when the agent was last killed. */
  #killedAt = 0;
  readonly #firstCursor: number | undefined;
  #online = pending();
  state: RobotState = 'waiting';
  /** Why it is not online, as far as anybody has said. */
  trouble: string | undefined;
  /** How often a scenario took this robot off the platform: what crosses one of these says nothing about the platform. */
  disturbed = 0;

  constructor(options: RobotOptions) {
    const { index, name, dir, socketPath, makeUplink, device, listener } = options;
    this.index = index;
    this.name = name;
    this.socketPath = socketPath;
    this.#listener = listener;
    this.#subscriberCount = options.subscribers;
    this.#firstCursor = options.cursor;
    this.#device = new SimulatedDevice({
      ...device,
      dir,
      name,
      socket: socketPath,
      clock: this.#clock,
      ...(makeUplink === undefined
        ? {}
        : {
            uplink: (port, identity) => {
              this.#uplink = new RobotUplink(makeUplink, this.moments.watch(port), identity, this);
              return this.#uplink;
            },
          }),
    });
  }

  /** As the platform knows it; undefined before it is provisioned. */
  get deviceId(): string | undefined {
    return this.#uplink?.deviceId;
  }

  /** As `state`, but for an uplink that lost its platform by itself. */
  get shownState(): RobotState {
    return this.state === 'online' && this.#uplink?.status === 'offline' ? 'connecting' : this.state;
  }

  /** Newest event that the first subscriber has read. */
  get cursor(): number | undefined {
    return this.#subscribers[0]?.check.last;
  }

  /** Resolves when the robot serves; `online` when its uplink is up as well. */
  async start(): Promise<void> {
    const began = monotonicMs();
    this.state = 'connecting';
    await this.#device.start();
    this.#listener.time('start.ms', monotonicMs() - began);
    if (this.#uplink === undefined) this.online();
    for (let count = this.#subscribers.length; count < this.#subscriberCount; count += 1) this.#subscribe(count === 0);
    if (this.#firstCursor !== undefined) this.#excuseUnused(this.#firstCursor);
  }

  /** Resolves when online, rejects when the platform refuses this robot or it was stopped. */
  whenOnline(): Promise<void> {
    return this.#online.promise;
  }

  connecting(): void {
    this.#connecting = monotonicMs();
    if (this.state !== 'stopped' && this.state !== 'down') this.state = 'connecting';
  }

  online(): void {
    if (this.#connecting > 0) this.#listener.time('connect.ms', monotonicMs() - this.#connecting);
    this.state = 'online';
    this.trouble = undefined;
    this.#online.resolve();
  }

  refused(error: Error): void {
    this.state = 'refused';
    this.#listener.count('connect.refused');
    this.unreachable(error);
    this.#online.reject(error);
  }

  syncStarted(): void {
    this.moments.syncStarted = monotonicMs();
  }

  synced(): void {
    const now = monotonicMs();
    this.#listener.time('sync.ms', now - this.moments.syncStarted);
    for (const [id, moments] of this.moments.reported(now)) this.#listener.progress(id, moments);
  }

  syncFailed(error: Error): void {
    this.#listener.count('sync.errors');
    if (this.state !== 'online') this.unreachable(error);
  }

  unreachable(error: Error): void {
    this.trouble = error.message;
    this.#listener.trouble(this, error);
  }

  /** Drops every connection and comes back at once; resolves when that is under way or done. */
  async storm(): Promise<void> {
    this.disturbed += 1;
    for (const subscriber of this.#subscribers) subscriber.drop();
    if (this.#uplink === undefined) return;
    this.#online = pending();
    this.state = 'connecting';
    await this.#uplink.cut();
    void this.#uplink.restore();
  }

  /** Cut off from the platform; clients on the robot are not. */
  async cutOff(): Promise<void> {
    if (this.#uplink === undefined) return;
    this.disturbed += 1;
    this.#online = pending();
    this.state = 'cut off';
    await this.#uplink.cut();
  }

  /** After `cutOff`. */
  rejoin(): void {
    void this.#uplink?.restore();
  }

  /** As after `kill -9` of the agent. */
  kill(): void {
    const { latestId } = this.#device.stats();
    this.disturbed += 1;
    this.#device.kill();
    this.#online = pending();
    this.state = 'down';
    this.#killedAt = latestId;
  }

  /** The agent comes up again from its disk. */
  async restart(): Promise<void> {
    this.#uplink = undefined;
    await this.start();
    this.#excuseUnused(this.#killedAt);
  }

  /** After a crash an agent may give up the ids it had reserved; they were never events. */
  #excuseUnused(before: number): void {
    const { latestId } = this.#device.stats();
    if (latestId > before) for (const { check } of this.#subscribers) check.mayBeUnused(before + 1, latestId);
  }

  skewClock(ms: number): void {
    this.#clock.offset += ms;
  }

  /** Faults that only the end shows: what was published and never read. Call when nothing is under way any more. */
  finish(): void {
    if (!this.#device.running) return;
    const { latestId } = this.#device.stats();
    for (const { check } of this.#subscribers) {
      const fault = check.finish(latestId);
      if (fault !== undefined) this.#listener.fault(this, fault);
    }
  }

  /** Whether every subscriber has read everything there is. */
  get caughtUp(): boolean {
    if (!this.#device.running) return true;
    const { latestId } = this.#device.stats();
    return this.#subscribers.every(({ check }) => check.finish(latestId) === undefined);
  }

  async stop(): Promise<void> {
    for (const subscriber of this.#subscribers) subscriber.stop();
    this.#subscribers = [];
    this.state = 'stopped';
    this.#online.reject(new Error(`${this.name} was stopped`));
    await this.#device.stop();
  }

  /** Ends everything at once, leaving files as they are. */
  abandon(): void {
    for (const subscriber of this.#subscribers) subscriber.stop();
    this.#subscribers = [];
    this.state = 'stopped';
    this.#online.reject(new Error(`${this.name} was stopped`));
    this.#device.kill();
  }

  #subscribe(first: boolean): void {
    const listener = this.#listener;
    let lostAt = 0;
    const options: SubscriberOptions = {
      socketPath: this.socketPath,
      cursor: this.#firstCursor ?? this.#device.stats().latestId,
      onEvent: (_id, type, text) => this.#read(first, type, text),
      onFault: (fault) => listener.fault(this, fault),
      onCount: (name) => {
        listener.count(`subscriber.${name}`);
        if (name === 'lost') lostAt = monotonicMs();
        if (name === 'connected' && lostAt > 0) {
          listener.time('subscriber.reconnect.ms', monotonicMs() - lostAt);
          lostAt = 0;
        }
      },
      retained: () => {
        const { earliestId, latestId } = this.#device.stats();
        return { earliest: earliestId, latest: latestId };
      },
    };
    const subscriber = new Subscriber(options);
    this.#subscribers.push(subscriber);
    subscriber.start();
  }

  #read(first: boolean, type: string, text: string): void {
    const now = monotonicMs();
    this.#listener.count('sse.events');
    const id = type === 'deployment.deployed' ? /"deployment_id":"([^"]+)"/.exec(text)?.[1] : undefined;
    const moments = id === undefined ? undefined : this.moments.known(id);
    if (id === undefined || moments === undefined) return;
    // The event may be read before `deploy` resolves: both follow the same write.
    this.#listener.time('sse.delivery.ms', moments.deployed === 0 ? 0 : now - moments.deployed);
    if (!first || moments.read > 0) return;
    moments.read = now;
    this.#listener.progress(id, moments);
  }
}

/** A promise that may be rejected although nobody waits for it. */
function pending(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}
