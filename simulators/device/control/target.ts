/** What the control API drives: a device in this process, or an agent in a process of its own. */
import type {
  ControlCompacted,
  ControlDeployment,
  ControlInfo,
  ControlPublished,
  StopSignal,
} from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/deployment.ts';

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
  stop(signal: StopSignal): Promise<void>;
  start(): Promise<void>;
}
