import { describe, expect, it } from 'vitest';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { NEWEST_VERSION, versionNamed } from '../../../harness/contract/versions.ts';
import { Draw } from '../../../harness/runner/explore.ts';
import { decide } from './decides.ts';
import type { Difference } from './differences.ts';
import { refusals } from './directed.ts';
import { changedKey, type Exchange, pathOf, SURELY_WRONG_KEYS, seenIn } from './exchange.ts';
import { type Explorer, operation } from './explorer.ts';
import { Model } from './model.ts';
import { dueRefusal, judge, UNKNOWN } from './refusals.ts';

const asked = { method: 'GET', url: 'http://platform/devices', duration_ms: 1, curl: 'curl' };
const answer = (status: number, query: Exchange['query']): Exchange => ({
  ...{ operation: operation('listDevices'), version: NEWEST_VERSION, key: 'limited', ids: [], query, asked, status },
  ...{ headers: {}, json: undefined, text: '' },
});

it.each([
  ['accepts the refusal of an expansion, which may need a scope of its own', [['expand', 'group']], []],
  ['finds the refusal of a plain list that was served before', [], ['refused']],
] as const)('%s', (_, query, found) => {
  const model = new Model();
  judge(model, answer(200, []));
  const refused = judge(model, answer(403, query)).filter(({ path }) => path === '');
  expect(refused.map(({ what }) => what)).toEqual(found);
});

/** Answer to `id` with the full key. `more`: e.g. the ids of the path. */
function shown(id: string, json: unknown, more: Partial<Exchange> = {}): Exchange {
  const headers = { 'content-type': 'application/json' };
  return { ...answer(200, []), operation: operation(id), key: 'full', headers, json, ...more };
}

/** Model in which `items` are the whole list of `kind`. */
function listing(items: readonly { id: string }[], more = {}, kind: ResourceKind = 'device', model = new Model()) {
  const reference = { items, ids: items.map(({ id }) => id), isWhole: true, total: items.length };
  Object.assign(model.list(kind), { isStale: false, reference, ...more });
  return model;
}

const inWords = (found: readonly Difference[]): string[] => found.map((each) => `${each.what} ${decide(each).level}`);

const TETONS = versionNamed('tetons');
const pageOf = (data: object[]): object => ({ object: 'list', limit: 10, offset: 0, has_more: false, data });

it('demands no paging, nor items of its kind, and the envelope only as a SHOULD, of a list below a resource', () => {
  const ids = ['dpl_1'];
  const drifts = (json: unknown) => shown('getDeploymentDrifts', json, { ids, query: [['limit', '7']] });
  expect(judge(new Model(), drifts(pageOf([{ object: 'drift', id: 'drf_1', status: 'new' }])))).toEqual([]);
  expect(inWords(judge(new Model(), drifts([])))).toEqual(['envelope SHOULD']);
});

it.each([
  ['created_at', ['/created_at']],
  ['queued_at', []],
])('a deployment whose %s is null has wrong values at %j', (name, found) => {
  const json = { object: 'deployment', id: 'dpl_1', created_at: '2026-05-06T10:00:00Z', [name]: null };
  const wrong = judge(new Model(), shown('getDeployment', json, { ids: ['dpl_1'] }));
  expect(wrong.filter(({ what }) => what === 'shape').map(({ path }) => path)).toEqual(found);
});

it.each<[string, string, string, Exchange['key'], string[]]>([
  ['may be missing once a deployment has ended', 'getDevice', 'current_deployment', 'full', []],
  ['may be missing without its scope', 'getRelease', 'config_schemas', 'limited', []],
  ['is missing otherwise', 'getRelease', 'config_schemas', 'full', ['expansion']],
])('an expansion that was shown before %s', (_, id, name, key, found) => {
  const read = (value: unknown, by: Exchange['key']): Exchange =>
    shown(id, { object: 'thing', id: 'x_1', [name]: value }, { ids: ['x_1'], query: [['expand', name]], key: by });
  const model = new Model();
  judge(model, read(name === 'config_schemas' ? [{ object: 'config_schema', id: 'y_1' }] : { id: 'y_1' }, 'full'));
  const missing = judge(model, read(null, key)).filter(({ path }) => path === `/${name}`);
  expect(missing.map(({ what }) => what)).toEqual(found);
});

