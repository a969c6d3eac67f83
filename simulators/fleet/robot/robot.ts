/** One robot of a fleet: a simulated device, its uplink, and clients of its event stream. */

import type { Clock } from '../../common/clock.ts';
import { type DeviceOptions, SimulatedDevice } from '../../device/index.ts';
import type { DeploymentPort } from '../../device/ports.ts';
import type { Recorder } from '../measure/metrics.ts';
import { isExhausted } from '../measure/saturation.ts';
import type { DisturbanceKind } from '../result/verdict.ts';
import { monotonicMs } from '../schedule/schedule.ts';
import { type StreamFault, Subscriber } from './subscriber.ts';
import { type MakeUplink, RobotUplink, type UplinkListener } from './uplinks.ts';

/** Times of a deployment's steps (`monotonicMs`); 0 for a missing step. */
export interface DeploymentTiming {
  syncStarted: number;
  deployCalled: number;
  deployed: number;
  read: number;
  reported: number;
}

class DeploymentTimings {
  #timings: Map<string, DeploymentTiming> | undefined;
  syncStarted = 0;

  of(deploymentId: string): DeploymentTiming {
    this.#timings ??= new Map();
    let timing = this.#timings.get(deploymentId);
    if (timing === undefined) {
      timing = { syncStarted: 0, deployCalled: 0, deployed: 0, read: 0, reported: 0 };
      this.#timings.set(deploymentId, timing);
      const [oldest] = this.#timings.keys();
      if (this.#timings.size > 4 && oldest !== undefined) this.#timings.delete(oldest);
    }
    return timing;
  }

  known(deploymentId: string): DeploymentTiming | undefined {
    return this.#timings?.get(deploymentId);
  }

  *reported(now: number): Generator<[string, DeploymentTiming]> {
    for (const [id, timing] of this.#timings ?? []) {
      if (timing.reported > 0 || timing.deployed === 0) continue;
      timing.reported = now;
      yield [id, timing];
    }
  }

  /**
   * Records the times of deployments. Calls `exhausted` if a deployment fails for lack of resources, because a sync
   * retries it without an error.
   */
  watch(port: DeploymentPort, exhausted: (error: Error) => void): void {
    const { deploy } = port;
    port.deploy = async (wanted, files) => {
      const timing = this.of(wanted.id);
      timing.syncStarted ||= this.syncStarted;
      timing.deployCalled ||= monotonicMs();
      const result = await deploy.call(port, wanted, files).catch((error: Error) => {
        if (isExhausted(error)) exhausted(error);
        throw error;
      });
      timing.deployed ||= monotonicMs();
      return result;
    };
  }
}

function pending(): PromiseWithResolvers<void> {
  const created = Promise.withResolvers<void>();
  created.promise.catch(() => {});
  return created;
}

const ONLINE: PromiseWithResolvers<void> = { promise: Promise.resolve(), resolve: () => {}, reject: () => {} };

/** Without an uplink, a robot is `online` when its Device API is up. */
export type RobotState = 'waiting' | 'connecting' | 'online' | 'cut off' | 'down' | 'stopped' | 'refused';

export interface RobotListener extends Recorder {
  fault(robot: Robot, fault: StreamFault): void;
  trouble(robot: Robot, error: Error): void;
  disturbed(kind: DisturbanceKind, error: Error): void;
  progress(deploymentId: string, timing: DeploymentTiming): void;
}

interface RobotOptions {
  index: number;
  name: string;
  dir: string;
  socketPath: string;
  subscribers: number;
  makeUplink: MakeUplink | undefined;
  device: Pick<DeviceOptions, 'retain' | 'durability' | 'seed' | 'behaviour'>;
  listener: RobotListener;
}

export class Robot implements UplinkListener {
  readonly index: number;
  readonly name: string;
  readonly #options: RobotOptions;
  readonly #listener: RobotListener;
  readonly #device: SimulatedDevice;
  readonly #clock: { offset: number } & Clock = { offset: 0, now: () => Date.now() + this.#clock.offset };
  #uplink: RobotUplink | undefined;
  #subscribers: Subscriber[] = [];
  readonly timings = new DeploymentTimings();
  #connectingSince = 0;
  /** Id of the newest event at a kill; undefined unless the robot is down or restarts. */
  #latestAtKill: number | undefined;
  #online = pending();
  state: RobotState = 'waiting';
  trouble: string | undefined;
  /** Number of times that the scenario disconnected the robot; requests under way then may fail. */
  disturbances = 0;

