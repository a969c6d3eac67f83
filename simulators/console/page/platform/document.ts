import type { Deed } from '../document.ts';

/** Times are in the format of RFC 3339. */
export interface DeviceLine {
  seq: number;
  id: string;
  name: string;
  status: string;
  agent: string | null;
  groupId: string | null;
  group: string | null;
  release: string | null;
  /** True if the control API or the seed put the device online, without an agent. */
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

/** Secrets are masked. */
export interface RequestLine {
  number: number;
  /** Arrival, milliseconds since 1970. */
  at: number;
  ms: number;
  method: string;
  url: string;
  /** Path as in the OpenAPI document, below the base path; null for the agent API and unknown routes. */
  route: string | null;
  version: string | null;
  /** Name of the key, `unknown key`, `no key`, or `agent`; never the key itself. */
  key: string;
  /** HTTP status; null if the connection ended without an answer. */
  status: number | null;
}

export interface ShownBody {
  text: string;
  bytes: number;
  cut: boolean;
}

export interface Exchange {
  line: RequestLine;
  requestHeaders: [string, string][];
  requestBody: ShownBody | null;
  responseHeaders: [string, string][];
  responseBody: ShownBody | null;
}

interface PlanLine {
  id: number;
  method: string | null;
  path: string;
  times: number | null;
  used: number;
  /** Fault or status, e.g. `429=1`. */
  gets: string;
}

export interface PlatformDocument {
  addresses: Record<string, string>;
  dialect: string;
  deviceCounts: Record<string, number>;
  deploymentCounts: Record<string, number>;
  devices: Record<string, DeviceLine>;
  deployments: Record<string, DeploymentLine>;
  groups: { id: string; name: string }[];
  /** In order of arrival, the newest last. */
  requests: RequestLine[];
  requestCount: number;
  plans: PlanLine[];
  snapshots: string[];
  routes: string[];
  faultForms: string[];
  deeds: Deed[];
}
