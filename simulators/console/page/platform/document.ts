import type { Deed } from '../document.ts';

/** A recently changed device. Times are RFC 3339. */
export interface DeviceLine {
  /** Place in the order of creation. */
  seq: number;
  id: string;
  name: string;
  status: string;
  /** Version of its agent; null until provisioned. */
  agent: string | null;
  groupId: string | null;
  group: string | null;
  release: string | null;
  /** Whether it is online without an agent. */
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

/** A request that was answered or cut off, with secrets masked. */
export interface RequestLine {
  number: number;
  /** Arrival, milliseconds since 1970. */
  at: number;
  /** Milliseconds to the answer. */
  ms: number;
  method: string;
  url: string;
  /** As in the OpenAPI document, below the base path; null for the agent API and unknown routes. */
  route: string | null;
  version: string | null;
  /** Name of the key, `unknown key`, `no key`, or `agent`; never its value. */
  key: string;
  /** Null if the connection ended without an answer. */
  status: number | null;
}

export interface ShownBody {
  text: string;
  /** Bytes of the whole body. */
  bytes: number;
  /** Whether `text` is only the beginning. */
  cut: boolean;
}

/** A request with its answer, secrets masked. */
export interface Exchange {
  line: RequestLine;
  requestHeaders: [string, string][];
  /** Null if there was none, or it was not read. */
  requestBody: ShownBody | null;
  responseHeaders: [string, string][];
  responseBody: ShownBody | null;
}

export interface PlanLine {
  id: number;
  /** Null: every method. */
  method: string | null;
  path: string;
  /** Requests that receive it; null: all. */
  times: number | null;
  used: number;
  /** Fault in its written form, or status of the answer. */
  gets: string;
}

export interface PlatformDocument {
  /** `url`, `agent_url`, `mqtt`, `control`. */
  addresses: Record<string, string>;
  dialect: string;
  deviceCounts: Record<string, number>;
  /** Deployments by activity status. */
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
