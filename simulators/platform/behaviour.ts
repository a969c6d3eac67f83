/**
 * Decisions of the platform that the specification or a published rule settles, as small functions. The reference is
 * correct. In `simulators/defects/platform` a defect changes one of them, and a variant takes another choice where the
 * specification leaves one.
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

/** Requested page, and the number of matching items. */
export interface ListWindow {
  limit: number;
  offset: number;
  total(): number;
}

export type RowsAt = (start: number, count: number) => readonly number[];

/** Parts of an API key that decisions may use. */
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
  /** Effective limit for the values of `limit` in the query, in order (none if absent). */
  clampLimit(values: readonly string[]): number;
  clampOffset(values: readonly string[]): number;
  /** Total order: the requested terms, or the default. */
  order(asked: readonly OrderTerm[]): readonly OrderTerm[];
  page(window: ListWindow, at: RowsAt): readonly number[];
  /** `beyond`: whether an item exists after this page. */
  hasMore(window: ListWindow & { returned: number; beyond: boolean }): boolean;
  /** Undefined omits the field. `expanding`: another expansion was requested. */
  totalCount(window: ListWindow & { asked: boolean; expanding: boolean; returned: number }): number | undefined;
  /** Changes the envelope just before it is sent. Default: unchanged. */
  envelope?(envelope: Resource): Resource;
  /** Changes a resource just before it is sent. Default: unchanged. */
  resource?(kind: ResourceKind, resource: Resource, version: SupportedVersion): Resource;

  /** Changes the JSON answer of an operation just before it is sent. Default: unchanged. */
  answer?(operation: string, answer: Answer): Answer;

  /** Delay of the next answer, milliseconds. Default: none. */
  delayMs?(): number;
  /** Called for each connection before any byte is read or written. */
  connected?(socket: Socket): void;

  // Keys and versions (sections 5 and 9)
  /** Key that serves a request of that operation; `found`: the key with the presented text. */
  authenticate<K extends KeyFacts>(
    found: K | undefined,
    presented: string | undefined,
    all: readonly K[],
    operation: string,
  ): K | undefined;
  permits(key: KeyFacts, scope: string): boolean;
  /** Version that serves a request of that operation; undefined refuses it. */
  version(header: string | undefined, operation: string): SupportedVersion | undefined;
  error(facts: ErrorFacts): Answer;
  createdStatus: number;
  /** Parses a request body; `strict`: the reference parser, which throws. */
  readBody(bytes: Buffer, strict: (bytes: Buffer) => unknown): unknown;
  /** Problems of the body; `check` compares it with the published shape. */
  bodyProblems(operation: string, value: unknown, check: () => Problem[]): Problem[];

  // Ping (sections 2.5, 4.2 and 8)
  /** Nanoseconds to wait, or a refusal. */
  pingTimeout(asked: number): number | 'refuse';
  ping(messenger: DeviceMessenger, deviceId: string, timeoutNanos: number): ReturnType<DeviceMessenger['ping']>;
  pingAnswer(outcome: { code: 'success' | 'timeout'; round_trip_nanos?: number }, elapsedNanos: number): Answer;

  // Deployments (sections 2.2, 3 and 9)
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
  /** Whether a client's `parent_id` holds; `given` is undefined if omitted. */
  parentHolds(given: string | null | undefined, currentTarget: string | null, version: SupportedVersion): boolean;
  mayTarget(from: DeploymentTargetStatus, to: DeploymentTargetStatus): boolean;
  mayReport(from: DeploymentActivityStatus, to: DeploymentActivityStatus): boolean;
  /** Activity of a deployment whose target has become `archived`. */
  retired(activity: DeploymentActivityStatus): DeploymentActivityStatus;
  deploysDrifted: boolean;
  /** When staged deployments of a device drift: as soon as another is targeted, or once it is on the device. */
  driftsOn: 'target' | 'deployed';
  replaces: boolean;
  failureArchives: boolean;
  notifies: boolean;
  /** Applied part of an agent's report; undefined applies nothing. */
  report(report: DeploymentReport): DeploymentReport | undefined;

  // Config (section 9, rules 1 and 2)
  slugPatch(version: SupportedVersion): 'apply' | 'refuse' | 'ignore';
  /** Path for a schema without slots. `previous`: path of the newest schema of that type. */
  defaultFilepath(facts: { derived: string; previous: string | undefined; version: SupportedVersion }): string;
  acceptsFormat(format: string, version: SupportedVersion): boolean;
  validatesContent: boolean;

  /** Whether a group may become a child of a parent; `line`: the parent and its ancestors. */
  mayMoveGroup(group: string, line: readonly string[]): boolean;
  allowsDuplicates: boolean;
  servesForeignOperations: boolean;
  downStep(kind: ResourceKind, to: SupportedVersion): boolean;
  expandsAlways: boolean;
}
