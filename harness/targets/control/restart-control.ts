/** Adds `restart` to a control that lacks it, for an agent that Muster started and can therefore stop and start itself. */
import type {
  ControlCompacted,
  ControlDeployment,
  ControlInfo,
  ControlPublished,
  StopSignal,
} from '../../contract/control.ts';
import type { Deployment } from '../../contract/deployment.ts';
import { type Control, ControlError, type Exact } from './control.ts';

/** Stops and starts the process that Muster started. */
export interface Restarter {
  stop(signal: StopSignal): Promise<void>;
  start(): Promise<void>;
}

/** Passes every call on to the control inside; `stop` and `start` too when that one can restart. */
export class RestartControl implements Control {
  readonly kind: string;
  readonly #inner: Control;
  readonly #restarter: Restarter;
  #innerRestarts: boolean | undefined;

  constructor(inner: Control, restarter: Restarter) {
    this.kind = inner.kind === 'none' ? 'process' : `${inner.kind} + process`;
    this.#inner = inner;
    this.#restarter = restarter;
  }

  async info(): Promise<ControlInfo> {
    const info = await this.#inner.info();
    this.#innerRestarts = info.capabilities.includes('restart');
    return this.#innerRestarts ? info : { ...info, capabilities: [...info.capabilities, 'restart'] };
  }
  deploy(request?: ControlDeployment): Promise<Deployment> {
    return this.#inner.deploy(request);
  }
  remove(deploymentId: string): Promise<Deployment> {
    return this.#inner.remove(deploymentId);
  }
  publish(count: number): Promise<Exact<ControlPublished>> {
    return this.#inner.publish(count);
  }
  compact(): Promise<Exact<ControlCompacted>> {
    return this.#inner.compact();
  }
  async stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    if (this.#innerRestarts === true) await this.#inner.stop(signal);
    else await this.#restarter.stop(signal);
  }
  async start(): Promise<void> {
    if (this.#innerRestarts === true) return this.#inner.start();
    await this.#restarter.start().catch((error: unknown) => {
      throw new ControlError(error instanceof Error ? error.message : String(error), { cause: error });
    });
  }
  close(): Promise<void> {
    return this.#inner.close();
  }
}
