/** Interface of the platform's decisions, which a planted defect or a variant can replace. */
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
import type { Clock } from '../common/clock.ts';
import type { DeviceMessenger } from './ports.ts';
import type { OrderTerm } from './store/rows.ts';

export interface ListWindow {
  limit: number;
  offset: number;
  total(): number;
}

export interface KeyFacts {
  scopes: readonly string[] | 'all';
}

export interface ErrorFacts {
  status: number;
  code: string;
  params: Record<string, unknown>;
  message: string;
}

interface Answer {
  status: number;
  /** Undefined for an empty body. */
  body: unknown;
}

export type Resource = Record<string, unknown>;

export interface PlatformBehaviour {
  // Lists: section 8 of the specification.
  clampLimit(values: readonly string[]): number;
  clampOffset(values: readonly string[]): number;
  order(asked: readonly OrderTerm[]): readonly OrderTerm[];
  page(window: ListWindow, at: (start: number, count: number) => readonly number[]): readonly number[];
  hasMore(window: ListWindow & { returned: number; beyond: boolean }): boolean;
  totalCount(window: ListWindow & { asked: boolean; expanding: boolean; returned: number }): number | undefined;
  envelope?(envelope: Resource): Resource;
  resource?(kind: ResourceKind, resource: Resource, version: SupportedVersion): Resource;

  answer?(operation: string, answer: Answer): Answer;

  /** Clock of stored times. */
  clock?(clock: Clock): Clock;
  delayMs?(): number;
  connected?(socket: Socket): void;

  // API keys and versions: sections 5 and 9 of the specification.
  /** Key of a request; undefined refuses the request. `found`: the key whose text is `presented`. */
  authenticate<K extends KeyFacts>(
    found: K | undefined,
    presented: string | undefined,
    all: readonly K[],
    operation: string,
  ): K | undefined;
  permits(key: KeyFacts, scope: string): boolean;
  /** Version of a request; undefined refuses the request. */
  version(header: string | undefined, operation: string): SupportedVersion | undefined;
  error(facts: ErrorFacts): Answer;
  createdStatus: number;
  /** `strict`: the reference's parser, which throws PlatformError 400. */
  readBody(bytes: Buffer, strict: (bytes: Buffer) => unknown): unknown;
  bodyProblems(operation: string, value: unknown, check: () => Problem[]): Problem[];

  // Pings: sections 2.5, 4.2 and 8 of the specification.
  pingTimeout(asked: number): number | 'refuse';
  ping(messenger: DeviceMessenger, deviceId: string, timeoutNanos: number): ReturnType<DeviceMessenger['ping']>;
  pingAnswer(outcome: { code: 'success' | 'timeout'; round_trip_nanos?: number }, elapsedNanos: number): Answer;

  // Deployments: sections 2.2, 3 and 9 of the specification.
  mergeStatus(activity: DeploymentActivityStatus, error: DeploymentErrorStatus): DeploymentStatus;
  /** False refuses a deployment whose `parent_id` (`given`) is outdated (section 9 of the specification, rule 3). */
  parentHolds(given: string | null | undefined, currentTarget: string | null, version: SupportedVersion): boolean;
  mayTarget(from: DeploymentTargetStatus, to: DeploymentTargetStatus, row?: { release_id: string }): boolean;
  mayReport(from: DeploymentActivityStatus, to: DeploymentActivityStatus): boolean;
  /** New activity of a deployment whose target becomes `archived`. */
  retired(activity: DeploymentActivityStatus): DeploymentActivityStatus;
  deploysDrifted: boolean;
  /** Cause of the status `drifted` in staged deployments: a new target of the device, or a report of `deployed`. */
  driftsOn: 'target' | 'deployed';
  replaces: boolean;
  failureArchives: boolean;
  notifies: boolean;
  /** Report to apply; undefined ignores the agent's report. */
  report(report: DeploymentReport): DeploymentReport | undefined;

  // Config types, schemas and instances: section 9 of the specification, rules 1 and 2.
  slugPatch(version: SupportedVersion): 'apply' | 'refuse' | 'ignore';
  /** `previous`: path in the newest schema of the same config type. */
  defaultFilepath(facts: { derived: string; previous: string | undefined; version: SupportedVersion }): string;
  acceptsFormat(format: string, version: SupportedVersion): boolean;
  validatesContent: boolean;

  /** False if the move makes a cycle. `line`: the new parent and its ancestors. */
  mayMoveGroup(group: string, line: readonly string[]): boolean;
  allowsDuplicates: boolean;
  servesForeignOperations: boolean;
  downStep(kind: ResourceKind, to: SupportedVersion): boolean;
  expandsAlways: boolean;
}
