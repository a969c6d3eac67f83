/** Maps a finding to its requirement and level; the first matching row decides. */
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Level } from '../../../harness/runner/types.ts';
import type { Comparison, DifferenceKind } from './differences.ts';
import { isWrong } from './exchange.ts';

interface Row {
  what: DifferenceKind | readonly DifferenceKind[];
  kind?: string;
  member?: RegExp;
  also?: (comparison: Comparison) => boolean;
  ids: readonly string[];
  level: Level;
}

const rowsOf =
  (level: Level) =>
  (ids: string | readonly string[], what: Row['what'], rest: Partial<Row> = {}): Row => ({
    what,
    ...rest,
    ids: [ids].flat(),
    level,
  });
const [must, should] = [rowsOf('MUST'), rowsOf('SHOULD')];

const PAGE = ['limit', 'offset', 'refused', 'error', 'size', 'more', 'count', 'items', 'envelope'] as const;
const REFUSAL = ['served', 'unrefused'] as const;
export const isPing = ({ exchange }: Comparison): boolean => exchange.operation.id === 'pingDevice';
export const isRead = ({ exchange }: Comparison): boolean => exchange.operation.method === 'GET';
/** Excludes a list below a resource, which is no collection (section 4.2). */
const isList = ({ exchange: { operation } }: Comparison): boolean => operation.list === true && operation.sub !== true;
const isLimited = ({ exchange }: Comparison): boolean => exchange.key === 'limited';
const isOlder = ({ exchange }: Comparison): boolean => exchange.version !== NEWEST_VERSION;

