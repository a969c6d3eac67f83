import { LIST_LIMITS, PING_TIMEOUT_MAXIMUM_NANOS } from '../../harness/contract/lists.ts';
import { instanceFormats } from '../../harness/contract/platform/config-instance.ts';
import { atLeast, SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import type { PlatformBehaviour } from './behaviour.ts';
import { NEWEST_FIRST, totalOrder } from './store/rows.ts';

/** Ranks only rise; a staged deployment may become drifted at the same rank. */
const ACTIVITY_RANK = { staged: 0, drifted: 0, queued: 1, deployed: 2, removing: 3, archived: 4 } as const;
const TARGET_RANK = { staged: 0, deployed: 1, archived: 2 } as const;

export function clampInteger(values: readonly string[], range: { low: number; high: number; otherwise: number }) {
  const [text] = values;
  if (text === undefined || !/^-?[0-9]+$/.test(text)) return range.otherwise;
  // Takes any number of digits, because clamping removes the errors of Number() above 2^53.
  return Math.min(range.high, Math.max(range.low, Number(text) + 0));
}

const { limitMinimum, limitMaximum, limitDefault, offsetMinimum, offsetDefault } = LIST_LIMITS;

export const referenceBehaviour: PlatformBehaviour = {
  clampLimit: (values) => clampInteger(values, { low: limitMinimum, high: limitMaximum, otherwise: limitDefault }),
  clampOffset: (values) =>
    clampInteger(values, { low: offsetMinimum, high: Number.MAX_SAFE_INTEGER, otherwise: offsetDefault }),
  order: (asked) => (asked.length > 0 ? totalOrder(asked) : NEWEST_FIRST),
  page: ({ limit, offset }, at) => at(offset, limit),
  hasMore: ({ beyond }) => beyond,
  totalCount: ({ asked, total }) => (asked ? total() : undefined),

  authenticate: (found) => found,
  permits: ({ scopes }, scope) =>
    scopes === 'all' || scopes.includes(scope) || scopes.includes(`${scope.split(':')[0]}:manage`),
  version: (header) => SUPPORTED_VERSIONS.find((version) => version === header),
  error: ({ status, code, params, message }) => ({ status, body: { error: { code, params, message } } }),
  createdStatus: 200,
  readBody: (bytes, strict) => strict(bytes),
  bodyProblems: (_operation, _value, check) => check(),

  pingTimeout: (asked) => (asked > 0 && asked <= PING_TIMEOUT_MAXIMUM_NANOS ? asked : 'refuse'),
  ping: (messenger, deviceId, timeoutNanos) => messenger.ping(deviceId, timeoutNanos),
  pingAnswer: (outcome) => ({ status: 200, body: outcome }),

  mergeStatus: (activity, error) => (error === 'none' ? activity : error),
  parentHolds: (given, currentTarget, version) =>
    given === undefined || !atLeast(version, 'everglades') || given === currentTarget,
  mayTarget: (from, to) => TARGET_RANK[to] > TARGET_RANK[from],
  mayReport: (from, to) => ACTIVITY_RANK[to] > ACTIVITY_RANK[from],
  retired: (activity) => (activity === 'deployed' || activity === 'removing' ? 'removing' : 'archived'),
  deploysDrifted: false,
  driftsOn: 'target',
  replaces: true,
  failureArchives: true,
  notifies: true,
  report: (report) => report,

  slugPatch: (version) => (atLeast(version, 'everglades') ? 'refuse' : 'apply'),
  defaultFilepath: ({ derived, previous, version }) =>
    atLeast(version, 'everglades') ? derived : (previous ?? derived),
  acceptsFormat: (format, version) => (instanceFormats(version) as readonly string[]).includes(format),
  validatesContent: true,

  mayMoveGroup: (group, line) => !line.includes(group),
  allowsDuplicates: false,
  servesForeignOperations: false,
  downStep: () => true,
  expandsAlways: false,
};
