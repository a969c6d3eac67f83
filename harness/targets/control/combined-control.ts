/** Several ways to drive one agent: each call goes to the first that offers it. */
import type { ControlCapability, ControlInfo, StopSignal } from '../../contract/control.ts';
import type { Control, ControlCall } from './control.ts';

/** The first one wins wherever two offer the same; its `info` names what any of them offers. */
export const combinedControl = (first: Control, second: Control): Control => new Combined(first, second, new Set());

class Combined implements Control {
  readonly kind: string;
  readonly seesDevice: boolean;
  readonly #first: Control;
  readonly #second: Control;
  /** What the second alone offers; shared by all that are bound to a signal. */
  readonly #ofSecond: Set<string>;

  constructor(first: Control, second: Control, ofSecond: Set<string>) {
    this.kind = `${first.kind} + ${second.kind}`;
    this.seesDevice = first.seesDevice ?? false;
    this.#first = first;
    this.#second = second;
    this.#ofSecond = ofSecond;
  }

  async info(): Promise<ControlInfo> {
    const first = await this.#first.info();
    const second = await this.#second.info();
    for (const name of second.capabilities) if (!first.capabilities.includes(name)) this.#ofSecond.add(name);
    return { ...second, ...first, capabilities: [...new Set([...first.capabilities, ...second.capabilities])] };
  }

  deploy(...given: Parameters<Control['deploy']>): ReturnType<Control['deploy']> {
    return this.#offering('drive').deploy(...given);
  }
  remove(deploymentId: string): ReturnType<Control['remove']> {
    return this.#offering('drive').remove(deploymentId);
  }
  publish(count: number): ReturnType<Control['publish']> {
    return this.#offering('drive').publish(count);
  }
  compact(): ReturnType<Control['compact']> {
    return this.#offering('compact').compact();
  }
  stop(signal?: StopSignal): Promise<void> {
    return this.#offering('restart').stop(signal);
  }
  start(): Promise<void> {
    return this.#offering('restart').start();
  }
  line(call: ControlCall): string | undefined {
    return this.#offering(NEEDED[call.name]).line(call);
  }
  bound(signal: AbortSignal): Control {
    return new Combined(this.#first.bound(signal), this.#second.bound(signal), this.#ofSecond);
  }
  async close(): Promise<void> {
    await Promise.all([this.#first.close(), this.#second.close()]);
  }

  #offering(capability: ControlCapability): Control {
    return this.#ofSecond.has(capability) ? this.#second : this.#first;
  }
}

const NEEDED: { readonly [Name in ControlCall['name']]: ControlCapability } = {
  deploy: 'drive',
  remove: 'drive',
  publish: 'drive',
  compact: 'compact',
  stop: 'restart',
  start: 'restart',
};
