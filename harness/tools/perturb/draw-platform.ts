/** Draws a random change of a Platform API's answers that a client can recognise as wrong by other answers. */
import type { Random } from '../../../simulators/common/random.ts';
import type { Operation } from '../../contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../contract/platform/operations.ts';
import { API_VERSIONS, NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../contract/versions.ts';
import { type Cell, type Drawn, type Form, ITEMS, type Kind, kindsOf, sometimes } from './perturbation.ts';
import { type Leaf, lineOf, type Server, type Survey } from './servers.ts';

interface Draw {
  chance: Random;
  server: Server;
  survey: Survey;
}

const PING = 'POST /devices/{device_id}/ping';
/** Members of the list envelope (section 2.6 of the specification). */
const ENVELOPE = ['object', 'limit', 'offset', 'has_more', 'data', 'total_count'];
const WRITTEN = /^(name|slug|parent_id|(activity_|target_)?status|(queued|deployed|archived)_at)$/;
const USUAL = ['dropped', 'null', 'retyped'] as const;
const KINDS_BY_TYPE: Readonly<Record<Leaf['type'], readonly Kind[]>> = {
  object: USUAL,
  array: [...USUAL, 'altered'],
  number: [...USUAL, 'altered', 'foreign'],
  boolean: [...USUAL, 'altered'],
  string: [...USUAL, 'altered', 'foreign'],
  time: [...USUAL, 'altered', 'foreign', 'shifted'],
};

const operationOf = (line: string): Operation => OPERATIONS.find((each) => lineOf(each) === line) as Operation;
const resourceOf = (line: string) => RESOURCES[operationOf(line).kind ?? 'device'];
const isList = (line: string): boolean => operationOf(line).list === true;
const readsIn = (survey: Survey): string[] => [...survey.keys()].filter((line) => line.startsWith('GET'));
const listsIn = (survey: Survey): string[] => readsIn(survey).filter(isList);
const nameOf = (path: readonly string[]): string => path.join('.');

const leavesIn = (survey: Survey, operation: string, version?: string): readonly Leaf[] =>
  [...(survey.get(operation) ?? [])].findLast(([each]) => each === (version ?? each))?.[1] ?? [];

const DRAWS: readonly [upTo: number, (draw: Draw) => Drawn | undefined][] = [
  [0.4, memberChange],
  [0.6, pageChange],
  [0.8, requestChange],
  [0.9, staleness],
  [1, statusChange],
];

export function platformChange(draw: Draw): Drawn | undefined {
  const share = draw.chance.next();
  const made = DRAWS.find(([upTo]) => share < upTo)?.[1](draw);
  return made === undefined || isFreeForLimited(made) ? undefined : made;
}

/** True if the specification allows any answer to the request, because its key has no scopes. */
function isFreeForLimited({ kind, cell: { key, operation = '', form }, path: [first = ''] = [] }: Drawn): boolean {
  if (key !== 'limited' || kind === 'let-through') return false;
  const isRead = operation.startsWith('GET') && kindsOf('member', 'page').includes(kind);
  return !isRead || form === 'expanded' || Object.hasOwn(resourceOf(operation).expansions, first);
}

/** Draws the class of requests to change. `fixed`: probability that the class names a version. */
function cellOf({ chance, survey }: Draw, operation: string, forms: readonly Form[] = [], fixed = 0.75): Cell {
  return {
    operation,
    version: sometimes(chance, fixed, [...(survey.get(operation)?.keys() ?? SUPPORTED_VERSIONS)]),
    form: sometimes(chance, forms.length > 0 ? 0.3 : 0, forms),
    connection: sometimes(chance, 0.15, ['new', 'kept'] as const),
    key: sometimes(chance, 0.1, ['full', 'limited'] as const),
  };
}

function listForms({ survey, server }: Draw, operation: string): Form[] {
  if (!isList(operation)) return [];
  const { expansions } = resourceOf(operation);
  const isExpanded = leavesIn(survey, operation).some(({ path: [first = ''] }) => Object.hasOwn(expansions, first));
  const forms: Form[] = ['plain', 'paged', 'counted'];
  if (isExpanded) forms.push('expanded');
  if (server.filters === true) forms.push('filtered');
  return forms;
}

function memberChange(draw: Draw): Drawn | undefined {
  const { chance, survey } = draw;
  if (chance.chance(0.08)) return pingChange(draw);
  const operation = chance.pick([...survey.keys()]);
  const cell = cellOf(draw, operation, listForms(draw, operation));
  const { expansions } = resourceOf(operation);
  const leaves = leavesIn(survey, operation, cell.version).filter(
    ({ path: [first = ''] }) => !Object.hasOwn(expansions, first) || (cell.form ?? 'expanded') === 'expanded',
  );
  const { path, type } = chance.pick(leaves);
  // Requires an answer that contradicts the change, except for `object` and `id`, which every resource has.
  if (!['object', 'id'].includes(nameOf(path)) && !isShownElsewhere(survey, cell, path)) return undefined;
  const kind = chance.pick(KINDS_BY_TYPE[type].filter((each) => each !== 'foreign' || path.at(-1) !== 'object'));
  return { kind, cell, path, item: isList(operation) ? chance.pick(ITEMS) : undefined };
}

/** True if an unchanged answer also shows the member, so that a client can notice the change. */
function isShownElsewhere(survey: Survey, cell: Cell, path: readonly string[]): boolean {
  const { operation = '', version, form, connection, key } = cell;
  if (form !== undefined || connection !== undefined || key !== undefined) return true;
  const shows = (line: string, wanted: readonly string[]): boolean =>
    [...(survey.get(line) ?? [])].some(
      ([each, leaves]) =>
        (line !== operation || (version ?? each) !== each) &&
        leaves.some((leaf) => nameOf(leaf.path) === nameOf(wanted)),
    );
  const same = readsIn(survey).filter((line) => resourceOf(line) === resourceOf(operation));
  const expanded = resourceOf(operation).expansions[path[0] ?? '']?.kind;
  return (
    same.some((line) => shows(line, path)) ||
    (expanded !== undefined && path.length > 1 && shows(`GET /${RESOURCES[expanded].collection}`, path.slice(1)))
  );
}

/** Changes a member of the answer to a ping (section 2.5 of the specification). */
function pingChange(draw: Draw): Drawn {
  const name = draw.chance.pick(['code', 'round_trip_nanos'] as const);
  const kinds: readonly Kind[] = name === 'code' ? [...USUAL, 'altered'] : USUAL;
  return { kind: draw.chance.pick(kinds), cell: cellOf(draw, PING), path: [name] };
}

function pageChange(draw: Draw): Drawn {
  const { chance, survey, server } = draw;
  const lists = listsIn(survey);
  const { form, ...cell } = cellOf(draw, chance.pick(lists), ['plain', 'paged', 'counted'], 0.6);
  const whole = { ...cell, form };
  if (chance.chance(0.5)) {
    const name = chance.pick(ENVELOPE);
    const kind = chance.pick(KINDS_BY_TYPE[name === 'data' ? 'object' : 'boolean']);
    return { kind, cell: name === 'total_count' ? { ...cell, form: 'counted' } : whole, path: [name] };
  }
  const created = lists.filter((line) => server.writes.test(line.replace('GET', 'POST')));
  const kind = chance.pick(kindsOf('page').filter((each) => each !== 'creation-undone' || created.length > 0));
  if (kind === 'creation-undone') return { kind, cell: cellOf(draw, chance.pick(created)) };
  if (kind === 'counted') return { kind, cell: form === 'counted' ? cell : whole };
  return { kind, cell: whole, item: chance.pick(['first', 'last'] as const) };
}

/** Draws a change by which the server ignores a part of the request, e.g. the key or a parameter. */
function requestChange(draw: Draw): Drawn | undefined {
  const { chance, survey } = draw;
  const kind = 'let-through';
  switch (chance.pick(['key', 'key', 'scope', 'gone', 'version', 'query', 'query', 'body'] as const)) {
    case 'key':
      return { kind, cell: { ...cellOf(draw, chance.pick([...survey.keys(), PING])), key: 'none' }, value: 'key' };
    case 'scope':
      return { kind, cell: { ...cellOf(draw, PING), key: 'limited' }, value: 'key' };
    case 'gone': {
      const operation = sometimes(chance, 0.5, listsIn(survey));
      return { kind, cell: { operation, version: API_VERSIONS[0].id }, value: 'version' };
    }
    case 'version':
      return otherVersion(draw);
    case 'query':
      return lostQuery(draw);
    default:
      return lostBody(draw);
  }
}

function otherVersion(draw: Draw): Drawn | undefined {
  const cell = cellOf(draw, draw.chance.pick(readsIn(draw.survey)), [], 1);
  const value = draw.chance.pick(SUPPORTED_VERSIONS);
  const [own, other] = [cell.version, value].map((version) =>
    leavesIn(draw.survey, cell.operation ?? '', version)
      .map(({ path }) => nameOf(path))
      .sort()
      .join(),
  );
  return own === other ? undefined : { kind: 'other-version', cell, value };
}

function lostQuery(draw: Draw): Drawn {
  const { chance, survey, server } = draw;
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
  return { kind: 'query-lost', cell: cellOf(draw, operation, [], 0.6), value };
}

function lostBody(draw: Draw): Drawn | undefined {
  const { chance, survey, server } = draw;
  const optional = OPERATIONS.filter((each) => server.writes.test(lineOf(each))).flatMap((each) => {
    const { properties = {}, required = [] as string[] } = each.body?.(NEWEST_VERSION) ?? {};
    const shown = ['parent_id', ...leavesIn(survey, lineOf(each)).map(({ path: [first] }) => first)];
    const names = Object.keys(properties).filter((name) => !required.includes(name) && shown.includes(name));
    return names.map((name) => [lineOf(each), name] as const);
  });
  if (optional.length === 0) return undefined;
  const [operation, value] = chance.pick(optional);
  return { kind: 'body-lost', cell: cellOf(draw, operation), value };
}

function staleness(draw: Draw): Drawn | undefined {
  const { chance, survey } = draw;
  const changed = new Set([...survey.keys()].filter((line) => /^P.*\}/.test(line)).map(resourceOf));
  const lines = [...survey.keys()].filter((line) => changed.has(resourceOf(line)) && /GET|\}/.test(line));
  if (lines.length === 0) return undefined;
  const operation = chance.pick(lines);
  const members = leavesIn(survey, operation).filter(({ path }) => WRITTEN.test(nameOf(path)));
  const member = sometimes(chance, members.length > 0 ? 0.5 : 0, members);
  const item = isList(operation) ? 'each' : undefined;
  return { kind: 'stale', cell: cellOf(draw, operation), path: member?.path, item };
}

/** Draws a change of status or media type, which the specification defines only for lists and pings. */
function statusChange(draw: Draw): Drawn {
  const { chance, survey } = draw;
  const kind = chance.pick(kindsOf('status'));
  const operation = chance.chance(0.2) ? PING : chance.pick((kind === 'refused' ? readsIn : listsIn)(survey));
  // Refuses an operation in a single version only, because a server may refuse an operation in all versions.
  const forms = operation === PING ? [] : listForms(draw, operation);
  const cell = cellOf(draw, operation, forms, kind === 'media' ? 0.5 : 1);
  if (kind === 'media') return { kind, cell };
  return { kind, cell, value: chance.pick(kind === 'status' ? ['202', '203', '206'] : ['400', '403', '500']) };
}
