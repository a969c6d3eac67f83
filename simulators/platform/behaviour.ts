/**
 * Decisions of the platform that the specification or a published rule settles, as small functions. The reference is
 * correct. In `simulators/defects/platform` a defect changes one of them, and a variant chooses otherwise where the
 * specification leaves a choice.
 */
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

/** Facts about an API key that decisions may use. */
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
  /** Effective limit for the values of `limit` in the query, in order; none for a query without. */
  clampLimit(values: readonly string[]): number;
  clampOffset(values: readonly string[]): number;
  /** Total order from the requested terms, or the default order. */
  order(asked: readonly OrderTerm[]): readonly OrderTerm[];
  page(window: ListWindow, at: RowsAt): readonly number[];
  /** `beyond`: whether an item follows this page. */
  hasMore(window: ListWindow & { returned: number; beyond: boolean }): boolean;
  /** Undefined omits the field. `expanding`: the query asks for another expansion too. */
  totalCount(window: ListWindow & { asked: boolean; expanding: boolean; returned: number }): number | undefined;
  /** Changes the envelope just before sending. Default: unchanged. */
  envelope?(envelope: Resource): Resource;
  /** Changes a resource just before sending. Default: unchanged. */
  resource?(kind: ResourceKind, resource: Resource, version: SupportedVersion): Resource;

  /** Changes an operation's JSON answer just before sending. Default: unchanged. */
  answer?(operation: string, answer: Answer): Answer;

  /** Delay of the next answer, milliseconds. Default: none. */
  delayMs?(): number;
  /** Takes each connection before any byte of it. */
  connected?(socket: Socket): void;

  // Keys and versions (sections 5 and 9)
  /** Key that serves a request of this operation. `found`: the key with the presented text. */
  authenticate<K extends KeyFacts>(
    found: K | undefined,
    presented: string | undefined,
    all: readonly K[],
    operation: string,
  ): K | undefined;
  permits(key: KeyFacts, scope: string): boolean;
  /** Version that serves a request of this operation; undefined refuses the request. */
  version(header: string | undefined, operation: string): SupportedVersion | undefined;
  error(facts: ErrorFacts): Answer;
  createdStatus: number;
  /** Parses a request body. `strict`: parser of the reference, which throws. */
  readBody(bytes: Buffer, strict: (bytes: Buffer) => unknown): unknown;
  /** Problems of the body. `check`: compares the body with the published shape. */
  bodyProblems(operation: string, value: unknown, check: () => Problem[]): Problem[];

  // Ping (sections 2.5, 4.2 and 8)
  /** Nanoseconds to wait, or a refusal. */
  pingTimeout(asked: number): number | 'refuse';
  ping(messenger: DeviceMessenger, deviceId: string, timeoutNanos: number): ReturnType<DeviceMessenger['ping']>;
  pingAnswer(outcome: { code: 'success' | 'timeout'; round_trip_nanos?: number }, elapsedNanos: number): Answer;

  // Deployments (sections 2.2, 3 and 9)
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
  /** Whether the `parent_id` of a client holds; `given` is undefined for an omitted one. */
  parentHolds(given: string | null | undefined, currentTarget: string | null, version: SupportedVersion): boolean;
  mayTarget(from: DeploymentTargetStatus, to: DeploymentTargetStatus): boolean;
  mayReport(from: DeploymentActivityStatus, to: DeploymentActivityStatus): boolean;
  /** Activity of a deployment whose target has become `archived`. */
  retired(activity: DeploymentActivityStatus): DeploymentActivityStatus;
  deploysDrifted: boolean;
  /** Moment at which a device's staged deployments drift: another becomes the target, or reaches the device. */
  driftsOn: 'target' | 'deployed';
  replaces: boolean;
  failureArchives: boolean;
  notifies: boolean;
  /** Part of an agent's report to apply; undefined for none. */
  report(report: DeploymentReport): DeploymentReport | undefined;

  // Config (section 9, rules 1 and 2)
  slugPatch(version: SupportedVersion): 'apply' | 'refuse' | 'ignore';
  /** Path for a schema without slots. `previous`: path of the newest schema of that type. */
  defaultFilepath(facts: { derived: string; previous: string | undefined; version: SupportedVersion }): string;
  acceptsFormat(format: string, version: SupportedVersion): boolean;
  validatesContent: boolean;

  /** Whether a group may become a child. `line`: its parent-to-be and that parent's ancestors. */
  mayMoveGroup(group: string, line: readonly string[]): boolean;
  allowsDuplicates: boolean;
  servesForeignOperations: boolean;
  downStep(kind: ResourceKind, to: SupportedVersion): boolean;
  expandsAlways: boolean;
}
