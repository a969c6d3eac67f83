/**
 * What a seed changes. Nothing is drawn that nobody could notice: a member that the specification does not name is
 * changed only where another exchange of the same server shows it as it is.
 */
import { type Random, random } from '../../../simulators/common/random.ts';
import { deployedPayload, deploymentFields, eventEnvelope } from '../../contract/device-api.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES } from '../../contract/enums.ts';
import type { Operation } from '../../contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../contract/platform/operations.ts';
import {
  API_VERSIONS,
  codenameOf,
  NEWEST_VERSION,
  SUPPORTED_VERSIONS,
  type SupportedVersion,
} from '../../contract/versions.ts';
import { type Cell, type FORMS, ITEMS, type Kind, kindsOf, type Perturbation } from './perturbation.ts';
import { type Leaf, lineOf, type Server, type Survey } from './servers.ts';

type Drawn = Pick<Perturbation, 'kind' | 'cell'> & Partial<Perturbation>;

/** Of ten perturbations, as many are open. */
const OPEN_SHARE = 0.2;

const PING = OPERATIONS.find(({ path }) => path.endsWith('/ping')) as Operation;
const operationOf = (line: string): Operation => OPERATIONS.find((each) => lineOf(each) === line) ?? PING;

export function drawn(api: Perturbation['api'], seed: number, servers: readonly [Server, Survey][]): Perturbation {
  const chance = random(`${api}/${seed}`);
  const there = servers.flatMap(([server, survey]) =>
    Array.from({ length: server.weight }, () => [server, survey] as const),
  );
  const [server, survey] = chance.pick(there);
  const common = { api, seed, server: server.name };
  for (;;) {
    const made = chance.chance(OPEN_SHARE)
      ? open(chance, api, survey)
      : api === 'device'
        ? deviceChange(chance)
        : platformChange(chance, server, survey);
    if (made !== undefined && !isOpenToLimited(made)) return { ...common, ...made };
  }
}

/** What a key without scopes is answered is not shown, but for pings: only what it is served agrees with the rest. */
function isOpenToLimited({ kind, cell: { key: held, operation = '', form }, path: [first = ''] = [] }: Drawn): boolean {
  if (held !== 'limited' || kind === 'let-through') return false;
  const { expansions } = RESOURCES[operationOf(operation).kind ?? 'device'];
  const isRead = operation.startsWith('GET') && kindsOf('member', 'page').includes(kind);
  return !isRead || form === 'expanded' || Object.hasOwn(expansions, first);
}

// What is legal.

function open(chance: Random, api: Perturbation['api'], survey: Survey): Drawn {
  const kind = chance.pick([...kindsOf('json', 'bytes'), ...(api === 'device' ? kindsOf('stream') : [])]);
  const operations = api === 'platform' ? [...survey.keys()] : ['GET /deployments/current', 'GET /events'];
  const isWide = chance.chance(0.6) || !kindsOf('json').includes(kind);
  return { kind, cell: isWide ? {} : { operation: chance.pick(operations) } };
}

// Platform API.

interface Asked {
  chance: Random;
  server: Server;
  survey: Survey;
}

function platformChange(chance: Random, server: Server, survey: Survey): Drawn | undefined {
  const asked = { chance, server, survey };
  const share = chance.next();
  if (share < 0.4) return memberChange(asked);
  if (share < 0.6) return pageChange(asked);
  if (share < 0.8) return requestChange(asked);
  return share < 0.9 ? staleness(asked) : statusChange(asked);
}

/** An operation, most often in one version, sometimes on one kind of connection. */
function cellOf({ chance, survey }: Asked, operation: string, forms: Cell['form'][] = [], fixed = 0.75): Cell {
  const codenames = [...(survey.get(operation)?.keys() ?? [])];
  const version = SUPPORTED_VERSIONS.find(
    (id) => codenameOf(id) === (codenames.length === 0 ? undefined : chance.pick(codenames)),
  );
  return {
    operation,
    ...(chance.chance(fixed) && version !== undefined && { version }),
    ...(forms.length > 0 && chance.chance(0.3) && { form: chance.pick(forms) as (typeof FORMS)[number] }),
    ...(chance.chance(0.15) && { connection: chance.pick(['new', 'kept'] as const) }),
    ...(chance.chance(0.1) && { key: chance.pick(['full', 'limited'] as const) }),
  };
}

