/** Target of the control API: a device in this process, or an agent in a process of its own. */
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

/** Rejection of a control request. `status`: HTTP status of the answer. */
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

export interface AgentCalls {
  deploy: { given: ControlDeployment; answer: Deployment };
  remove: { given: string; answer: Deployment };
  publish: { given: number; answer: ControlPublished };
  compact: { given: undefined; answer: ControlCompacted };
  cut: { given: undefined; answer: { streams: number } };
  log: { given: undefined; answer: ControlLog };
}
export type AgentCall = keyof AgentCalls;

/** Target whose every call resolves once its effect is visible. */
export abstract class ControlTarget {
  abstract info(): ControlInfo;
  /** Resolves once the agent serves; returns at once while the agent is up. */
  abstract start(): Promise<void>;
  abstract stop(signal?: StopSignal): Promise<void>;
  /** Calls the agent; rejects with ControlError (`agent_down`) while the agent is down. */
  abstract call<Name extends AgentCall>(
    name: Name,
    given: AgentCalls[Name]['given'],
  ): Promise<AgentCalls[Name]['answer']>;

  /** Makes a deployment current, by default deployed without error. */
  deploy(wanted: ControlDeployment = {}): Promise<Deployment> {
    return this.call('deploy', wanted);
  }
  /** Removes a deployment's files, archives it, publishes `deployment.removed`. */
  remove(id: string): Promise<Deployment> {
    return this.call('remove', id);
  }
  /** Publishes `count` events of short-lived deployments beside the current one; resolves with their ids. */
  publish(count: number): Promise<ControlPublished> {
    return this.call('publish', count);
  }
  compact(): Promise<ControlCompacted> {
    return this.call('compact', undefined);
  }
  cut(): Promise<{ streams: number }> {
    return this.call('cut', undefined);
  }
  log(): Promise<ControlLog> {
    return this.call('log', undefined);
  }
}

/** Turns an error of a device into a status and code of the control API. */
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
