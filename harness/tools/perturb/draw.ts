import type { Random } from '../../../simulators/common/random.ts';
import { deployedPayload, deploymentFields, eventEnvelope } from '../../contract/device-api.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES, EVENT_TYPES } from '../../contract/enums.ts';
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

/** Change that a client can recognise as wrong by other answers; a draw may give none. */
export function platformChange(draw: Draw): Drawn | undefined {
  const share = draw.chance.next();
  const made = DRAWS.find(([upTo]) => share < upTo)?.[1](draw);
  if (made?.cell.key !== 'limited' || made.kind === 'let-through') return made;
  const { operation = '', form } = made.cell;
  const [first = ''] = made.path ?? [];
  const isRead = operation.startsWith('GET') && kindsOf('member', 'page').includes(made.kind);
  // The specification allows any answer to these requests, because their key has no scopes.
  const isFree = !isRead || form === 'expanded' || Object.hasOwn(resourceOf(operation).expansions, first);
  return isFree ? undefined : made;
}

/** `fixed`: probability that the cell names a version. */
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
  if (chance.chance(0.08)) {
    // Answer to a ping (section 2.5 of the specification).
    const name = chance.pick(['code', 'round_trip_nanos'] as const);
    const kinds: readonly Kind[] = name === 'code' ? [...USUAL, 'altered'] : USUAL;
    return { kind: chance.pick(kinds), cell: cellOf(draw, PING), path: [name] };
  }
  const operation = chance.pick([...survey.keys()]);
  const cell = cellOf(draw, operation, listForms(draw, operation));
  const { expansions } = resourceOf(operation);
  const leaves = leavesIn(survey, operation, cell.version).filter(
    ({ path: [first = ''] }) => !Object.hasOwn(expansions, first) || (cell.form ?? 'expanded') === 'expanded',
  );
  const { path, type } = chance.pick(leaves);
  // Another answer must contradict the change, except for `object` and `id`, which every resource has.
  if (!['object', 'id'].includes(nameOf(path)) && !isShownElsewhere(survey, cell, path)) return undefined;
  const kind = chance.pick(KINDS_BY_TYPE[type].filter((each) => each !== 'foreign' || path.at(-1) !== 'object'));
  return { kind, cell, path, item: isList(operation) ? chance.pick(ITEMS) : undefined };
}

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

function pageChange(draw: Draw): Drawn {
  const { chance, survey, server } = draw;
  const lists = listsIn(survey);
  const { form, ...cell } = cellOf(draw, chance.pick(lists), ['plain', 'paged', 'counted'], 0.6);
  const whole = { ...cell, form };
  if (chance.chance(0.5)) {
    // List envelope (section 2.6 of the specification).
    const name = chance.pick(['object', 'limit', 'offset', 'has_more', 'data', 'total_count']);
    const kind = chance.pick(KINDS_BY_TYPE[name === 'data' ? 'object' : 'boolean']);
    return { kind, cell: name === 'total_count' ? { ...cell, form: 'counted' } : whole, path: [name] };
  }
  const created = lists.filter((line) => server.writes.test(line.replace('GET', 'POST')));
  const kind = chance.pick(kindsOf('page').filter((each) => each !== 'creation-undone' || created.length > 0));
  if (kind === 'creation-undone') return { kind, cell: cellOf(draw, chance.pick(created)) };
  if (kind === 'counted') return { kind, cell: form === 'counted' ? cell : whole };
  return { kind, cell: whole, item: chance.pick(['first', 'last'] as const) };
}

