/**
 * Every decision of the platform that the specification or a published rule settles, as small functions. The reference
 * takes the right ones. In `simulators/defects/platform` a defect changes one of them, and a variant takes another
 * choice where the specification leaves it open.
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

/** The page that a client asked for, and how many items match. */
export interface ListWindow {
  limit: number;
  offset: number;
  /** Number of all matching items. */
  total(): number;
}

/** Row numbers by position in the order asked for. */
export type RowsAt = (start: number, count: number) => readonly number[];

/** What a decision may depend on in an API key. */
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

export interface StampFacts {
  now: string;
  /** The moment recorded before this one. */
  after: string;
  /** The moment that the agent reported. */
  reported?: string;
}

export type Resource = Record<string, unknown>;

export interface PlatformBehaviour {
  // Lists (specification section 8)
  /** The effective limit for the values of `limit` in the query, in their order (none when absent). */
  clampLimit(values: readonly string[]): number;
  clampOffset(values: readonly string[]): number;
  /** The default order where a client asks for none, and the total order of what it asks for. */
  order(asked: readonly OrderTerm[]): readonly OrderTerm[];
  /** The rows of a page. */
  page(window: ListWindow, at: RowsAt): readonly number[];
  /** `beyond`: whether an item exists after the last one of this page. */
  hasMore(window: ListWindow & { returned: number; beyond: boolean }): boolean;
  /** `undefined`: the field is omitted. `expanding`: something else was asked to be expanded. */
  totalCount(window: ListWindow & { asked: boolean; expanding: boolean; returned: number }): number | undefined;
  /** Changes the envelope just before it is sent. Absent: sent as it is. */
  envelope?(envelope: Resource): Resource;
  /** Changes a resource just before it is sent. Absent: sent as it is. */
  resource?(kind: ResourceKind, resource: Resource, version: SupportedVersion): Resource;

  /** Changes the JSON answer of an operation just before it is sent. Absent: sent as it is. */
  answer?(operation: string, answer: Answer): Answer;

  /** Milliseconds by which the next answer is late. Absent: at once. */
  delayMs?(): number;
  /** Sees each connection before anything is read from it or written to it. Absent: left as it is. */
  connected?(socket: Socket): void;

  // Keys and versions (sections 5 and 9)
  /** The key to serve the request of that operation with; `found` is the one whose text was presented. */
  authenticate<K extends KeyFacts>(
    found: K | undefined,
    presented: string | undefined,
    all: readonly K[],
    operation: string,
  ): K | undefined;
  permits(key: KeyFacts, scope: string): boolean;
  /** The version to serve the request of that operation in; `undefined`: refused. */
  version(header: string | undefined, operation: string): SupportedVersion | undefined;
  /** The answer to a refused request. */
  error(facts: ErrorFacts): Answer;
  /** Status of a successful creation. */
  createdStatus: number;
  /** The value of a request body; `strict` is the reference reader, which throws. */
  readBody(bytes: Buffer, strict: (bytes: Buffer) => unknown): unknown;
  /** What is wrong with it; `check` compares it with the published shape. */
  bodyProblems(operation: string, value: unknown, check: () => Problem[]): Problem[];

  // Ping (sections 2.5, 4.2 and 8)
  /** How long to wait, in nanoseconds, or a refusal. */
  pingTimeout(asked: number): number | 'refuse';
  /** Reaches the device and back. */
  ping(messenger: DeviceMessenger, deviceId: string, timeoutNanos: number): ReturnType<DeviceMessenger['ping']>;
  pingAnswer(outcome: { code: 'success' | 'timeout'; round_trip_nanos?: number }, elapsedNanos: number): Answer;

  // Deployments (sections 2.2, 3 and 9)
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
  /** Whether what a client asserts with `parent_id` holds. `given` is undefined when it is omitted. */
  parentHolds(given: string | null | undefined, currentTarget: string | null, version: SupportedVersion): boolean;
  mayTarget(from: DeploymentTargetStatus, to: DeploymentTargetStatus): boolean;
  mayReport(from: DeploymentActivityStatus, to: DeploymentActivityStatus): boolean;
  /** What becomes of a deployment whose target is now `archived`. */
  retired(activity: DeploymentActivityStatus): DeploymentActivityStatus;
  /** The moment to record, or null for none. */
  stamp(moment: 'queued' | 'deployed' | 'archived', facts: StampFacts): string | null;
  /** Whether one that has drifted is deployed when that is asked for. */
  deploysDrifted: boolean;
  /** When staged deployments of a device drift: as soon as another is targeted, or once it is on the device. */
  driftsOn: 'target' | 'deployed';
  /** Whether a new target replaces the device's current one. */
  replaces: boolean;
  /** Whether a fatal error ends a deployment. */
  failureArchives: boolean;
  /** Whether the agent is notified of a new target. */
  notifies: boolean;
  /** The part of an agent's report that is applied; `undefined` applies nothing. */
  report(report: DeploymentReport): DeploymentReport | undefined;

  // Config (section 9, rules 1 and 2)
  slugPatch(version: SupportedVersion): 'apply' | 'refuse' | 'ignore';
  /** Where a schema without slots writes to. `previous`: the path of the newest schema of that type. */
  defaultFilepath(facts: { derived: string; previous: string | undefined; version: SupportedVersion }): string;
  acceptsFormat(format: string, version: SupportedVersion): boolean;
  /** Whether content must satisfy its schema. */
  validatesContent: boolean;

  // Devices and groups (section 9)
  /** Whether a group may become a child of `parent`, whose line of ancestors (itself first) is given. */
  mayMoveGroup(group: string, line: readonly string[]): boolean;
  /** Whether a name or slug may be used twice. */
  allowsDuplicates: boolean;
  /** Whether an operation that this version does not have is served all the same. */
  servesForeignOperations: boolean;
  /** Which steps down to older versions are taken for a resource. */
  downStep(kind: ResourceKind, to: SupportedVersion): boolean;
  /** Whether expansions are given without being asked for. */
  expandsAlways: boolean;
}