/** The kinds that change a member of that type. */
function memberKinds({ type, path }: Leaf): Kind[] {
  const others: Kind[] = path.at(-1) === 'object' ? ['altered'] : ['altered', 'foreign'];
  if (type === 'object') return ['dropped', 'null', 'retyped'];
  if (type === 'array') return ['dropped', 'null', 'retyped', 'altered'];
  return ['dropped', 'null', 'retyped', ...others, ...(type === 'time' ? (['shifted'] as const) : [])];
}

const sameKind = (a: string, b: string): boolean => operationOf(a).kind === operationOf(b).kind;
const key = (path: readonly string[]): string => path.join('.');

/** Whether an exchange outside of the cell shows the member: another operation or version, or the expanded resource. */
function isShownElsewhere(survey: Survey, cell: Cell, { path }: Leaf): boolean {
  const { operation = '', version, form, connection, key: held } = cell;
  if (form !== undefined || connection !== undefined || held !== undefined) return true;
  const expanded = RESOURCES[operationOf(operation).kind ?? 'device'].expansions[path[0] ?? ''];
  const collection = expanded?.kind === undefined ? undefined : `GET /${RESOURCES[expanded.kind].collection}`;
  for (const [line, versions] of survey)
    for (const [codename, leaves] of versions) {
      const isInCell =
        line === operation && (version === undefined || codenameOf(version as SupportedVersion) === codename);
      const shows = (wanted: readonly string[]): boolean => leaves.some((leaf) => key(leaf.path) === key(wanted));
      if (!isInCell && sameKind(line, operation) && !line.startsWith('P') && shows(path)) return true;
      if (line === collection && path.length > 1 && shows(path.slice(1))) return true;
    }
  return false;
}

/** `object` and `id` of every resource (sections 2 and 2.6), and what a ping answers (section 2.5). */
const PROMISED = new Set(['object', 'id']);

function memberChange(asked: Asked): Drawn | undefined {
  const { chance, survey } = asked;
  if (chance.chance(0.08)) return pingChange(asked);
  const operation = chance.pick([...survey.keys()]);
  const { list, kind: resource } = operationOf(operation);
  const expansions = Object.keys(RESOURCES[resource ?? 'device'].expansions);
  const cell = cellOf(
    asked,
    operation,
    list === true
      ? ['plain', 'paged', 'counted', 'expanded', ...(asked.server.filters ? (['filtered'] as const) : [])]
      : [],
  );
  const codename = cell.version === undefined ? undefined : codenameOf(cell.version as SupportedVersion);
  const leaves =
    survey.get(operation)?.get(codename ?? [...(survey.get(operation)?.keys() ?? [])].at(-1) ?? 'everglades') ?? [];
  const own = leaves.filter(
    ({ path: [first = ''] }) => !expansions.includes(first) || cell.form === undefined || cell.form === 'expanded',
  );
  if (own.length === 0) return undefined;
  const leaf = chance.pick(own);
  if (!PROMISED.has(key(leaf.path)) && !isShownElsewhere(survey, cell, leaf)) return undefined;
  return {
    kind: chance.pick(memberKinds(leaf)),
    cell,
    path: [...leaf.path],
    ...(list === true && { item: chance.pick(ITEMS) }),
  };
}

function pingChange(asked: Asked): Drawn {
  const { chance } = asked;
  const path = [chance.pick(['code', 'round_trip_nanos'])];
  const kinds = kindsOf('member').filter((kind) =>
    ['dropped', 'null', 'retyped', ...(path[0] === 'code' ? ['altered'] : [])].includes(kind),
  );
  return { kind: chance.pick(kinds), cell: anyVersion(asked, lineOf(PING)), path };
}

/** For operations that the survey does not have. */
function anyVersion({ chance }: Asked, operation: string): Cell {
  return { operation, ...(chance.chance(0.6) && { version: chance.pick(SUPPORTED_VERSIONS) }) };
}

/** The lists that hold anything. */
const listsOf = (survey: Survey): string[] =>
  [...survey].flatMap(([line, versions]) =>
    operationOf(line).list === true && [...versions.values()].flat().length > 0 ? [line] : [],
  );
