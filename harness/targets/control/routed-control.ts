/** A control over other controls: each call goes to the one that makes it. What one does itself it overrides. */
import type { ControlInfo, StopSignal } from '../../contract/control.ts';
import type { Control, ControlCall } from './control.ts';

export abstract class RoutedControl implements Control {
  readonly kind: string;
  readonly seesDevice: boolean;

  constructor(kind: string, { seesDevice = false }: Control) {
    this.kind = kind;
    this.seesDevice = seesDevice;
  }

  abstract info(): Promise<ControlInfo>;
  abstract bound(signal: AbortSignal): Control;
  abstract close(): Promise<void>;
  /** The control that makes a call of this name. */
  protected abstract maker(name: ControlCall['name']): Control;

  deploy(...given: Parameters<Control['deploy']>): ReturnType<Control['deploy']> {
    return this.maker('deploy').deploy(...given);
  }
  remove(deploymentId: string): ReturnType<Control['remove']> {
    return this.maker('remove').remove(deploymentId);
  }
  publish(count: number): ReturnType<Control['publish']> {
    return this.maker('publish').publish(count);
  }
  compact(): ReturnType<Control['compact']> {
    return this.maker('compact').compact();
  }
  stop(signal?: StopSignal): Promise<void> {
    return this.maker('stop').stop(signal);
  }
  start(): Promise<void> {
    return this.maker('start').start();
  }
  line(call: ControlCall): string | undefined {
    return this.maker(call.name).line(call);
  }
}
