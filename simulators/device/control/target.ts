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

/** Device in this or another process; each call resolves once clients can see its effect. */
export abstract class ControlTarget {
  abstract info(): ControlInfo | Promise<ControlInfo>;
  abstract start(): Promise<void>;
  abstract stop(signal?: StopSignal): Promise<void>;
  /** Rejects with ControlError (`agent_down`) while the agent is down. */
  abstract call<K extends AgentCall>(name: K, given: AgentCalls[K]['given']): Promise<AgentCalls[K]['answer']>;

  /** Makes a new deployment current; the default has the status `deployed` and no error. */
  deploy(wanted: ControlDeployment = {}): Promise<Deployment> {
    return this.call('deploy', wanted);
  }
  /** Removes the files of a deployment, archives the deployment, and publishes `deployment.removed`. */
  remove(id: string): Promise<Deployment> {
    return this.call('remove', id);
  }
  /** Publishes `count` events of invented deployments, without changing the current deployment. */
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
