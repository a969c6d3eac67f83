/**
 * How a suite drives an agent: an interface, its errors, and the control that can do nothing (`noControl`). The controls that speak to an
 * agent have a file each beside this one.
 */
import type {
  ControlCompacted,
  ControlDeployment,
  ControlInfo,
  ControlPublished,
  StopSignal,
} from '../../contract/control.ts';
import type { Deployment } from '../../contract/deployment.ts';
import { Blocked } from '../../runner/violation.ts';

/** The set-up of a check failed, which decides nothing about the implementation under test. */
export class ControlError extends Blocked {
  override name = 'ControlError';
}

/** Control answered that it cannot, or will not, do what it was asked for: a state that the rig cannot bring about, say. */
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
  | { name: 'deploy'; request: ControlDeployment }
  | { name: 'remove'; deploymentId: string }
  | { name: 'publish'; count: number }
  | { name: 'compact' | 'start' }
  | { name: 'stop'; signal: StopSignal };

/** Drives one agent. Every call resolves when its effect can be seen on the Device API. Throws ControlError. */
export interface Control {
  /** In words, e.g. `http unix:/run/control.sock`. */
  readonly kind: string;
  /** It answers with what it has seen on the device itself, so that nothing of it needs to be confirmed. */
  readonly seesDevice?: boolean;
  /** What this control can do, and the limits and paths of the agent. */
  info(): Promise<ControlInfo>;
  /** Creates a deployment in the state asked for; default: deployed, no error. */
  deploy(request?: ControlDeployment): Promise<Deployment>;
  /** Removes the deployment's files and archives it. */
  remove(deploymentId: string): Promise<Deployment>;
  /** Makes the agent append that many events to its log. */
  publish(count: number): Promise<Exact<ControlPublished>>;
  /** Compacts the event log. */
  compact(): Promise<Exact<ControlCompacted>>;
  /** Resolves when the agent is down. Default: SIGTERM. */
  stop(signal?: StopSignal): Promise<void>;
  /** Resolves when the agent serves. */
  start(): Promise<void>;
  /** The shell line that makes a call again; undefined where no line can. */
  line(call: ControlCall): string | undefined;
  /** The same control for as long as `signal` lasts: an abort ends the calls that are under way, which then throw. */
  bound(signal: AbortSignal): Control;
  close(): Promise<void>;
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

/** Adds limits and paths that are declared beside a control; a path to the log or to config files is a capability. */
export function withDeclared(info: ControlInfo, declared: Omit<ControlInfo, 'capabilities'>): ControlInfo {
  const capabilities = new Set(info.capabilities);
  if (declared.event_log !== undefined) capabilities.add('log');
  if (declared.config_root !== undefined) capabilities.add('files');
  return { ...declared, ...info, capabilities: [...capabilities] };
}

const refuse = (): Promise<never> =>
  Promise.reject(new ControlError('the target has no control: give --control, or commands in a target file'));

/** The control of a black box: it can do nothing. */
export const noControl: Control = {
  kind: 'none',
  info: () => Promise.resolve({ capabilities: [] }),
  deploy: refuse,
  remove: refuse,
  publish: refuse,
  compact: refuse,
  stop: refuse,
  start: refuse,
  line: () => undefined,
  bound: () => noControl,
  close: () => Promise.resolve(),
};
