/** Several ways to drive one agent: each call goes to the first that offers it. */
import type { ControlCapability, ControlInfo } from '../../contract/control.ts';
import type { Control, ControlCall } from './control.ts';
import { RoutedControl } from './routed-control.ts';

/** The first one wins wherever two offer the same; its `info` names what any of them offers. */
export const combinedControl = (first: Control, second: Control): Control => new Combined(first, second, new Set());

class Combined extends RoutedControl {
  readonly #first: Control;
  readonly #second: Control;
  /** What the second alone offers; shared by all that are bound to a signal. */
  readonly #ofSecond: Set<string>;

  constructor(first: Control, second: Control, ofSecond: Set<string>) {
    super(`${first.kind} + ${second.kind}`, first);
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

  bound(signal: AbortSignal): Control {
    return new Combined(this.#first.bound(signal), this.#second.bound(signal), this.#ofSecond);
  }
  async close(): Promise<void> {
    await Promise.all([this.#first.close(), this.#second.close()]);
  }

  protected maker(name: ControlCall['name']): Control {
    return this.#ofSecond.has(NEEDED[name]) ? this.#second : this.#first;
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