/** Rows: MUST for what the specification states, SHOULD for what conventions or the published API document add. */
const ROWS: readonly Row[] = [
  must('platform.auth.key-required', 'served', { also: ({ exchange }) => exchange.key === 'none' }),
  should('platform.auth.key-required', 'unrefused', { also: ({ exchange }) => exchange.key === 'none' }),
  // Only a SHOULD, because a hexadecimal key may be valid in either case.
  should('platform.auth.key-wrong', 'served', { also: ({ exchange }) => exchange.key === 'recased' }),
  must('platform.auth.key-wrong', 'served', { also: ({ exchange }) => isWrong(exchange.key) }),
  should('platform.auth.key-wrong', 'unrefused', { also: ({ exchange }) => isWrong(exchange.key) }),
  must('platform.auth.scope', 'served', { also: (each) => isLimited(each) && isPing(each) }),
  must('platform.auth.scope', 'served', { member: / it was refused with/, also: isLimited }),
  should('platform.auth.scope', ['served', 'refused', 'unrefused'], { also: isLimited }),
  should('platform.version.end-of-life', REFUSAL, { member: /end of life$/ }),
  should('platform.version.malformed', REFUSAL, { member: /malformed$/ }),
  should('platform.version.unknown', REFUSAL, { member: /never released$/ }),
  should('platform.robust.references', REFUSAL),
  must('platform.deployment.removing', 'foreign', { kind: 'deployment' }),
  must('platform.device.archived', 'foreign', { kind: 'device' }),
  must('platform.list.envelope', 'status', { also: isList }),
  should('platform.list.envelope', 'media', { also: isList }),
  should('platform.ping.success', 'shape', { also: isPing, member: /(short|of another code)$/ }),
  must('platform.ping.success', ['status', 'media', 'shape'], { also: isPing }),
  must('platform.list.clamp.nonsense', PAGE, { member: /that is nonsense$/ }),
  must('platform.list.clamp.nearest', 'limit', { member: /nearest/ }),
  should('platform.list.clamp.low', 'limit', { member: /not 1/ }),
  must('platform.list.clamp.huge', PAGE, { member: /that is huge$/ }),
  must('platform.list.clamp.high', PAGE, { member: /limit that is high$/ }),
  must('platform.list.clamp.low', PAGE, { member: /limit that is low$/ }),
  must('platform.list.clamp.offset', PAGE, { member: /offset that is negative$/ }),
  must('platform.list.envelope', 'envelope', { also: isList }),
  must('platform.list.defaults', PAGE, { member: /by default$/ }),
  must('platform.list.in-range', ['limit', 'offset']),
  must('platform.list.page-size', 'size'),
  should('platform.list.total-count', 'count', { member: /beside an expansion$/ }),
  must('platform.list.total-count', 'count'),
  must(['platform.list.past-end', 'platform.list.beyond-end'], ['more', 'items', 'refused'], {
    member: /past the end/,
  }),
  must('platform.list.has-more', 'more'),
  must('platform.list.items', 'twice'),
  must(['platform.list.walk-once', 'platform.list.walk', 'platform.list.in-range'], 'items'),
  must('platform.config-instance.yaml', 'refused', { member: /yaml$/ }),
  should('platform.list.stable', 'unstable'),
  should('platform.list.filtered', ['filter', 'order']),
  should('platform.list.filtered', 'refused', { member: /^\?/, also: isList }),
  should('platform.resource.same', 'refused', { member: /^\?/ }),
  must('platform.version.supported', ['refused', 'silent']),
  must('platform.version.supported', 'error', { also: isRead }),
  should('platform.group.tree', 'error', { member: / at once$/ }),
  should(['platform.robust.fields', 'platform.group.tree'], 'error', {
    also: ({ exchange }) => JSON.stringify(exchange.body ?? '').includes('group'),
  }),
  should('platform.robust.fields', 'error'),
  should(['platform.list.created', 'platform.list.page-size'], 'unlisted'),
  should('platform.list.items', 'plural'),
  should('platform.deployment.shape', 'incomplete'),
  should('platform.robust.names', 'name'),
  should('platform.deployment.failed', 'failed'),
  must('platform.deployment.parent', 'parent'),
  should('platform.deployment.parent', 'targets'),
  must('platform.deployment.archived-final', 'revived', { member: /archived$/ }),
  should('platform.deployment.archived-final', 'accepted', { member: /archived$/ }),
  should('platform.deployment.drifted', 'revived'),
  should('platform.deployment.forward-only', 'backwards'),
  should('platform.device.expand', 'inactive'),
  should('platform.config-type.slug', 'accepted', { kind: 'config_type' }),
  must('platform.group.tree', 'circle'),
  should('platform.group.tree', 'accepted', { kind: 'group' }),
  should('platform.robust.references', 'accepted'),
  should(['platform.robust.fields', 'platform.config-type.slug'], ['value', 'effect'], {
    kind: 'config_type',
    member: /\/name$/,
  }),
  should('platform.robust.fields', 'value', {
    member: /\/name$/,
    kind: 'device',
    also: ({ isWritten }) => isWritten === true,
  }),
  must('platform.deployment.merge', 'merge'),
  should('platform.timestamps', 'timestamp', { member: /without a zone$/ }),
  must('platform.timestamps', 'timestamp'),
  // Only a SHOULD after a write, because section 4.2 shows no answer to one.
  should('platform.list.items', 'value', { member: /^\/object$/, also: (each) => !isRead(each) }),
  must('platform.list.items', 'value', { member: /\/object$/ }),
  must('platform.version.supported', 'value', { member: /^\/id$/, also: isRead }),
  // Only a SHOULD after a change, because its answer may show the value from before it.
  should('platform.resource.same', 'value', {
    also: ({ exchange: { ids, body }, path }) => ids.length > 0 && path.slice(1) in Object(body),
  }),
  must('platform.deployment.shape', 'shape', { kind: 'deployment', member: /\/\w+_?\w+$/ }),
  must('platform.deployment.created', ['value', 'effect'], { kind: 'deployment', member: /\/description$/ }),
  must(['platform.deployment.same', 'platform.deployment.created'], ['value', 'effect'], {
    kind: 'deployment',
    member: /\/(device_id|release_id|created_at)$/,
  }),
  must('platform.deployment.alike', 'value', { kind: 'deployment', member: /\/activity_status$/, also: isOlder }),
  must('platform.deployment.timestamps', 'moment'),
  should('platform.deployment.timestamps', 'odd-moment'),
  must('platform.deployment.timestamps', ['lacking', 'value'], {
    kind: 'deployment',
    member: /\/(queued|deployed|archived)_at$/,
  }),
  must('platform.config-type.slug', ['value', 'effect', 'side-effect'], { kind: 'config_type', member: /\/slug$/ }),
  must('platform.schema.slots', ['value', 'effect', 'lacking', 'shape'], { member: /\/instance_(slots|filepath)$/ }),
  must('platform.config-instance.yaml', ['value', 'effect'], { member: /\/content in yaml$/ }),
  must('platform.device.expand', ['expansion', 'unasked', 'shape'], { kind: 'device', member: /\/current_\w+$/ }),
  should('platform.schema.slots', 'unasked', { member: /\/instance_(slots|filepath)$/ }),
  must('platform.group.tree', ['value', 'effect', 'side-effect'], { member: /\/group_id$/ }),
  must('platform.group.tree', ['value', 'effect', 'side-effect'], { kind: 'group', member: /\/(name|parent_id)$/ }),
  should('platform.robust.fields', ['effect', 'side-effect']),
];

export const DECIDED: readonly string[] = [...new Set(ROWS.flatMap(({ ids }) => ids))];

type Decision = Pick<Row, 'ids' | 'level'>;

const DECISIONS = new WeakMap<Comparison, Decision>();

export function decide(comparison: Comparison): Decision {
  const known = DECISIONS.get(comparison);
  if (known !== undefined) return known;
  const row = ROWS.find(
    ({ what, kind, member, also }) =>
      (typeof what === 'string' ? what === comparison.what : what.includes(comparison.what)) &&
      (kind === undefined || kind === comparison.kind) &&
      (member === undefined || member.test(comparison.path)) &&
      also?.(comparison) !== false,
  );
  const decision = row ?? should('platform.resource.same', comparison.what);
  DECISIONS.set(comparison, decision);
  return decision;
}
