/** Adds a restart to a control that lacks it, for an agent that Muster started. */
import type { StopSignal } from '../../contract/control.ts';
import { AgentEnded, type Control, type ControlCall, ControlError } from './control.ts';
import { RoutedControl } from './routed-control.ts';

/** Stops and starts the process that Muster started. */
export interface Restarter {
  stop(signal: StopSignal): Promise<void>;
  /** Resolves when the agent serves. An abort of `signal` ends the wait and leaves the agent as it is. */
  start(signal?: AbortSignal): Promise<void>;
  /** How the agent ended, in words; undefined while it runs, and after `stop`. */
  endedByItself?: () => string | undefined;
}

/** Every call goes to the control inside; `stop` and `start` only when that one can restart, which its `info` says. */
export function withRestart(inner: Control, restarter: Restarter): Control {
  return new Restartable(inner, restarter, { inside: false });
}

class Restartable extends RoutedControl {
  readonly #inner: Control;
  readonly #restarter: Restarter;
  /** Whether the control inside restarts; shared by all that are bound to a signal. */
  readonly #restarts: { inside: boolean };
  readonly #signal: AbortSignal | undefined;

  constructor(inner: Control, restarter: Restarter, restarts: { inside: boolean }, signal?: AbortSignal) {
    super(inner.kind === 'none' ? 'process' : `${inner.kind} + process`, inner);
    this.#inner = inner;
    this.#restarter = restarter;
    this.#restarts = restarts;
    this.#signal = signal;
  }

  async info(): ReturnType<Control['info']> {
    const info = await this.#inner.info();
    this.#restarts.inside = info.capabilities.includes('restart');
    return this.#restarts.inside ? info : { ...info, capabilities: [...info.capabilities, 'restart'] };
  }
  override stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    return (this.#restarts.inside ? this.#inner : this.#restarter).stop(signal);
  }
  override async start(): Promise<void> {
    if (this.#restarts.inside) return this.#inner.start();
    await this.#restarter.start(this.#signal).catch((error: unknown) => {
      const Kind = this.#restarter.endedByItself?.() === undefined ? ControlError : AgentEnded;
      throw new Kind(error instanceof Error ? error.message : String(error), { cause: error });
    });
  }
  override line(call: ControlCall): string | undefined {
    const own = (call.name === 'stop' || call.name === 'start') && !this.#restarts.inside;
    return own ? undefined : super.line(call);
  }
  protected maker(): Control {
    return this.#inner;
  }
  bound(signal: AbortSignal): Control {
    return new Restartable(this.#inner.bound(signal), this.#restarter, this.#restarts, signal);
  }
  close(): Promise<void> {
    return this.#inner.close();
  }
}
