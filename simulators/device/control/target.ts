/** What the control API drives (a device in this process, or an agent in its own one), and how that fails. */
import type {
  ControlCompacted,
  ControlDeployment,
  ControlInfo,
  ControlLog,
  ControlPublished,
  StopSignal,
} from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/deployment.ts';
import { KilledError } from '../device-directory.ts';
import { AgentDownError, CompactionError, EventLogError } from '../log/io.ts';
import { DeployError } from '../ports.ts';
import { UnknownDeploymentError } from '../state/deployments.ts';

/** A control request that cannot be granted; `status` is the HTTP status of the answer. */
export class ControlError extends Error {
  override name = 'ControlError';
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.code = code;
  }
}

/** Every method resolves when its effect is visible to clients of the device, and rejects with ControlError. */
export interface ControlTarget {
  info(): ControlInfo;
  deploy(wanted: ControlDeployment): Promise<Deployment>;
  remove(id: string): Promise<Deployment>;
  publish(count: number): Promise<ControlPublished>;
  compact(): Promise<ControlCompacted>;
  log(): Promise<ControlLog>;
  stop(signal: StopSignal): Promise<void>;
  start(): Promise<void>;
}

/** An error of a device as the status and code that the control API answers. */
export function controlError(error: unknown): ControlError {
  if (error instanceof ControlError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const as = (status: number, code: string) => new ControlError(status, code, message, { cause: error });
  if (error instanceof RangeError) return as(400, 'invalid_body');
  if (error instanceof UnknownDeploymentError) return as(404, 'deployment_not_found');
  if (error instanceof DeployError) return as(422, 'not_deployable');
  if (error instanceof AgentDownError || error instanceof KilledError) return as(409, 'agent_down');
  if (error instanceof EventLogError) return as(503, 'event_log_unavailable');
  if (error instanceof CompactionError) return as(500, 'compaction_failed');
  return as(500, 'internal_error');
}

/** `target`, whose methods reject with ControlError only. */
export function withControlErrors(target: ControlTarget): ControlTarget {
  const translate = async <T>(action: () => T | Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      throw controlError(error);
    }
  };
  return {
    info: () => target.info(),
    deploy: (wanted) => translate(() => target.deploy(wanted)),
    remove: (id) => translate(() => target.remove(id)),
    publish: (count) => translate(() => target.publish(count)),
    compact: () => translate(() => target.compact()),
    log: () => translate(() => target.log()),
    stop: (signal) => translate(() => target.stop(signal)),
    start: () => translate(() => target.start()),
  };
}
