/**
 * How a suite drives an agent: a call is data, and a control makes it. The ends, which speak to an agent, have a file
 * each beside this one; what stands between a check and an end is in `layers.ts`.
 */
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

/** The set-up of a check failed, which decides nothing about the implementation under test. */
export class ControlError extends Blocked {
  override name = 'ControlError';
}

/**
 * Control answered that it cannot, or will not, do what it was asked for: a state that the rig cannot bring about, say.
 */
export class ControlRefused extends ControlError {
  override name = 'ControlRefused';
}

/** Control did not answer in time. */
export class ControlLate extends ControlError {
  override name = 'ControlLate';
}

/** The agent that Muster started has ended by itself, so that it cannot be driven: its own doing. */
export class AgentEnded extends ControlError {
  override name = 'AgentEnded';
}

/** A call that drives an agent. */
export type ControlCall =
  | { readonly name: 'deploy'; readonly request: ControlDeployment }
  | { readonly name: 'remove'; readonly deploymentId: string }
  | { readonly name: 'publish'; readonly count: number }
  | { readonly name: 'compact' | 'start' }
  | { readonly name: 'stop'; readonly signal: StopSignal };

export type CallName = ControlCall['name'];

/** What comes back of a call; undefined for `stop` and `start`. */
export type Answer = Deployment | Exact<ControlPublished> | Exact<ControlCompacted> | undefined;

/** Drives one agent. Every call resolves when its effect can be seen on the Device API. Throws ControlError. */
export abstract class Control {
  /** In words, e.g. `http unix:/run/control.sock`. */
  abstract readonly kind: string;
  /** It answers with what it has seen on the device itself, so that nothing of it needs to be confirmed. */
  readonly seesDevice: boolean = false;

  /** What this control can do, and the limits and paths of the agent. */
  abstract info(signal?: AbortSignal): Promise<ControlInfo>;
  /** Makes the call. An abort of `signal` ends it, and it throws then. */
  abstract call(call: ControlCall, signal?: AbortSignal): Promise<Answer>;

  /** The shell line that makes a call again; undefined where no line can. */
  line(_call: ControlCall): string | undefined {
    return undefined;
  }
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Creates a deployment in the state asked for; default: deployed, no error. */
  deploy(request: ControlDeployment = {}, signal?: AbortSignal): Promise<Deployment> {
    return this.call({ name: 'deploy', request }, signal) as Promise<Deployment>;
  }
  /** Removes the deployment's files and archives it. */
  remove(deploymentId: string, signal?: AbortSignal): Promise<Deployment> {
    return this.call({ name: 'remove', deploymentId }, signal) as Promise<Deployment>;
  }
  /** Makes the agent append that many events to its log. */
  publish(count: number, signal?: AbortSignal): Promise<Exact<ControlPublished>> {
    return this.call({ name: 'publish', count }, signal) as Promise<Exact<ControlPublished>>;
  }
  /** Compacts the event log. */
  compact(signal?: AbortSignal): Promise<Exact<ControlCompacted>> {
    return this.call({ name: 'compact' }, signal) as Promise<Exact<ControlCompacted>>;
  }
  /** Resolves when the agent is down. */
  async stop(by: StopSignal = 'SIGTERM', signal?: AbortSignal): Promise<void> {
    await this.call({ name: 'stop', signal: by }, signal);
  }
  /** Resolves when the agent serves. */
  async start(signal?: AbortSignal): Promise<void> {
    await this.call({ name: 'start' }, signal);
  }
}

/** `T` with bigints for the integers that no number holds: event ids may lie beyond 2^53. */
export type Exact<T> = { [K in keyof T]: T[K] extends number ? T[K] | bigint : T[K] };

/** Like `JSON.parse`, with the integers as they are written. Throws SyntaxError. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, (_key: string, value: unknown, details?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(details?.source ?? '')
      ? BigInt(details?.source ?? '')
      : value,
  );

/** The event in a text, as far as it is one: a JSON object with a number as its `id`. Undefined for anything else. */
export function eventIn(text: string): { id: number | bigint; [field: string]: unknown } | undefined {
  try {
    const value = parseExact(text) as { id: unknown } | null;
    const id = value?.id;
    return typeof id === 'number' || typeof id === 'bigint' ? { ...value, id } : undefined;
  } catch {
    return undefined;
  }
}

/** Adds limits and paths that are declared beside a control; a path to the log or to config files is a capability. */
export function withDeclared(info: ControlInfo, declared: Omit<ControlInfo, 'capabilities'>): ControlInfo {
  const capabilities = new Set(info.capabilities);
  if (declared.event_log !== undefined) capabilities.add('log');
  if (declared.config_root !== undefined) capabilities.add('files');
  return { ...declared, ...info, capabilities: [...capabilities] };
}

const SHAPES = { publish: controlPublished, compact: controlCompacted };

/**
 * The answer to a call, from what control said. Throws ControlError for what is no such answer: `said` begins its
 * message, and `withoutId` is the whole of it for a deployment that has no id.
 */
export function answerTo({ name }: ControlCall, text: string, said: string, withoutId: string): Answer {
  if (name === 'stop' || name === 'start') return undefined;
  const value = jsonOf(text);
  if (name === 'deploy' || name === 'remove') {
    // The suite decides whether a deployment has its shape; control needs only the id.
    if (typeof (value as { id?: unknown } | null | undefined)?.id === 'string') return value as Deployment;
    throw new ControlError(withoutId);
  }
  const shape = SHAPES[name];
  if (shape.is(value)) return parseExact(text) as Answer;
  throw notOf(shape, value, said);
}

/** `said` begins the message. */
export function notOf(shape: Shape, value: unknown, said: string): ControlError {
  const [problem] = shape.problems(value);
  const why = `${problem?.path ?? ''} ${problem?.message ?? ''}`;
  return new ControlError(`${said} something that is not a ${shape.name}: ${why}`);
}

/** Undefined for what is no JSON. */
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

/** The control of a black box: it can do nothing. */
export const noControl: Control = new NoControl();
