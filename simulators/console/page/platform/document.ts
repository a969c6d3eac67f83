import type { Deed } from '../document.ts';

/** Device on the page; times in RFC 3339. */
export interface DeviceLine {
  /** Place in the order of creation. */
  seq: number;
  id: string;
  name: string;
  status: string;
  /** Version of the device's agent; null until provisioned. */
  agent: string | null;
  groupId: string | null;
  group: string | null;
  release: string | null;
  /** Set for a device put online by hand, without an agent. */
  standIn: boolean;
  connectedAt: string | null;
  changedAt: string;
}

export interface DeploymentLine {
  seq: number;
  id: string;
  device: string;
  release: string;
  status: string;
  activity: string;
  error: string;
  target: string;
  changedAt: string;
}

/** Request that was answered or cut off, with secrets masked. */
export interface RequestLine {
  number: number;
  /** Arrival, milliseconds since 1970. */
  at: number;
  /** Milliseconds to the answer. */
  ms: number;
  method: string;
  url: string;
  /** Path as in the OpenAPI document, below the base path; null for the agent API and unknown routes. */
  route: string | null;
  version: string | null;
  /** Name of the key, `unknown key`, `no key`, or `agent`; never the key itself. */
  key: string;
  /** Null for a connection that ended without an answer. */
  status: number | null;
}

export interface ShownBody {
  text: string;
  /** Bytes of the whole body. */
  bytes: number;
  /** True if `text` is only the beginning. */
  cut: boolean;
}

/** Request with its answer, secrets masked. */
export interface Exchange {
  line: RequestLine;
  requestHeaders: [string, string][];
  /** Null if the request has no body, or if the platform did not read the body. */
  requestBody: ShownBody | null;
  responseHeaders: [string, string][];
  responseBody: ShownBody | null;
}

export interface PlanLine {
  id: number;
  /** Null for every method. */
  method: string | null;
  path: string;
  /** Number of requests that the plan answers; null for all. */
  times: number | null;
  used: number;
  /** Fault, e.g. `429=1`, or status of the planned answer. */
  gets: string;
}

export interface PlatformDocument {
  /** Keys: `url`, `agent_url`, `mqtt`, `control`. */
  addresses: Record<string, string>;
  dialect: string;
  deviceCounts: Record<string, number>;
  deploymentCounts: Record<string, number>;
  devices: Record<string, DeviceLine>;
  deployments: Record<string, DeploymentLine>;
  groups: { id: string; name: string }[];
  /** Newest last. */
  requests: RequestLine[];
  requestCount: number;
  plans: PlanLine[];
  snapshots: string[];
  /** Methods and paths for plans, e.g. `GET /devices`. */
  routes: string[];
  faultForms: string[];
  deeds: Deed[];
}