describe('an older version', () => {
  const version = versionNamed('rainier');
  const device = (id: string, rest: object = {}) => ({ object: 'device', id, ...rest });
  const [online, archived] = [device('dvc_1', { status: 'online' }), device('dvc_2', { status: 'archived' })];
  const list = (...data: object[]): Exchange => shown('listDevices', pageOf(data), { version });
  const read = (json: { id: string }, status = 200): Exchange =>
    shown('getDevice', json, { version, status, ids: [json.id] });

  it.each<[string, Exchange, string[]]>([
    ['may leave an archived device out of a list', list(online), []],
    ['leaves no other device out of a list', list(device('dvc_2', { status: 'offline' })), ['items']],
    ['may refuse an archived device', read(device('dvc_2'), 404), []],
    ['refuses no other device', read(device('dvc_1'), 404), ['refused']],
    ['may omit the status of an archived device', read(device('dvc_2')), []],
    ['omits no other status', read(device('dvc_1')), ['lacking']],
  ])('%s', (_, exchange, found) => {
    const model = new Model();
    judge(model, shown('listDevices', pageOf([online, archived])));
    listing([online, archived], {}, 'device', model);
    judge(model, read(online));
    expect(judge(model, exchange).map(({ what }) => what)).toEqual(found);
  });

  it.each<[string, object, string[]]>([
    ['may lack a config instance of unknown content', {}, []],
    ['lacks no config instance in json', { content: { format: 'json', data: '{}' } }, ['items', 'refused']],
  ])('%s', (_, rest, found) => {
    const model = new Model();
    const both = ['cfg_1', 'cfg_2'].map((id) => ({ object: 'config_instance', id, ...rest }));
    for (const each of both) judge(model, shown('getConfigInstance', each, { ids: [each.id] }));
    const older = (id: string, json: unknown, more: object) =>
      judge(model, shown(id, json, { version: TETONS, ...more }));
    older('getConfigInstance', both[0], { ids: ['cfg_1'] });
    older('listConfigInstances', pageOf([]), {});
    listing(both, {}, 'config_instance', model);
    const page = older('listConfigInstances', pageOf([{ object: 'config_instance', id: 'cfg_1' }]), {});
    const missing = older('getConfigInstance', {}, { ids: ['cfg_2'], status: 404 });
    expect(
      [...page, ...missing].map(({ what }) => what).filter((what) => what !== 'lacking' && what !== 'unasked'),
    ).toEqual(found);
  });
});

it.each<[string, string | undefined, string[]]>([
  ['as no filter, where it was never seen to take effect', undefined, []],
  ['as no filter, where it was seen in another version alone', TETONS, []],
  ['as a filter, where it was seen to take effect', NEWEST_VERSION, ['more MUST', 'count MUST']],
])('a page of matching items may treat agent_version %s', (_, provenIn, found) => {
  const items = ['1.2', '1.2', '1.3'].map((agent_version, at) => ({
    object: 'device',
    id: `dvc_${at}`,
    agent_version,
  }));
  const model = listing(items, { filters: new Map([['agent_version', provenIn]]) });
  const page = { object: 'list', limit: 2, offset: 0, has_more: true, total_count: 3, data: items.slice(0, 2) };
  const query = Object.entries({ limit: '2', expand: 'total_count', agent_version: '1.2' });
  expect(inWords(judge(model, shown('listDevices', page, { query })))).toEqual(found);
});

it.each([
  ['continues the order', 'd1 0a c1 e1', 'c1 d1', []],
  ['is cut before it is sorted', 'd1 0a c1 e1', 'd1 e1', ['order SHOULD']],
  ['has ids of other lengths', 'd 0a c1 e1', 'c1 d', []],
  ['has numbers', '9 10 11 12', '9 10', []],
])('a page by id that %s', (_, all, shownIds, found) => {
  const devices = (ids: string) => ids.split(' ').map((id) => ({ object: 'device', id: `dvc_${id}` }));
  const model = listing(devices(all), { orders: true });
  const page = { object: 'list', limit: 2, offset: 1, has_more: true, data: devices(shownIds) };
  const query = Object.entries({ limit: '2', offset: '1', order_by: 'id:asc' });
  expect(inWords(judge(model, shown('listDevices', page, { query })))).toEqual(found);
});

