/** What the console shows of a simulated platform. */
import type { Deed } from '../document.ts';

/** A device among the ones that changed last. Times are RFC 3339. */
export interface DeviceLine {
  /** Its place in the order of creation. */
  seq: number;
  id: string;
  name: string;
  status: string;
  /** Version of its agent; null until provisioned. */
  agent: string | null;
  groupId: string | null;
  /** Name of its group. */
  group: string | null;
  /** Version of the release that is on it. */
  release: string | null;
  /** Whether it is online without an agent. */
  standIn: boolean;
  connectedAt: string | null;
  changedAt: string;
}

/** A deployment among the ones that changed last. */
export interface DeploymentLine {
  seq: number;
  id: string;
  /** Name of its device. */
  device: string;
  /** Version of its release. */
  release: string;
  status: string;
  activity: string;
  error: string;
  target: string;
  changedAt: string;
}

/** A request that was answered, or cut off. Secrets in it are masked. */
export interface RequestLine {
  number: number;
  /** Milliseconds since 1970 when it came. */
  at: number;
  /** Milliseconds until it was answered. */
  ms: number;
  method: string;
  /** Path and query. */
  url: string;
  /** As in the OpenAPI document, below the base path; null for the agent API and where there is no route. */
  route: string | null;
  version: string | null;
  /** The key's name, `unknown key`, `no key`, or `agent`. Never its value. */
  key: string;
  /** Null when the connection ended without an answer. */
  status: number | null;
}

/** A body as it is shown. */
export interface ShownBody {
  text: string;
  /** Bytes of the whole one. */
  bytes: number;
  /** Whether `text` is only its beginning. */
  cut: boolean;
}

/** A request with its answer. Secrets in it are masked. */
export interface Exchange {
  line: RequestLine;
  requestHeaders: [string, string][];
  /** Null when it had none, or nobody read it. */
  requestBody: ShownBody | null;
  responseHeaders: [string, string][];
  responseBody: ShownBody | null;
}

/** What is planned for a route. */
export interface PlanLine {
  id: number;
  /** Null: every method. */
  method: string | null;
  path: string;
  /** How many requests get it; null: every one. */
  times: number | null;
  used: number;
  /** The fault as it is written, or the status of the answer. */
  gets: string;
}

export interface PlatformDocument {
  /** `url`, `agent_url`, `mqtt`, `control`. */
  addresses: Record<string, string>;
  dialect: string;
  /** Devices by status. */
  deviceCounts: Record<string, number>;
  /** Deployments by activity status. */
  deploymentCounts: Record<string, number>;
  /** By id. */
  devices: Record<string, DeviceLine>;
  deployments: Record<string, DeploymentLine>;
  groups: { id: string; name: string }[];
  /** Newest last. */
  requests: RequestLine[];
  /** Requests since the start. */
  requestCount: number;
  plans: PlanLine[];
  snapshots: string[];
  /** Methods and paths that a plan can be for, e.g. `GET /devices`. */
  routes: string[];
  /** How a fault is written. */
  faultForms: string[];
  /** Done by hand. */
  deeds: Deed[];
}