const ENVELOPE = ['object', 'limit', 'offset', 'has_more', 'data', 'total_count'];

function pageChange(asked: Asked): Drawn {
  const { chance, survey, server } = asked;
  const lists = listsOf(survey);
  const cell = cellOf(asked, chance.pick(lists), ['plain', 'paged', 'counted'], 0.6);
  if (chance.chance(0.5)) {
    const name = chance.pick(ENVELOPE);
    const kind = chance.pick(['dropped', 'null', 'retyped', ...(name === 'data' ? [] : ['altered'])] as Kind[]);
    return { kind, cell: name === 'total_count' ? { ...cell, form: 'counted' } : cell, path: [name] };
  }
  const created = lists.filter((line) => server.writes.test(line.replace('GET', 'POST')));
  const kind = chance.pick(kindsOf('page').filter((each) => each !== 'creation-undone' || created.length > 0));
  if (kind === 'creation-undone') return { kind, cell: cellOf(asked, chance.pick(created)) };
  const { form, ...any } = cell;
  if (kind === 'counted') return { kind, cell: form === 'counted' ? any : cell };
  return { kind, cell, item: chance.pick(['first', 'last'] as const) };
}

const reads = (survey: Survey): string[] => [...survey.keys()].filter((line) => line.startsWith('GET'));

function requestChange(asked: Asked): Drawn | undefined {
  const { chance, survey, server } = asked;
  const way = chance.pick(['key', 'key', 'scope', 'gone', 'version', 'query', 'query', 'body'] as const);
  if (way === 'key') {
    const operation = chance.pick([...survey.keys(), lineOf(PING)]);
    const { version } = anyVersion(asked, operation);
    return {
      kind: 'let-through',
      cell: { operation, key: 'none', ...(version !== undefined && { version }) },
      value: 'key',
    };
  }
  // Scopes but for devices:read are not shown.
  if (way === 'scope')
    return { kind: 'let-through', cell: { ...anyVersion(asked, lineOf(PING)), key: 'limited' }, value: 'key' };
  if (way === 'gone') {
    const [gone] = API_VERSIONS;
    const isOne = chance.chance(0.5);
    return {
      kind: 'let-through',
      cell: { ...(isOne && { operation: chance.pick(listsOf(survey)) }), version: gone.id },
      value: 'version',
    };
  }
  if (way === 'version') return otherVersion(asked);
  return way === 'query' ? lostQuery(asked) : lostBody(asked, server);
}

function otherVersion(asked: Asked): Drawn | undefined {
  const { chance, survey } = asked;
  const operation = chance.pick(reads(survey));
  const cell = cellOf(asked, operation, [], 1);
  const value = chance.pick(SUPPORTED_VERSIONS);
  const members = (version: string): string =>
    (survey.get(operation)?.get(codenameOf(version as SupportedVersion)) ?? [])
      .map(({ path }) => key(path))
      .sort()
      .join();
  return members(cell.version ?? '') === members(value) ? undefined : { kind: 'other-version', cell, value };
}

function lostQuery(asked: Asked): Drawn | undefined {
  const { chance, survey, server } = asked;
  const operation = chance.pick(listsOf(survey));
  const { kind = 'device', sub } = operationOf(operation);
  const { filters, expansions } = RESOURCES[kind];
  const shown = Object.keys(expansions).filter((name) =>
    [...(survey.get(operation)?.values() ?? [])].some((all) => all.some(({ path }) => path[0] === name)),
  );
  const others = [
    ...shown.map((name) => `expand.${name}`),
    ...(server.filters === true && sub !== true ? Object.keys(filters) : []),
  ];
  const value =
    chance.chance(0.5) && others.length > 0
      ? chance.pick(others)
      : chance.pick(['limit', 'offset', 'expand.total_count']);
  return { kind: 'query-lost', cell: cellOf(asked, operation, [], 0.6), value };
}