it.each([
  ['removing', 1],
  ['deployed', 0],
])('a deployment that is %s is compared %i times with what tetons lacks', (activity, count) => {
  const model = new Model();
  const json = { object: 'deployment', id: 'dpl_1', activity_status: 'deployed' };
  const exchange = shown('getDeployment', json, { version: TETONS, ids: ['dpl_1'] });
  const known = { value: activity, seen: seenIn(exchange) };
  model.record('dpl_1', 'deployment').members.set('activity_status', known);
  judge(model, exchange);
  const foreign = [...model.comparisons.values()].filter(({ comparison }) => comparison.what === 'foreign');
  expect(foreign).toHaveLength(count);
});

it.each<[string, boolean, string[]]>([
  ['may lack an operation', false, []],
  ['keeps an operation', true, ['refused']],
])('an older version %s that the newest serves, if it served that before: %s', (_, isServed, found) => {
  const model = new Model();
  const read = (more: Partial<Exchange>) => judge(model, shown('getRelease', release, { ids: ['rls_1'], ...more }));
  const release = { object: 'release', id: 'rls_1' };
  read({});
  if (isServed) read({ version: TETONS });
  expect(read({ version: TETONS, status: 404 }).map(({ what }) => what)).toEqual(found);
});

it.each<[string, number, object, string[]]>([
  ['an id alone', 201, { id: 'dvc_9' }, ['value SHOULD']],
  ['the request', 202, { object: 'operation', id: 'op_7' }, []],
  ['the device as it still is', 202, { object: 'device', id: 'dvc_1', name: 'old' }, []],
])('the answer to a write that shows %s is no wrong resource', (_, status, json, found) => {
  const model = new Model();
  judge(model, shown('getDevice', { object: 'device', id: 'dvc_1' }, { ids: ['dvc_1'] }));
  const written = shown(status === 201 ? 'createDevice' : 'updateDevice', json, {
    ...{ status, text: JSON.stringify(json), ids: status === 201 ? [] : ['dvc_1'] },
  });
  const known = { value: 'new', seen: seenIn(written), predicted: true };
  model.record('dvc_1', 'device').members.set('name', known);
  expect(inWords(judge(model, written))).toEqual(found);
});

it.each<[string, object, string[]]>([
  ['a word and a number that are ids too', { error: 'auth', code: '1001', status: 1001 }, []],
  ['an item', { error: 'auth', data: [{ id: 'auth' }] }, ['served']],
])('a refusal without a key that shows %s', (_, json, found) => {
  const model = listing([{ id: '1001' }, { id: 'auth' }]);
  const refusal = { key: 'none', status: 401, text: JSON.stringify(json) } as const;
  expect(judge(model, shown('listDevices', json, refusal)).map(({ what }) => what)).toEqual(found);
});

it.each<[string, string, Exchange[], string[]]>([
  ['that the platform may lack', 'getSelf', [], []],
  ['that an older version may lack', 'listDevices', [shown('listDevices', pageOf([]))], []],
  ['that is served', 'listDevices', [shown('listDevices', pageOf([]), { version: TETONS })], ['unrefused']],
])('404 without a key to a request %s: %s', (_, id, before, found) => {
  const model = new Model();
  for (const each of before) judge(model, each);
  const missing = judge(model, shown(id, undefined, { key: 'none', status: 404, version: TETONS }));
  expect(missing.map(({ what }) => what)).toEqual(found);
});

it('asks for the file of a config instance with no key, or a wrong one', () => {
  const model = new Model();
  model.record('cfg_1', 'config_instance');
  const about = { model, draw: new Draw(1), versions: [NEWEST_VERSION], newest: NEWEST_VERSION, t: {} };
  const asks = refusals(about as unknown as Explorer);
  const asked = asks.find((ask) => pathOf(ask) === '/config_instances/cfg_1/content');
  expect(asked && dueRefusal(asked)).toMatch(/key/);
});

it.each(SURELY_WRONG_KEYS)('a key in base64 decodes to other bytes if it is %s', (how) => {
  for (const key of ['c2VjcmV0QQ==', 'c2VjcmV0QUI=', 'c2VjcmV0QUJD'])
    expect(Buffer.from(changedKey(key, how) ?? '', 'base64')).not.toEqual(Buffer.from(key, 'base64'));
});

