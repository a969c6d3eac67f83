/**
 * What is drawn for a Platform API. A member that the specification does not name is changed only where another
 * exchange with the same server shows it as it is.
 */
import type { Random } from '../../../simulators/common/random.ts';
import { defined } from '../../common/defined.ts';
import type { Operation } from '../../contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../contract/platform/operations.ts';
import { API_VERSIONS, NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import { type Cell, type Drawn, type Form, ITEMS, type Kind, kindsOf, maybe } from './perturbation.ts';
import { type Leaf, lineOf, type Server, type Survey } from './servers.ts';

interface Asked {
  chance: Random;
  server: Server;
  survey: Survey;
}

const PING = 'POST /devices/{device_id}/ping';
const operationOf = (line: string): Operation => OPERATIONS.find((each) => lineOf(each) === line) as Operation;
const resourceOf = (line: string) => RESOURCES[operationOf(line).kind ?? 'device'];
const readsIn = (survey: Survey): string[] => [...survey.keys()].filter((line) => line.startsWith('GET'));
const listsIn = (survey: Survey): string[] => readsIn(survey).filter((line) => operationOf(line).list === true);
const key = (path: readonly string[]): string => path.join('.');

/** The members that an operation shows: in that version, or in the newest that has it. */
const leavesIn = (survey: Survey, operation: string, version?: string): readonly Leaf[] =>
  [...(survey.get(operation) ?? [])].findLast(([each]) => each === (version ?? each))?.[1] ?? [];

export function platformChange(asked: Asked): Drawn | undefined {
  const share = asked.chance.next();
  const draw =
    share < 0.4
      ? memberChange
      : share < 0.6
        ? pageChange
        : share < 0.8
          ? requestChange
          : share < 0.9
            ? staleness
            : statusChange;
  const made = draw(asked);
  return made === undefined || isOpenToLimited(made) ? undefined : made;
}

/** What a key without scopes is answered is not shown, but for pings: only what it is served agrees with the rest. */
function isOpenToLimited({ kind, cell: { key: held, operation = '', form }, path: [first = ''] = [] }: Drawn): boolean {
  if (held !== 'limited' || kind === 'let-through') return false;
  const isRead = operation.startsWith('GET') && kindsOf('member', 'page').includes(kind);
  return !isRead || form === 'expanded' || Object.hasOwn(resourceOf(operation).expansions, first);
}

/** An operation, most often in one version, sometimes in one form, on one kind of connection, with one key. */
function cellOf({ chance, survey }: Asked, operation: string, forms: readonly Form[] = [], fixed = 0.75): Cell {
  return defined({
    operation,
    version: maybe(chance, fixed, [...(survey.get(operation)?.keys() ?? SUPPORTED_VERSIONS)]),
    form: maybe(chance, forms.length > 0 ? 0.3 : 0, forms),
    connection: maybe(chance, 0.15, ['new', 'kept'] as const),
    key: maybe(chance, 0.1, ['full', 'limited'] as const),
  });
}

const KINDS_BY_TYPE: Readonly<Record<Leaf['type'], readonly Kind[]>> = {
  object: ['dropped', 'null', 'retyped'],
  array: ['dropped', 'null', 'retyped', 'altered'],
  number: ['dropped', 'null', 'retyped', 'altered', 'foreign'],
  boolean: ['dropped', 'null', 'retyped', 'altered'],
  string: ['dropped', 'null', 'retyped', 'altered', 'foreign'],
  time: ['dropped', 'null', 'retyped', 'altered', 'foreign', 'shifted'],
};

/** Forms in which a list can be asked for. */
function formsOf({ survey, server }: Asked, operation: string): Form[] {
  const { expansions } = resourceOf(operation);
  const isExpanded = leavesIn(survey, operation).some(({ path: [first = ''] }) => Object.hasOwn(expansions, first));
  const others = [
    ...(isExpanded ? (['expanded'] as const) : []),
    ...(server.filters === true ? (['filtered'] as const) : []),
  ];
  return operationOf(operation).list === true ? ['plain', 'paged', 'counted', ...others] : [];
}

function memberChange(asked: Asked): Drawn | undefined {
  const { chance, survey } = asked;
  if (chance.chance(0.08)) return pingChange(asked);
  const operation = chance.pick([...survey.keys()]);
  const cell = cellOf(asked, operation, formsOf(asked, operation));
  const { expansions } = resourceOf(operation);
  const leaves = leavesIn(survey, operation, cell.version).filter(
    ({ path: [first = ''] }) => !Object.hasOwn(expansions, first) || (cell.form ?? 'expanded') === 'expanded',
  );
  const leaf = chance.pick(leaves);
  // Sections 2 and 2.6 promise these of every resource.
  if (!['object', 'id'].includes(key(leaf.path)) && !isShownElsewhere(survey, cell, leaf)) return undefined;
  const kind = chance.pick(
    KINDS_BY_TYPE[leaf.type].filter((each) => each !== 'foreign' || leaf.path.at(-1) !== 'object'),
  );
  const item = operationOf(operation).list === true ? chance.pick(ITEMS) : undefined;
  return { kind, cell, path: leaf.path, ...defined({ item }) };
}

/** Whether an exchange outside of the cell shows the member: another operation or version, or the expanded resource. */
function isShownElsewhere(survey: Survey, cell: Cell, { path }: Leaf): boolean {
  const { operation = '', version, form, connection, key: held } = cell;
  if (form !== undefined || connection !== undefined || held !== undefined) return true;
  const expanded = resourceOf(operation).expansions[path[0] ?? '']?.kind;
  const shows = (line: string, wanted: readonly string[]): boolean =>
    [...(survey.get(line) ?? [])].some(
      ([each, leaves]) =>
        (line !== operation || (version ?? each) !== each) && leaves.some((leaf) => key(leaf.path) === key(wanted)),
    );
  const same = readsIn(survey).filter((line) => resourceOf(line) === resourceOf(operation));
  return (
    same.some((line) => shows(line, path)) ||
    (expanded !== undefined && path.length > 1 && shows(`GET /${RESOURCES[expanded].collection}`, path.slice(1)))
  );
}

/** Section 2.5. */
function pingChange(asked: Asked): Drawn {
  const name = asked.chance.pick(['code', 'round_trip_nanos'] as const);
  const kinds: readonly Kind[] = ['dropped', 'null', 'retyped', ...(name === 'code' ? (['altered'] as const) : [])];
  return { kind: asked.chance.pick(kinds), cell: cellOf(asked, PING), path: [name] };
}

/** Section 2.6. */
const ENVELOPE = ['object', 'limit', 'offset', 'has_more', 'data', 'total_count'];

function pageChange(asked: Asked): Drawn {
  const { chance, survey, server } = asked;
  const lists = listsIn(survey);
  const { form, ...cell } = cellOf(asked, chance.pick(lists), ['plain', 'paged', 'counted'], 0.6);
  const whole = { ...cell, ...defined({ form }) };
  if (chance.chance(0.5)) {
    const name = chance.pick(ENVELOPE);
    const kind = chance.pick(KINDS_BY_TYPE[name === 'data' ? 'object' : 'boolean']);
    return { kind, cell: name === 'total_count' ? { ...cell, form: 'counted' } : whole, path: [name] };
  }
  const created = lists.filter((line) => server.writes.test(line.replace('GET', 'POST')));
  const kind = chance.pick(kindsOf('page').filter((each) => each !== 'creation-undone' || created.length > 0));
  if (kind === 'creation-undone') return { kind, cell: cellOf(asked, chance.pick(created)) };
  if (kind === 'counted') return { kind, cell: form === 'counted' ? cell : whole };
  return { kind, cell: whole, item: chance.pick(['first', 'last'] as const) };
}

/** Scopes but for `devices:read` are not shown. */
function requestChange(asked: Asked): Drawn | undefined {
  const { chance, survey } = asked;
  const way = chance.pick(['key', 'key', 'scope', 'gone', 'version', 'query', 'query', 'body'] as const);
  const kind = 'let-through';
  if (way === 'key')
    return { kind, cell: { ...cellOf(asked, chance.pick([...survey.keys(), PING])), key: 'none' }, value: 'key' };
  if (way === 'scope') return { kind, cell: { ...cellOf(asked, PING), key: 'limited' }, value: 'key' };
  if (way === 'gone') {
    const operation = maybe(chance, 0.5, listsIn(survey));
    return { kind, cell: { ...defined({ operation }), version: API_VERSIONS[0].id }, value: 'version' };
  }
  if (way === 'version') return otherVersion(asked);
  return way === 'query' ? lostQuery(asked) : lostBody(asked);
}

function otherVersion(asked: Asked): Drawn | undefined {
  const { chance, survey } = asked;
  const cell = cellOf(asked, chance.pick(readsIn(survey)), [], 1);
  const value = chance.pick(SUPPORTED_VERSIONS);
  const members = (version = ''): string =>
    String(
      leavesIn(survey, cell.operation ?? '', version)
        .map(({ path }) => key(path))
        .sort(),
    );
  return members(cell.version) === members(value) ? undefined : { kind: 'other-version', cell, value };
}

function lostQuery(asked: Asked): Drawn {
  const { chance, survey, server } = asked;
  const operation = chance.pick(listsIn(survey));
  const { filters, expansions } = resourceOf(operation);
  const shown = new Set(leavesIn(survey, operation).map(({ path: [first = ''] }) => first));
  const expanded = Object.keys(expansions).filter((name) => shown.has(name));
  const others = [
    ...expanded.map((name) => `expand.${name}`),
    ...(server.filters === true ? Object.keys(filters) : []),
  ];
  const ofAll = ['limit', 'offset', 'expand.total_count'];
  const value = chance.pick(chance.chance(0.5) && others.length > 0 ? others : ofAll);
  return { kind: 'query-lost', cell: cellOf(asked, operation, [], 0.6), value };
}

/** Members of a body that may be left out, and that an answer shows or a refusal. */
function lostBody(asked: Asked): Drawn | undefined {
  const { chance, survey, server } = asked;
  const optional = OPERATIONS.filter((each) => server.writes.test(lineOf(each))).flatMap((each) => {
    const { properties = {}, required = [] as string[] } = each.body?.(NEWEST_VERSION) ?? {};
    const shown = ['parent_id', ...leavesIn(survey, lineOf(each)).map(({ path: [first] }) => first)];
    const names = Object.keys(properties).filter((name) => !required.includes(name) && shown.includes(name));
    return names.map((name) => [lineOf(each), name] as const);
  });
  if (optional.length === 0) return undefined;
  const [operation, value] = chance.pick(optional);
  return { kind: 'body-lost', cell: cellOf(asked, operation), value };
}

/** Members that a write to a record changes. */
const WRITTEN = /^(name|slug|parent_id|(activity_|target_)?status|(queued|deployed|archived)_at)$/;

/** Of records that a write changes: whole or one member, in reads and in answers of writes. */
function staleness(asked: Asked): Drawn | undefined {
  const { chance, survey } = asked;
  const changed = new Set([...survey.keys()].filter((line) => /^P.*\}/.test(line)).map(resourceOf));
  const lines = [...survey.keys()].filter((line) => changed.has(resourceOf(line)) && /GET|\}/.test(line));
  if (lines.length === 0) return undefined;
  const operation = chance.pick(lines);
  const members = leavesIn(survey, operation).filter(({ path }) => WRITTEN.test(key(path)));
  const member = maybe(chance, members.length > 0 ? 0.5 : 0, members);
  const item = operationOf(operation).list === true ? ('each' as const) : undefined;
  return { kind: 'stale', cell: cellOf(asked, operation), ...defined({ path: member?.path, item }) };
}

/** Of other answers than lists and pings, neither the status nor the media type is shown. */
function statusChange(asked: Asked): Drawn {
  const { chance, survey } = asked;
  const kind = chance.pick(kindsOf('status'));
  const operation = chance.chance(0.2) ? PING : chance.pick((kind === 'refused' ? readsIn : listsIn)(survey));
  // What is refused in all versions may not be served.
  const forms = operation === PING ? [] : formsOf(asked, operation);
  const cell = cellOf(asked, operation, forms, kind === 'media' ? 0.5 : 1);
  if (kind === 'media') return { kind, cell };
  return { kind, cell, value: chance.pick(kind === 'status' ? ['202', '203', '206'] : ['400', '403', '500']) };
}
