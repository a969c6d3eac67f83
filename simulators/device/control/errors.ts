/** What can go wrong when a device is driven, as the HTTP status that the control API answers. */
import { KilledError } from '../home.ts';
import { AgentDownError, EventLogError } from '../log/event-log.ts';
import { DeployError } from '../ports.ts';
import { UnknownDeploymentError } from '../state/deployments.ts';
import { ControlError, type ControlTarget } from './target.ts';

export function controlError(error: unknown): ControlError {
  if (error instanceof ControlError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const as = (status: number, code: string) => new ControlError(status, code, message, { cause: error });
  if (error instanceof RangeError) return as(400, 'invalid_body');
  if (error instanceof UnknownDeploymentError) return as(404, 'deployment_not_found');
  if (error instanceof DeployError) return as(422, 'not_deployable');
  if (error instanceof AgentDownError || error instanceof KilledError) return as(409, 'agent_down');
  if (error instanceof EventLogError) return as(503, 'event_log_unavailable');
  return as(500, 'internal_error');
}

/** `target`, with every rejection made a ControlError. */
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
    stop: (signal) => translate(() => target.stop(signal)),
    start: () => translate(() => target.start()),
  };
}