it.each<[string, string[], string, string[]]>([
  ['may be shown to a key that reads no releases', [], 'expand', []],
  ['may be shown by a platform that takes no expand[]', ['listReleases'], 'expand[]', []],
  ['lack it otherwise', ['listReleases'], 'expand', ['/release', '/current_release']],
])('a deployment and its device that show no release %s', (_, served, name, found) => {
  const deployed = { activity_status: 'deployed', target_status: 'deployed', error_status: 'none', status: 'deployed' };
  const named = { device_id: 'dvc_1', release_id: 'rls_1', release: null };
  const deployment = { object: 'deployment', id: 'dpl_1', ...deployed, ...named };
  const device = { object: 'device', id: 'dvc_1', current_release: null };
  const model = new Model();
  // A key that writes releases need not read them.
  model.served.add(`createRelease ${NEWEST_VERSION}`);
  for (const id of served) judge(model, shown(id, pageOf([])));
  const read = (id: string, json: { id: string }, expand: string): Exchange =>
    shown(id, json, { ids: [json.id], query: [[name, expand]] });
  const all = [
    ...judge(model, read('getDeployment', deployment, 'release')),
    ...judge(model, read('getDevice', device, 'current_release')),
  ];
  expect(all.flatMap(({ what, path }) => (what === 'expansion' ? path : []))).toEqual(found);
});

it.each<[string, string, unknown]>([
  ['json', 'MUST', { format: 'json', data: 'speed: 1\n' }],
  ['yaml', 'SHOULD', { format: 'yaml', data: 'speed: 1\n' }],
  ['data of no format', 'SHOULD', { data: 'speed: 1\n' }],
  ['text', 'SHOULD', 'speed: 1\n'],
])('yaml content that is shown as %s without its comment is a %s', (_, level, content) => {
  const model = new Model();
  const read = (content: unknown): Exchange =>
    shown('getConfigInstance', { object: 'config_instance', id: 'cfg_1', content }, { ids: ['cfg_1'] });
  const known = { value: { format: 'yaml', data: '# rates\nspeed: 1\n' }, predicted: true };
  model.record('cfg_1', 'config_instance').members.set('content', { ...known, seen: seenIn(read({})) });
  expect(inWords(judge(model, read(content)))).toEqual([`value ${level}`]);
});

const read = (kind: 'Device' | 'Group' | 'ConfigSchema', id: string, rest: object, more: Partial<Exchange> = {}) =>
  shown(`get${kind}`, { object: kind.replace('Config', 'config_').toLowerCase(), id, ...rest }, { ids: [id], ...more });
const slots = (...paths: string[]): Exchange =>
  read('ConfigSchema', 'sch_1', { instance_slots: paths.map((filepath) => ({ filepath })) });
const listed = (name: string, value: string, more: Partial<Exchange> = {}): Exchange =>
  shown('listDevices', pageOf([]), { query: [[name, value]], ...more });
const made = (kind: 'Device' | 'Group', day: number): Exchange =>
  read(kind, '7', { created_at: `2026-05-0${day}T10:00:00Z` });
const REFUSED = { status: 422, json: {} };
const NOT_JUDGED = { status: 0, json: undefined, isExcused: true };

it.each<[string, Exchange, Exchange, string[]]>([
  ['a list after an answer that is not judged', listed('name', 'a', NOT_JUDGED), listed('name', 'a'), []],
  ['slots in another order', slots('/a', '/b'), slots('/b', '/a'), []],
  ['other slots', slots('/a', '/b'), slots('/a', '/a'), ['value MUST']],
  [
    'no path in an older version that never showed it',
    read('ConfigSchema', 'sch_1', { instance_filepath: '/a' }, { version: TETONS }),
    read('ConfigSchema', 'sch_2', {}, { version: TETONS }),
    [],
  ],
  ['the refusal of a value that no record has', listed('id', 'dvc_1'), listed('id', UNKNOWN, REFUSED), []],
  ['another kind with the same id', made('Device', 6), made('Group', 7), []],
])('two answers of which the second shows %s', (_, first, second, found) => {
  const model = new Model();
  expect(inWords([...judge(model, first), ...judge(model, second)])).toEqual(found);
});
