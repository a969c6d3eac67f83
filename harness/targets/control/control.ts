/** Control of an agent: a call is data, which a subclass carries out. */
import {
  type ControlCompacted,
  type ControlDeployment,
  type ControlInfo,
  type ControlPublished,
  controlCompacted,
  controlPublished,
  type StopSignal,
} from '../../contract/control.ts';
import type { Deployment } from '../../contract/device-api.ts';
import type { Shape } from '../../contract/shape.ts';
import { Blocked } from '../../runner/violation.ts';

/** Setting up a check failed, so the target is not judged. */
export class ControlError extends Blocked {
  override name = 'ControlError';
  readonly code = 'MUSTER_CONTROL';
}

/** Control refused a call, e.g. as the rig cannot bring about the state. */
export class ControlRefused extends ControlError {
  override name = 'ControlRefused';
}

export class ControlLate extends ControlError {
  override name = 'ControlLate';
}

/** An agent that Muster started ended by itself; the target is at fault. */
export class AgentEnded extends ControlError {
  override name = 'AgentEnded';
}

export type ControlCall =
  | { readonly name: 'deploy'; readonly request: ControlDeployment }
  | { readonly name: 'remove'; readonly deploymentId: string }
  | { readonly name: 'publish'; readonly count: number }
  | { readonly name: 'compact' | 'start' }
  | { readonly name: 'stop'; readonly signal: StopSignal };

export type CallName = ControlCall['name'];

export type Answer = Deployment | Exact<ControlPublished> | Exact<ControlCompacted> | undefined;

/** Calls resolve once their effect shows on the Device API, else throw ControlError. */
export abstract class Control {
  abstract readonly kind: string;
  /** True if answers come from the device, so that no effect needs confirmation. */
  readonly seesDevice: boolean = false;

  abstract info(signal?: AbortSignal): Promise<ControlInfo>;
  abstract call(call: ControlCall, signal?: AbortSignal): Promise<Answer>;

  line(_call: ControlCall): string | undefined {
    return undefined;
  }
  close(): Promise<void> {
    return Promise.resolve();
  }

  deploy(request: ControlDeployment = {}, signal?: AbortSignal): Promise<Deployment> {
    return this.call({ name: 'deploy', request }, signal) as Promise<Deployment>;
  }
  remove(deploymentId: string, signal?: AbortSignal): Promise<Deployment> {
    return this.call({ name: 'remove', deploymentId }, signal) as Promise<Deployment>;
  }
  publish(count: number, signal?: AbortSignal): Promise<Exact<ControlPublished>> {
    return this.call({ name: 'publish', count }, signal) as Promise<Exact<ControlPublished>>;
  }
  compact(signal?: AbortSignal): Promise<Exact<ControlCompacted>> {
    return this.call({ name: 'compact' }, signal) as Promise<Exact<ControlCompacted>>;
  }
  async stop(by: StopSignal = 'SIGTERM', signal?: AbortSignal): Promise<void> {
    await this.call({ name: 'stop', signal: by }, signal);
  }
  async start(signal?: AbortSignal): Promise<void> {
    await this.call({ name: 'start' }, signal);
  }
}

/** `T` with bigint beside number: event ids may exceed 2^53. */
export type Exact<T> = { [K in keyof T]: T[K] extends number ? T[K] | bigint : T[K] };

/** Parses unsafe integers as bigints. Throws SyntaxError. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, (_key: string, value: unknown, details?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(details?.source ?? '')
      ? BigInt(details?.source ?? '')
      : value,
  );

export function eventIn(text: string): { id: number | bigint; [field: string]: unknown } | undefined {
  try {
    const value = parseExact(text) as { id: unknown } | null;
    const id = value?.id;
    return typeof id === 'number' || typeof id === 'bigint' ? { ...value, id } : undefined;
  } catch {
    return undefined;
  }
}

/** A declared path to the event log or config files adds a capability. */
export function withDeclared(info: ControlInfo, declared: Omit<ControlInfo, 'capabilities'>): ControlInfo {
  const capabilities = new Set(info.capabilities);
  if (declared.event_log !== undefined) capabilities.add('log');
  if (declared.config_root !== undefined) capabilities.add('files');
  return { ...declared, ...info, capabilities: [...capabilities] };
}

const SHAPES = { publish: controlPublished, compact: controlCompacted };

/** Throws ControlError: `said` begins the message; `withoutId` is the message for a deployment without an id. */
export function answerTo({ name }: ControlCall, text: string, said: string, withoutId: string): Answer {
  if (name === 'stop' || name === 'start') return undefined;
  const value = jsonOf(text);
  if (name === 'deploy' || name === 'remove') {
    // Checks only the id, since the suite judges the shape of a deployment.
    if (typeof (value as { id?: unknown } | null | undefined)?.id === 'string') return value as Deployment;
    throw new ControlError(withoutId);
  }
  const shape = SHAPES[name];
  if (shape.is(value)) return parseExact(text) as Answer;
  throw notOf(shape, value, said);
}

export function notOf(shape: Shape, value: unknown, said: string): ControlError {
  const [problem] = shape.problems(value);
  const why = `${problem?.path ?? ''} ${problem?.message ?? ''}`;
  return new ControlError(`${said} something that is not a ${shape.name}: ${why}`);
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

class NoControl extends Control {
  readonly kind = 'none';

  info(): Promise<ControlInfo> {
    return Promise.resolve({ capabilities: [] });
  }
  call(): Promise<never> {
    return Promise.reject(new ControlError('the target has no control: give --control, or commands in a target file'));
  }
}

export const noControl: Control = new NoControl();
