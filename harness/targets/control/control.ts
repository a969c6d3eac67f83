import { jsonOf, orElse } from '../../common/lenient.ts';
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

/** Failure of the control, which blocks the check without a verdict on the target. */
export class ControlError extends Blocked {
  readonly code = 'MUSTER_CONTROL';
}

/** Refusal by the control, e.g. because the test rig cannot bring about a state. */
export class ControlRefused extends ControlError {}

export class ControlLate extends ControlError {}

/** Unexpected end of an agent that Muster started, which is a fault of the target. */
export class AgentEnded extends ControlError {}

export type ControlCall =
  | { readonly name: 'deploy'; readonly request: ControlDeployment }
  | { readonly name: 'remove'; readonly deploymentId: string }
  | { readonly name: 'publish'; readonly count: number }
  | { readonly name: 'compact' | 'start' }
  | { readonly name: 'stop'; readonly signal: StopSignal };

export type CallName = ControlCall['name'];

export type ControlAnswer = Deployment | Exact<ControlPublished> | Exact<ControlCompacted> | undefined;

/** Drives an agent; each call resolves once the Device API shows its effect, or throws ControlError. */
export abstract class Control {
  abstract readonly kind: string;
  /** True if control's answers come from the Device API, so that effects need no confirmation. */
  readonly seesDevice: boolean = false;

  abstract info(signal?: AbortSignal): Promise<ControlInfo>;
  abstract call(call: ControlCall, signal?: AbortSignal): Promise<ControlAnswer>;

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

/** Type whose numbers may be bigints, because event ids may exceed 2^53. */
export type Exact<T> = { [K in keyof T]: T[K] extends number ? T[K] | bigint : T[K] };

/** Parses JSON with unsafe integers as bigints. Throws SyntaxError. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, (_key: string, value: unknown, details?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(details?.source ?? '')
      ? BigInt(details?.source ?? '')
      : value,
  );

export function eventIn(text: string): { id: number | bigint; [field: string]: unknown } | undefined {
  const value = orElse(() => parseExact(text), undefined) as { id: unknown } | null | undefined;
  const id = value?.id;
  return typeof id === 'number' || typeof id === 'bigint' ? { ...value, id } : undefined;
}

export function withDeclared(info: ControlInfo, declared: Omit<ControlInfo, 'capabilities'>): ControlInfo {
  const capabilities = new Set(info.capabilities);
  if (declared.event_log !== undefined) capabilities.add('log');
  if (declared.config_root !== undefined) capabilities.add('files');
  return { ...declared, ...info, capabilities: [...capabilities] };
}

/** Throws ControlError: with text `withoutId` for a missing id, else with prefix `said`. */
export function answerTo({ name }: ControlCall, text: string, said: string, withoutId: string): ControlAnswer {
  if (name === 'stop' || name === 'start') return undefined;
  const value = jsonOf(text);
  if (name === 'deploy' || name === 'remove') {
    // Checks only the id, because the suite checks the shape of deployments.
    if (typeof (value as { id?: unknown } | null | undefined)?.id === 'string') return value as Deployment;
    throw new ControlError(withoutId);
  }
  const shape = name === 'publish' ? controlPublished : controlCompacted;
  if (shape.is(value)) return parseExact(text) as ControlAnswer;
  throw notOf(shape, value, said);
}

export function notOf(shape: Shape, value: unknown, said: string): ControlError {
  const [problem] = shape.problems(value);
  const why = `${problem?.path ?? ''} ${problem?.message ?? ''}`;
  return new ControlError(`${said} something that is not a ${shape.name}: ${why}`);
}

export const noControl: Control = new (class extends Control {
  readonly kind = 'none';

  info(): Promise<ControlInfo> {
    return Promise.resolve({ capabilities: [] });
  }
  call(): Promise<never> {
    return Promise.reject(new ControlError('the target has no control: give --control, or commands in a target file'));
  }
})();
