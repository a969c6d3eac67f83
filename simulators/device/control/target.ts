/** What the control API drives (a device in this process, or an agent in its own one), and how that fails. */
import type {
  ControlCompacted,
  ControlDeployment,
  ControlInfo,
  ControlLog,
  ControlPublished,
  StopSignal,
} from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/device-api.ts';
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

/** What an agent that is up can be asked for, with what it is given and what it answers. */
export interface AgentCalls {
  deploy: { given: ControlDeployment; answer: Deployment };
  remove: { given: string; answer: Deployment };
  publish: { given: number; answer: ControlPublished };
  compact: { given: undefined; answer: ControlCompacted };
  cut: { given: undefined; answer: { streams: number } };
  log: { given: undefined; answer: ControlLog };
}
export type AgentCall = keyof AgentCalls;

/**
 * What the control API drives: a device in this process, or an agent in one of its own. Every call resolves when its
 * effect is visible.
 */
export abstract class ControlTarget {
  abstract info(): ControlInfo;
  /** Resolves when the agent serves. Does nothing while it is up. */
  abstract start(): Promise<void>;
  abstract stop(signal?: StopSignal): Promise<void>;
  /** Asks the agent that is up; rejects with ControlError (`agent_down`) while none is. */
  abstract call<Name extends AgentCall>(
    name: Name,
    given: AgentCalls[Name]['given'],
  ): Promise<AgentCalls[Name]['answer']>;

  /** Makes a deployment current, in the state asked for (default: deployed, no error). */
  deploy(wanted: ControlDeployment = {}): Promise<Deployment> {
    return this.call('deploy', wanted);
  }
  /** Removes a deployment's files, archives it, publishes `deployment.removed`. */
  remove(id: string): Promise<Deployment> {
    return this.call('remove', id);
  }
  /**
   * Publishes that many events of deployments that come and go; the current one stays. Resolves with the range of ids.
   */
  publish(count: number): Promise<ControlPublished> {
    return this.call('publish', count);
  }
  /** Compacts the log now. */
  compact(): Promise<ControlCompacted> {
    return this.call('compact', undefined);
  }
  /** Cuts every open event stream, as a network does. Resolves with their number. */
  cut(): Promise<{ streams: number }> {
    return this.call('cut', undefined);
  }
  /** Reads all of the event log, and tells what is in it and what of it is damaged. */
  log(): Promise<ControlLog> {
    return this.call('log', undefined);
  }
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