function requestChange(draw: Draw): Drawn | undefined {
  const { chance, survey } = draw;
  const kind = 'let-through';
  const part = chance.pick(['key', 'key', 'scope', 'gone', 'version', 'query', 'query', 'body'] as const);
  if (part === 'query') return lostQuery(draw);
  if (part === 'body') return lostBody(draw);
  if (part === 'key')
    return { kind, cell: { ...cellOf(draw, chance.pick([...survey.keys(), PING])), key: 'none' }, value: 'key' };
  if (part === 'scope') return { kind, cell: { ...cellOf(draw, PING), key: 'limited' }, value: 'key' };
  if (part === 'gone') {
    const operation = sometimes(chance, 0.5, listsIn(survey));
    return { kind, cell: { operation, version: API_VERSIONS[0].id }, value: 'version' };
  }
  const cell = cellOf(draw, chance.pick(readsIn(survey)), [], 1);
  const value = chance.pick(SUPPORTED_VERSIONS);
  const [own, other] = [cell.version, value].map((version) =>
    leavesIn(survey, cell.operation ?? '', version)
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

/** The specification defines status and media type only for lists and pings. */
function statusChange(draw: Draw): Drawn {
  const { chance, survey } = draw;
  const kind = chance.pick(kindsOf('status'));
  const operation = chance.chance(0.2) ? PING : chance.pick((kind === 'refused' ? readsIn : listsIn)(survey));
  // In a single version only, because a server may refuse an operation in all versions.
  const forms = operation === PING ? [] : listForms(draw, operation);
  const cell = cellOf(draw, operation, forms, kind === 'media' ? 0.5 : 1);
  if (kind === 'media') return { kind, cell };
  return { kind, cell, value: chance.pick(kind === 'status' ? ['202', '203', '206'] : ['400', '403', '500']) };
}

const CONNECTIONS = ['new', 'kept'] as const;
const WITH_CURSOR = ['query', 'header', 'both'] as const;
const EVENT_MEMBERS = Object.keys(eventEnvelope.schema.properties);
const PAYLOAD = Object.keys(deployedPayload.schema.properties);

export function deviceChange(chance: Random): Drawn {
  const share = chance.next();
  if (share < 0.25) return currentChange(chance);
  return share < 0.45 ? deviceRequestChange(chance) : eventChange(chance);
}

function currentChange(chance: Random): Drawn {
  const cell: Cell = {
    operation: 'GET /deployments/current',
    connection: sometimes(chance, 0.15, CONNECTIONS),
    restarted: sometimes(chance, 0.2, [true]),
    activity: sometimes(chance, 0.4, DEPLOYMENT_ACTIVITY_STATUSES),
  };
  if (chance.chance(0.15)) {
    const kind = chance.pick(kindsOf('status'));
    if (kind === 'media') return { kind, cell };
    return { kind, cell, value: kind === 'refused' ? chance.pick(['404', '500']) : '203' };
  }
  if (chance.chance(0.1)) return { kind: 'stale', cell };
  const name = chance.pick(Object.keys(deploymentFields));
  const last = name === 'created_at' ? 'shifted' : 'altered';
  const kinds: readonly Kind[] = ['dropped', 'null', 'retyped', 'altered', last];
  return { kind: chance.pick(name === 'object' ? kinds : [...kinds, 'stale']), cell, path: [name] };
}

function streamCell(chance: Random): Cell {
  const operation = 'GET /events';
  const stream = sometimes(chance, 0.2, [1, 2, 3, 5]);
  if (stream !== undefined) return { operation, stream };
  return {
    operation,
    cursor: sometimes(chance, 0.25, ['none', 'query', 'header', 'both'] as const),
    typed: sometimes(chance, 0.15, [true, false]),
    restarted: sometimes(chance, 0.12, [true]),
    connection: sometimes(chance, 0.08, CONNECTIONS),
  };
}

function deviceRequestChange(chance: Random): Drawn {
  const requests = kindsOf('request').filter((each) => !['body-lost', 'other-version'].includes(each));
  const kind = chance.pick([...requests, 'refused', 'media'] as const);
  const { cursor, typed, ...cell } = streamCell(chance);
  if (kind === 'query-lost') {
    const value = chance.pick(['after', 'types']);
    const own = value === 'after' ? sometimes(chance, 0.4, ['query', 'both'] as const) : undefined;
    return { kind, cell: { ...cell, cursor: own }, value };
  }
  if (kind === 'types-cut') return { kind, cell };
  if (kind === 'header-lost') return { kind, cell: { ...cell, typed, cursor: 'header' } };
  // Any stream, because the first streams meet no expired cursor.
  if (kind === 'let-through')
    return { kind, cell: { operation: 'GET /events', cursor: sometimes(chance, 0.6, WITH_CURSOR) } };
  const value = kind === 'refused' ? chance.pick(['410', '500', '404']) : undefined;
  const hasCursor = kind === 'cursor-inclusive' || value === '410';
  return { kind, cell: { ...cell, typed, cursor: hasCursor ? sometimes(chance, 0.4, WITH_CURSOR) : cursor }, value };
}

function eventPath(chance: Random, kind: Kind): string[] {
  if (kind === 'shifted') return chance.chance(0.7) ? ['occurred_at'] : ['data', 'deployed_at'];
  if (kind === 'foreign') return ['data', chance.pick(['deployment_id', 'release_id'])];
  const names = kind === 'altered' ? EVENT_MEMBERS.filter((name) => name !== 'data') : EVENT_MEMBERS;
  return chance.chance(0.5) ? [chance.pick(names)] : ['data', chance.pick(PAYLOAD)];
}

function eventChange(chance: Random): Drawn {
  const { cursor, ...stream } = streamCell(chance);
  const isFrame = chance.chance(0.5);
  const kind = chance.pick(isFrame ? kindsOf('frame') : kindsOf('member').filter((each) => each !== 'stale'));
  if (kind === 'heartbeat-lost') return { kind, cell: { ...stream, cursor } };
  const phase = sometimes(chance, 0.5, ['replay', 'live'] as const);
  const places: readonly (number | 'last')[] = phase === 'replay' ? [1, 2, 'last', 'last'] : [1, 2, 3];
  const cell: Cell = {
    ...stream,
    // `none` only for live events, because a stream without a cursor need not replay events.
    cursor: phase === 'live' || cursor !== 'none' ? cursor : undefined,
    phase,
    place: sometimes(chance, 0.4, places),
    type: sometimes(chance, 0.2, EVENT_TYPES),
  };
  if (isFrame) return { kind, cell };
  const path = eventPath(chance, kind);
  // The payload of `deployment.removed` is unspecified.
  const isWide = phase === undefined && stream.stream === undefined;
  const isDeployed = path[1] === 'deployed_at' || (path.length > 1 && isWide);
  return { kind, cell: isDeployed ? { ...cell, type: 'deployment.deployed' } : cell, path };
}