/** Members of a body that may be left out, and that an answer shows or a refusal. */
function lostBody(asked: Asked, { writes }: Server): Drawn | undefined {
  const { chance, survey } = asked;
  const all = OPERATIONS.filter((each) => each.body !== undefined && writes.test(lineOf(each))).flatMap((each) => {
    const { properties = {}, required = [] as string[] } = each.body?.(NEWEST_VERSION) ?? {};
    const members = [...(survey.get(lineOf(each))?.values() ?? [])].flat();
    const isShown = (name: string): boolean => name === 'parent_id' || members.some(({ path }) => path[0] === name);
    return Object.keys(properties).flatMap((name) =>
      !required.includes(name) && isShown(name) ? [[lineOf(each), name] as const] : [],
    );
  });
  if (all.length === 0) return undefined;
  const [operation, value] = chance.pick(all);
  return { kind: 'body-lost', cell: cellOf(asked, operation), value };
}

/** Kinds of records that a write with an id changes, and the operations that show them. */
function staleness(asked: Asked): Drawn | undefined {
  const { chance, survey } = asked;
  const changed = new Set(
    [...survey.keys()].filter((line) => /^P.*\}/.test(line)).map((line) => operationOf(line).kind),
  );
  const lines = [...survey.keys()].filter(
    (line) => changed.has(operationOf(line).kind) && (line.startsWith('GET') || line.includes('}')),
  );
  if (lines.length === 0) return undefined;
  const operation = chance.pick(lines);
  const { list } = operationOf(operation);
  const cell = cellOf(asked, operation);
  const written = [
    'name',
    'slug',
    'parent_id',
    'status',
    'activity_status',
    'target_status',
    'queued_at',
    'deployed_at',
    'archived_at',
  ];
  const members = [...(survey.get(operation)?.values() ?? [])]
    .flat()
    .filter(({ path }) => path.length === 1 && written.includes(path[0] ?? ''));
  const isWhole = chance.chance(0.5) || members.length === 0;
  return {
    kind: 'stale',
    cell,
    ...(!isWhole && { path: [...chance.pick(members).path] }),
    ...(list === true && { item: 'each' as const }),
  };
}

function statusChange(asked: Asked): Drawn {
  const { chance, survey } = asked;
  const kind = chance.pick(kindsOf('status'));
  // Of other answers, neither the status nor the media type is shown.
  const cell = chance.chance(0.2)
    ? anyVersion(asked, lineOf(PING))
    : cellOf(
        asked,
        chance.pick(kind === 'refused' ? reads(survey) : listsOf(survey)),
        ['plain', 'paged', 'counted'],
        0.5,
      );
  if (kind === 'media') return { kind, cell };
  // What is refused everywhere may not be served.
  const isWide = Object.keys(cell).length === 1;
  const version = isWide ? chance.pick(SUPPORTED_VERSIONS) : undefined;
  const value = kind === 'status' ? chance.pick(['202', '203', '206']) : chance.pick(['400', '403', '500']);
  return { kind, cell: { ...cell, ...(version !== undefined && { version }) }, value };
}

// Device API.

function deviceChange(chance: Random): Drawn | undefined {
  const share = chance.next();
  if (share < 0.25) return currentChange(chance);
  return share < 0.45 ? streamChange(chance) : eventChange(chance);
}

const oneOf = <T>(chance: Random, probability: number, name: string, values: readonly T[]): Record<string, T> =>
  chance.chance(probability) ? { [name]: chance.pick(values) } : {};

function currentChange(chance: Random): Drawn {
  const cell: Cell = {
    operation: 'GET /deployments/current',
    ...oneOf(chance, 0.15, 'connection', ['new', 'kept'] as const),
    ...oneOf(chance, 0.2, 'restarted', [true]),
    ...oneOf(chance, 0.4, 'activity', DEPLOYMENT_ACTIVITY_STATUSES),
  };
  if (chance.chance(0.15)) {
    const kind = chance.pick(kindsOf('status'));
    return { kind, cell, ...(kind !== 'media' && { value: kind === 'status' ? '203' : chance.pick(['404', '500']) }) };
  }
  if (chance.chance(0.1)) return { kind: 'stale', cell };
  const name = chance.pick(Object.keys(deploymentFields));
  const kinds: Kind[] = [
    'dropped',
    'null',
    'retyped',
    'altered',
    ...(name === 'object' ? [] : (['stale'] as const)),
    ...(name === 'created_at' ? (['shifted'] as const) : []),
  ];
  return { kind: chance.pick(kinds), cell, path: [name] };
}