  constructor(options: RobotOptions) {
    const { index, name, dir, socketPath, makeUplink, device, listener } = options;
    this.index = index;
    this.name = name;
    this.#options = options;
    this.#listener = listener;
    this.#device = new SimulatedDevice({
      ...device,
      dir,
      name,
      socket: socketPath,
      clock: this.#clock,
      ...(makeUplink && {
        uplink: (port, identity) => {
          this.timings.watch(port, (error) => this.disturbed('sync.errors', error));
          this.#uplink = new RobotUplink(makeUplink, port, identity, this);
          return this.#uplink;
        },
      }),
    });
  }

  get deviceId(): string | undefined {
    return this.#uplink?.deviceId;
  }

  get shownState(): RobotState {
    return this.state === 'online' && this.#uplink?.status === 'offline' ? 'connecting' : this.state;
  }

  /** Resolves when the Device API is up, before the uplink is online. */
  async start(): Promise<void> {
    const began = monotonicMs();
    this.state = 'connecting';
    await this.#device.start();
    this.#listener.time('start.ms', monotonicMs() - began);
    if (this.#uplink === undefined) this.online();
    const { subscribers } = this.#options;
    for (let count = this.#subscribers.length; count < subscribers; count += 1) this.#subscribe(count === 0);
    this.countZeros();
  }

  /** Counts 0 losses and violations, so that thresholds on them are measurable in every phase after the start. */
  countZeros(): void {
    if (this.state === 'online' && this.timings.syncStarted > 0) this.#listener.count('uplink.lost', 0);
    if (this.#subscribers.length === 0) return;
    for (const name of ['lost', 'violations'] as const) this.#listener.count(`subscriber.${name}`, 0);
  }

  whenOnline(): Promise<void> {
    return this.#online.promise;
  }

  connecting(): void {
    this.#connectingSince = monotonicMs();
    this.#listener.count('connect.errors', 0);
    if (this.state !== 'stopped' && this.state !== 'down') this.state = 'connecting';
  }

  online(): void {
    if (this.#connectingSince > 0) this.#listener.time('connect.ms', monotonicMs() - this.#connectingSince);
    this.state = 'online';
    this.trouble = undefined;
    this.#online.resolve();
    this.#online = ONLINE;
  }

  refused(error: Error): void {
    this.state = 'refused';
    this.#listener.count('connect.refused');
    this.#troubled(error);
    this.#online.reject(error);
  }

  syncStarted(): void {
    this.timings.syncStarted = monotonicMs();
    this.#listener.count('sync.errors', 0);
  }

  synced(): void {
    const now = monotonicMs();
    this.#listener.time('sync.ms', now - this.timings.syncStarted);
    this.#listener.count('uplink.lost', 0);
    for (const [id, timing] of this.timings.reported(now)) this.#listener.progress(id, timing);
  }

  disturbed(kind: DisturbanceKind, error: Error): void {
    this.#listener.disturbed(kind, error);
    if (kind === 'connect.errors' || (kind === 'sync.errors' && this.state !== 'online')) this.#troubled(error);
  }

  #troubled(error: Error): void {
    this.trouble = error.message;
    this.#listener.trouble(this, error);
  }

  async storm(): Promise<void> {
    for (const subscriber of this.#subscribers) subscriber.drop();
    // Restores this uplink alone, because a kill may replace it meanwhile.
    const uplink = this.#uplink;
    if (uplink === undefined) return;
    this.#away('connecting');
    await uplink.cut();
    void uplink.restore();
  }

  async cutOff(): Promise<void> {
    if (this.#uplink === undefined) return;
    this.#away('cut off');
    await this.#uplink.cut();
  }

  rejoin(): void {
    if (this.state === 'cut off') void this.#uplink?.restore();
  }

  #away(state: RobotState): void {
    this.disturbances += 1;
    const earlier = this.#online;
    this.#online = pending();
    // Extends earlier waits until the robot is online again, because several disturbances may overlap.
    earlier.resolve(this.#online.promise);
    this.state = state;
  }

  kill(): boolean {
    if (this.#latestAtKill !== undefined) return false;
    this.#latestAtKill = this.#device.stats().latestId;
    this.#device.kill();
    this.#away('down');
    return true;
  }

  async restart(events = 0): Promise<void> {
    this.#uplink = undefined;
    const clients = events > 0 ? this.#subscribers : [];
    for (const client of clients) client.stop();
    try {
      await this.start();
      const [before = 0, { latestId }] = [this.#latestAtKill, this.#device.stats()];
      // Excuses ids that are missing after a crash, because the agent had only reserved them.
      if (latestId > before) for (const { check } of this.#subscribers) check.mayBeUnused(before + 1, latestId);
      await this.publish(events);
    } finally {
      this.#latestAtKill = undefined;
      if (this.state !== 'stopped') for (const client of clients) client.start();
    }
  }

  async publish(events: number): Promise<void> {
    if (events > 0 && this.#device.running) await this.#device.publish(events);
  }

  skewClock(ms: number): void {
    this.#clock.offset += ms;
  }

  /** Sum of the newest ids that the robot's clients have read. */
  get position(): number {
    return this.#subscribers.reduce((sum, { check }) => sum + check.last, 0);
  }

  get unread(): StreamFault[] {
    if (!this.#device.running) return [];
    const { latestId } = this.#device.stats();
    return this.#subscribers.flatMap(({ check }) => check.finish(latestId) ?? []);
  }

  finish(): void {
    for (const fault of this.unread) this.#listener.fault(this, fault);
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#device.stop();
  }

  abandon(): void {
    this.#end();
    this.#device.kill();
  }

  #end(): void {
    for (const subscriber of this.#subscribers) subscriber.stop();
    this.#subscribers = [];
    this.state = 'stopped';
    this.#online.reject(new Error(`${this.name} was stopped`));
  }

  #subscribe(first: boolean): void {
    const listener = this.#listener;
    let lostAt = 0;
    const subscriber = new Subscriber({
      socketPath: this.#options.socketPath,
      cursor: this.#device.stats().latestId,
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
        const { running, earliestId: earliest, latestId: latest } = this.#device.stats();
        return running ? { earliest, latest } : undefined;
      },
    });
    // Makes an array of exact length, because `push` reserves room for 16 more.
    this.#subscribers = [...this.#subscribers, subscriber];
    subscriber.start();
  }

  #read(first: boolean, type: string, text: string): void {
    const now = monotonicMs();
    this.#listener.count('sse.events');
    const id = type === 'deployment.deployed' ? /"deployment_id":"([^"]+)"/.exec(text)?.[1] : undefined;
    const timing = id === undefined ? undefined : this.timings.known(id);
    if (id === undefined || timing === undefined) return;
    // 0 if the client read the event before `deploy` resolved.
    this.#listener.time('sse.delivery.ms', timing.deployed === 0 ? 0 : now - timing.deployed);
    if (!first || timing.read > 0) return;
    timing.read = now;
    this.#listener.progress(id, timing);
  }
}
