/**
 * Every decision of the simulated device that can be taken differently, as small functions. `behaviour` takes the right ones;
 * a defect or a legal variant is made from it by replacing a few (`simulators/defects/device`, `simulators/variants/device`).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Deployment } from '../../harness/contract/deployment.ts';
import type {
  DeploymentActivityStatus,
  DeploymentErrorStatus,
  DeploymentStatus,
} from '../../harness/contract/enums.ts';
import type { ErrorBody } from '../../harness/contract/errors.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import type { StoredEvent } from './log/line.ts';
import { type CursorRequest, chooseCursor, type Retained, resolveCursor } from './stream/cursor.ts';
import { parseTypes, type TypeFilter, wants } from './stream/filter.ts';
import { frame, HEARTBEAT } from './stream/frame.ts';

export interface DeviceBehaviour {
  readonly http: HttpBehaviour;
  readonly stream: StreamBehaviour;
  readonly deployments: DeploymentBehaviour;
}

export interface HttpBehaviour {
  /** The path below the version prefix, or undefined when this path is not the Device API's. */
  route(path: string): string | undefined;
  /** Whether a loopback request with this `Authorization` header may pass. */
  authorized(header: string | undefined, token: string): boolean;
  errorBody(status: number, code: string, message: string, params: Record<string, unknown>): unknown;
  /** The deployment as `GET /deployments/current` shows it. */
  deploymentBody(deployment: Deployment): unknown;
}

export interface StreamBehaviour {
  chooseCursor(request: CursorRequest): number | 'none' | 'malformed';
  resolveCursor(cursor: number | 'none', retained: Retained): number | 'expired';
  parseTypes(values: readonly string[]): TypeFilter;
  wants(filter: TypeFilter, type: string, phase: 'replay' | 'live'): boolean;
  frame(event: StoredEvent): string;
  /** Text of a heartbeat; '' sends none. */
  heartbeat(): string;
  heartbeatAtOpen: boolean;
  contentType: string;
}

export interface DeploymentBehaviour {
  /** The merge rule (specification section 2.2). */
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
}

export const behaviour: DeviceBehaviour = {
  http: {
    route: (path) => (path.startsWith(`${DEVICE_API_PREFIX}/`) ? path.slice(DEVICE_API_PREFIX.length) : undefined),
    authorized: (header, token) => sameSecret(header ?? '', `Bearer ${token}`),
    errorBody: (_status, code, message, params): ErrorBody => ({ error: { code, params, message } }),
    deploymentBody: (deployment) => deployment,
  },
  stream: {
    chooseCursor,
    resolveCursor,
    parseTypes,
    wants,
    frame,
    heartbeat: () => HEARTBEAT,
    heartbeatAtOpen: true,
    contentType: 'text/event-stream',
  },
  deployments: {
    mergeStatus: (activity, error) => (error === 'none' ? activity : error),
  },
};

/** Compares without telling by its duration how much agrees. */
function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