/** What a stream is asked for. */
const streamCell = (chance: Random): Cell => ({
  operation: 'GET /events',
  ...oneOf(chance, 0.25, 'cursor', ['none', 'query', 'header', 'both'] as const),
  ...oneOf(chance, 0.15, 'typed', [true, false]),
  ...oneOf(chance, 0.2, 'stream', [1, 2, 3, 5]),
  ...oneOf(chance, 0.12, 'restarted', [true]),
  ...oneOf(chance, 0.08, 'connection', ['new', 'kept'] as const),
});

function streamChange(chance: Random): Drawn {
  const kind = chance.pick([
    'query-lost',
    'header-lost',
    'cursor-inclusive',
    'types-cut',
    'let-through',
    'refused',
    'media',
  ] as const);
  const { typed, cursor, ...cell } = streamCell(chance);
  const withCursor = { ...cell, ...(typed !== undefined && { typed }) };
  if (kind === 'query-lost') {
    const value = chance.pick(['after', 'types']);
    return {
      kind,
      cell: {
        ...cell,
        ...(value === 'after' && chance.chance(0.4) && { cursor: chance.pick(['query', 'both'] as const) }),
      },
      value,
    };
  }
  if (kind === 'types-cut') return { kind, cell };
  if (kind === 'header-lost') return { kind, cell: { ...withCursor, cursor: 'header' } };
  if (kind === 'refused')
    return {
      kind,
      cell: { ...withCursor, ...(cursor !== undefined && { cursor }) },
      value: chance.pick(['410', '500', '404']),
    };
  // An expired cursor is no early request.
  if (kind === 'let-through')
    return {
      kind,
      cell: { operation: 'GET /events', ...oneOf(chance, 0.6, 'cursor', ['query', 'header', 'both'] as const) },
    };
  return { kind, cell: { ...withCursor, ...(cursor !== undefined && cursor !== 'none' && { cursor }) } };
}

const ENVELOPE_MEMBERS = Object.keys(eventEnvelope.schema.properties);
const PAYLOAD_MEMBERS = Object.keys(deployedPayload.schema.properties);
const DEPLOYED = 'deployment.deployed';

/** The members of an event that a kind changes. */
function eventPath(chance: Random, kind: Kind): string[] {
  if (kind === 'shifted') return chance.chance(0.7) ? ['occurred_at'] : ['data', 'deployed_at'];
  if (kind === 'foreign') return ['data', chance.pick(['deployment_id', 'release_id'])];
  return chance.chance(0.5) ? [chance.pick(ENVELOPE_MEMBERS)] : ['data', chance.pick(PAYLOAD_MEMBERS)];
}

function eventChange(chance: Random): Drawn {
  const { cursor, ...stream } = streamCell(chance);
  const isFrame = chance.chance(0.5);
  const kind = chance.pick(
    isFrame ? kindsOf('frame') : (['dropped', 'null', 'retyped', 'altered', 'shifted', 'foreign'] as const),
  );
  if (kind === 'heartbeat-lost') return { kind, cell: { ...stream, ...(cursor !== undefined && { cursor }) } };
  const phase = chance.chance(0.5) ? chance.pick(['replay', 'live'] as const) : undefined;
  const cell: Cell = {
    ...stream,
    // Without a cursor, a stream need not replay anything.
    ...(cursor !== undefined && (cursor !== 'none' || phase === 'live') && { cursor }),
    ...(phase !== undefined && { phase }),
    ...oneOf(chance, 0.4, 'place', phase === 'replay' ? [1, 2, 'last', 'last'] : [1, 2, 3]),
    ...oneOf(chance, 0.2, 'type', [DEPLOYED, 'deployment.removed']),
  };
  if (isFrame) return { kind, cell };
  const path = eventPath(chance, kind);
  const [, member] = path;
  // The payload of a removal is not shown: it differs only where the same event is seen as it was.
  const isNarrow = phase !== undefined || cell.stream !== undefined;
  const isDeployed = member === 'deployed_at' || (member !== undefined && !isNarrow);
  return {
    kind: kind === 'altered' && path[0] === 'data' && member === undefined ? 'dropped' : kind,
    cell: isDeployed ? { ...cell, type: DEPLOYED } : cell,
    path,
  };
}
