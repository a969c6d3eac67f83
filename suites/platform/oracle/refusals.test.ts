import { describe, expect, it } from 'vitest';
import { NEWEST_VERSION, versionNamed } from '../../../harness/contract/versions.ts';
import { decide } from './decides.ts';
import { type Exchange, seenIn } from './exchange.ts';
import { operation } from './explorer.ts';
import { Model } from './model.ts';
import { judge } from './refusals.ts';

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

const pageOf = (data: object[]): object => ({ object: 'list', limit: 10, offset: 0, has_more: false, data });

it('demands no paging, nor items of its kind, and the envelope only as a SHOULD, of a list below a resource', () => {
  const ids = ['dpl_1'];
  const drifts = (json: unknown) => shown('getDeploymentDrifts', json, { ids, query: [['limit', '7']] });
  expect(judge(new Model(), drifts(pageOf([{ object: 'drift', id: 'drf_1', status: 'new' }])))).toEqual([]);
  const plain = judge(new Model(), drifts([]));
  expect(plain.map((each) => `${each.what} ${decide(each).level}`)).toEqual(['envelope SHOULD']);
});

it.each([
  ['created_at', ['/created_at']],
  ['queued_at', []],
])('a deployment whose %s is null has wrong values at %j', (name, found) => {
  const json = { object: 'deployment', id: 'dpl_1', created_at: '2026-05-06T10:00:00Z', [name]: null };
  const wrong = judge(new Model(), shown('getDeployment', json, { ids: ['dpl_1'] }));
  expect(wrong.filter(({ what }) => what === 'shape').map(({ path }) => path)).toEqual(found);
});

describe('an expansion that was shown before', () => {
  const read = (id: string, name: string, value: unknown, key: Exchange['key'] = 'full'): Exchange =>
    shown(id, { object: 'thing', id: 'x_1', [name]: value }, { ids: ['x_1'], query: [['expand', name]], key });
  it.each<[string, string, string, Exchange['key'], string[]]>([
    ['may be missing once a deployment has ended', 'getDevice', 'current_deployment', 'full', []],
    ['may be missing without its scope', 'getRelease', 'config_schemas', 'limited', []],
    ['is missing otherwise', 'getRelease', 'config_schemas', 'full', ['expansion']],
  ])('%s', (_, id, name, key, found) => {
    const model = new Model();
    judge(model, read(id, name, name === 'config_schemas' ? [{ object: 'config_schema', id: 'y_1' }] : { id: 'y_1' }));
    const missing = judge(model, read(id, name, null, key)).filter(({ path }) => path === `/${name}`);
    expect(missing.map(({ what }) => what)).toEqual(found);
  });
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
    const reference = { items: [online, archived], ids: ['dvc_1', 'dvc_2'], isWhole: true, total: 2 };
    Object.assign(model.list('device'), { isStale: false, reference });
    judge(model, read(online));
    expect(judge(model, exchange).map(({ what }) => what)).toEqual(found);
  });
});

it.each([
  ['removing', 1],
  ['deployed', 0],
])('a deployment that is %s is compared %i times with what tetons lacks', (activity, count) => {
  const model = new Model();
  const json = { object: 'deployment', id: 'dpl_1', activity_status: 'deployed' };
  const exchange = shown('getDeployment', json, { version: versionNamed('tetons'), ids: ['dpl_1'] });
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
  const version = versionNamed('tetons');
  const read = (more: Partial<Exchange>) => judge(model, shown('getRelease', release, { ids: ['rls_1'], ...more }));
  const release = { object: 'release', id: 'rls_1' };
  read({});
  if (isServed) read({ version });
  expect(read({ version, status: 404 }).map(({ what }) => what)).toEqual(found);
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
  expect(judge(model, written).map((each) => `${each.what} ${decide(each).level}`)).toEqual(found);
});

it.each<[string, object, string[]]>([
  ['a word and a number that are ids too', { error: 'auth', code: '1001', status: 1001 }, []],
  ['an item', { error: 'auth', data: [{ id: 'auth' }] }, ['served']],
])('a refusal without a key that shows %s', (_, json, found) => {
  const model = new Model();
  const reference = { items: [], ids: ['1001', 'auth'], isWhole: true, total: 2 };
  Object.assign(model.list('device'), { isStale: false, reference });
  const refusal = { key: 'none', status: 401, text: JSON.stringify(json) } as const;
  expect(judge(model, shown('listDevices', json, refusal)).map(({ what }) => what)).toEqual(found);
});

it('learns nothing from an answer that is not judged', () => {
  const model = new Model();
  const read = (more: Partial<Exchange>) =>
    judge(model, shown('listDevices', pageOf([]), { query: [['name', 'a']], ...more }));
  expect([...read({ status: 0, json: undefined, isExcused: true }), ...read({})]).toEqual([]);
});

it.each([
  ['json', 'MUST'],
  ['yaml', 'SHOULD'],
])('yaml content that is shown as %s without its comment is a %s', (format, level) => {
  const model = new Model();
  const read = (content: object): Exchange =>
    shown('getConfigInstance', { object: 'config_instance', id: 'cfg_1', content }, { ids: ['cfg_1'] });
  const known = { value: { format: 'yaml', data: '# rates\nspeed: 1\n' }, predicted: true };
  model.record('cfg_1', 'config_instance').members.set('content', { ...known, seen: seenIn(read({})) });
  const found = judge(model, read({ format, data: 'speed: 1\n' }));
  expect(found.map((each) => `${each.what} ${decide(each).level}`)).toEqual([`value ${level}`]);
});

it('tells a device and a group with the same id apart', () => {
  const model = new Model();
  const read = (kind: 'Device' | 'Group', created_at: string) =>
    judge(model, shown(`get${kind}`, { object: kind.toLowerCase(), id: '7', created_at }, { ids: ['7'] }));
  expect([...read('Device', '2026-05-06T10:00:00Z'), ...read('Group', '2026-05-07T10:00:00Z')]).toEqual([]);
});
