/** How an agent may differ from the reference, where its protocol leaves that open or where it is wrong. */
import { DeployError, type DeploymentPort } from '../ports.ts';

/** The reference has none of them. All times are milliseconds. */
export interface AgentHabits {
  /** Time between being connected and being subscribed. */
  subscribesAfterMs?: number;
  /** Time to answer a ping. */
  answersPingsAfterMs?: number;
  /** Asks for its deployments so often, and ignores requests to sync. */
  pollsEveryMs?: number;
  /** Takes no error for a fatal one. */
  retriesForEver?: boolean;
  /** Does not subscribe again after its connection was lost. */
  subscribesOnce?: boolean;
}

/** The same port, on which no deployment fails for good. */
export function withoutFatalErrors(port: DeploymentPort): DeploymentPort {
  const deploy: DeploymentPort['deploy'] = async (wanted, files) => {
    try {
      return await port.deploy(wanted, files);
    } catch (error) {
      if (error instanceof DeployError && !error.retryable)
        throw new DeployError(error.message, true, { cause: error });
      throw error;
    }
  };
  return new Proxy(port, {
    get(target, name) {
      if (name === 'deploy') return deploy;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
