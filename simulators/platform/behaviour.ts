/** Decisions of the platform that the specification settles, as functions that a defect or a variant replaces. */
import type { Socket } from 'node:net';
import type { DeploymentReport } from '../../harness/contract/agent.ts';
import type {
  DeploymentActivityStatus,
  DeploymentErrorStatus,
  DeploymentStatus,
  DeploymentTargetStatus,
} from '../../harness/contract/enums.ts';
import type { ResourceKind } from '../../harness/contract/platform/operation.ts';
import type { Problem } from '../../harness/contract/shape.ts';
import type { SupportedVersion } from '../../harness/contract/versions.ts';
import type { DeviceMessenger } from './ports.ts';
import type { OrderTerm } from './store/order.ts';

export interface ListWindow {
  limit: number;
  offset: number;
  total(): number;
}

export type RowsAt = (start: number, count: number) => readonly number[];

export interface KeyFacts {
  scopes: readonly string[] | 'all';
}

export interface ErrorFacts {
  status: number;
  code: string;
  params: Record<string, unknown>;
  message: string;
}

export interface Answer {
  status: number;
  body: unknown;
}

export type Resource = Record<string, unknown>;

export interface PlatformBehaviour {
  // Lists (specification section 8)
  clampLimit(values: readonly string[]): number;
  clampOffset(values: readonly string[]): number;
  order(asked: readonly OrderTerm[]): readonly OrderTerm[];
  page(window: ListWindow, at: RowsAt): readonly number[];
  hasMore(window: ListWindow & { returned: number; beyond: boolean }): boolean;
  totalCount(window: ListWindow & { asked: boolean; expanding: boolean; returned: number }): number | undefined;
  envelope?(envelope: Resource): Resource;
  resource?(kind: ResourceKind, resource: Resource, version: SupportedVersion): Resource;

  answer?(operation: string, answer: Answer): Answer;

  delayMs?(): number;
  connected?(socket: Socket): void;

  // Keys and versions (sections 5 and 9)
  /** Returns undefined to refuse the request. `found`: the key whose text equals `presented`. */
  authenticate<K extends KeyFacts>(
    found: K | undefined,
    presented: string | undefined,
    all: readonly K[],
    operation: string,
  ): K | undefined;
  permits(key: KeyFacts, scope: string): boolean;
  /** Returns undefined to refuse the request. */
  version(header: string | undefined, operation: string): SupportedVersion | undefined;
  error(facts: ErrorFacts): Answer;
  createdStatus: number;
  /** `strict` parses as the reference does, and throws PlatformError 400. */
  readBody(bytes: Buffer, strict: (bytes: Buffer) => unknown): unknown;
  bodyProblems(operation: string, value: unknown, check: () => Problem[]): Problem[];

  // Ping (sections 2.5, 4.2 and 8)
  pingTimeout(asked: number): number | 'refuse';
  ping(messenger: DeviceMessenger, deviceId: string, timeoutNanos: number): ReturnType<DeviceMessenger['ping']>;
  pingAnswer(outcome: { code: 'success' | 'timeout'; round_trip_nanos?: number }, elapsedNanos: number): Answer;

  // Deployments (sections 2.2, 3 and 9)
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
  /**
   * Returns false for a request made for an outdated target (specification section 9, rule 3). `given`: `parent_id` of
   * the request.
   */
  parentHolds(given: string | null | undefined, currentTarget: string | null, version: SupportedVersion): boolean;
  mayTarget(from: DeploymentTargetStatus, to: DeploymentTargetStatus): boolean;
  mayReport(from: DeploymentActivityStatus, to: DeploymentActivityStatus): boolean;
  /** Activity of a deployment once its target is `archived`. */
  retired(activity: DeploymentActivityStatus): DeploymentActivityStatus;
  deploysDrifted: boolean;
  /**
   * Moment at which staged deployments become `drifted`: the device gets a new target, or has deployed a deployment.
   */
  driftsOn: 'target' | 'deployed';
  replaces: boolean;
  failureArchives: boolean;
  notifies: boolean;
  /** Returns the part of an agent's report to apply; undefined ignores the report. */
  report(report: DeploymentReport): DeploymentReport | undefined;

  // Config (section 9, rules 1 and 2)
  slugPatch(version: SupportedVersion): 'apply' | 'refuse' | 'ignore';
  /** `previous`: path in the newest schema of the same config type. */
  defaultFilepath(facts: { derived: string; previous: string | undefined; version: SupportedVersion }): string;
  acceptsFormat(format: string, version: SupportedVersion): boolean;
  validatesContent: boolean;

  /** Returns false if the move makes a cycle. `line`: the new parent and its ancestors. */
  mayMoveGroup(group: string, line: readonly string[]): boolean;
  allowsDuplicates: boolean;
  servesForeignOperations: boolean;
  downStep(kind: ResourceKind, to: SupportedVersion): boolean;
  expandsAlways: boolean;
}
