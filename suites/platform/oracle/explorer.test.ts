import type { RequestListener } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RESOURCE_KINDS } from '../../../harness/contract/platform/operation.ts';
import { NEWEST_VERSION, SUPPORTED_CODENAMES } from '../../../harness/contract/versions.ts';
import { Budget } from '../../../harness/runner/explore.ts';
import type { Requirement } from '../../../harness/runner/types.ts';
import { Standstill, TooLittleSeen, Violation } from '../../../harness/runner/violation.ts';
import type { Platform } from '../support/requests.ts';
import { platformThat } from '../testing/platform.ts';
import { byExploring } from './checks.ts';
import { decide } from './decides.ts';
import { parents, staysAt } from './deployments.ts';
import { type Ask, askFor, type Exchange, pairs } from './exchange.ts';
import { pings } from './exploration.ts';
import { Explorer, operation } from './explorer.ts';
import { settle } from './settling.ts';
import { names, whatVersionsBrought } from './version-writes.ts';
import type { World } from './world.ts';
import { Writes } from './writes.ts';

const asked = { method: 'GET', url: 'http://platform/', duration_ms: 1, curl: 'curl' };

type Answer = Pick<Exchange, 'status'> & { json?: unknown; tookMs?: number };

const ABOUT = { apiVersion: NEWEST_VERSION, versionHeader: 'Service-Version', apiKey: 'k', capabilities: new Set() };

function explorerFor(t: object): Explorer {
  const budget = new Budget({ ms: 0, requests: 0, least: 0, lateMs: 60_000 });
  return new Explorer({ ...ABOUT, ...t } as unknown as Platform, 1, budget);
}

const EVERY_VERSION = { capabilities: new Set(SUPPORTED_CODENAMES), onlineDevice: 'dvc_1' };
const IMPATIENT = { ...EVERY_VERSION, patienceMs: 400 };

function explorerOf(answer: (ask: Ask) => Answer | Promise<Answer>, t: object = {}): Explorer {
  const ex = explorerFor({ patienceMs: 4000, signal: new AbortController().signal, ...t });
  ex.send = async (ask) => {
    const { status, json, tookMs = 1 } = await answer(ask);
    const text = json === undefined ? '' : JSON.stringify(json);
    const headers = { 'content-type': 'application/json' };
    return { ...ask, status, headers, json, text, asked: { ...asked, duration_ms: tookMs } };
  };
  return ex;
}

it.each([
  [204, 'new'],
  [504, undefined],
  [409, 'old'],
])('after a renaming that is answered %i without a body, the expected name is %s', async (status, name) => {
  const ex = explorerOf(() => ({ status }));
  const { members } = ex.model.made('grp_1', 'group');
  members.set('name', { value: 'old', seen: { asked, text: '' } });
  const body = { name: 'new' };
  await ex.write(askFor(operation('updateGroup'), NEWEST_VERSION, ['grp_1'], { body }), body);
  expect(members.get('name')?.value).toBe(name);
  const found = [...ex.found.values(), ...ex.suspects.values()].map(({ what }) => what);
  expect(found).toEqual(status === 504 ? ['error'] : []);
});

it('finds two faults of one page, although each walks the list again', async () => {
  const data = ['dvc_1', 'dvc_2', 'dvc_3'].map((id) => ({ object: 'device', id }));
  const whole = { limit: 100, has_more: false, total_count: 3, data };
  const wrong = { limit: 2, has_more: false, total_count: 9, data: data.slice(0, 2) };
  let pages = 0;
  const ex = explorerOf(async ({ query }) => {
    const isWalk = query.some(([, value]) => value === '100');
    pages += isWalk ? 0 : 1;
    // The page for one fault arrives while the other walks.
    for (let turns = isWalk ? 3 : 1 + (pages % 2); turns > 0; turns -= 1) await nextTurn();
    return { status: 200, json: { object: 'list', offset: 0, ...(isWalk ? whole : wrong) } };
  });
  await ex.walk('device');
  const query = pairs({ limit: 2, expand: 'total_count' });
  await ex.look(askFor(operation('listDevices'), NEWEST_VERSION, [], { query }));
  await settle(ex);
  expect([...ex.found.values()].map(({ what }) => what).toSorted()).toEqual(['count', 'more']);
});

it('waits for a cache of reads before it judges a name', async () => {
  const shown: unknown[] = ['old'];
  const ex = explorerOf(({ body }) => {
    if (body !== undefined) shown.push((body as { name: unknown }).name);
    const name = body === undefined && shown.length > 1 ? shown.shift() : shown[0];
    return { status: 200, json: { object: 'group', id: 'grp_1', name } };
  });
  const writes = new Writes(ex, 'a');
  const groups = [ex.model.made('grp_1', 'group')];
  await names(ex, { writes, types: [], devices: [], groups } as unknown as World);
  expect([...ex.found.values()]).toEqual([]);
});

it('asks for yaml content in a file whose name ends with yaml', async () => {
  let text = '';
  const ex = explorerOf(({ body }) => {
    text = JSON.stringify(body);
    return { status: 409 };
  });
  const type = ex.model.made('cfg_type_1', 'config_type');
  await new Writes(ex, 'a').schema(NEWEST_VERSION, type, { instanceFormat: 'yaml' });
  expect(text).toContain('musterax1.yaml"');
});

it('takes the operation that an accepted creation answers with for no device', async () => {
  const ex = explorerOf(() => ({ status: 202, json: { object: 'operation', id: 'op_7' } }));
  expect(await new Writes(ex, 'a').device(NEWEST_VERSION)).toBeUndefined();
  expect([...ex.model.records.keys(), ...ex.found.values(), ...ex.suspects.values()]).toEqual([]);
});

it('learns the slug of a config type and the root of the groups from answers', async () => {
  let made = 0;
  const ex = explorerOf(({ body }) => {
    made += 1;
    const { parent_id: parent } = body as { parent_id?: string | null };
    const [object, more] =
      parent === undefined ? ['config_type', { slug: `s${made}` }] : ['group', { parent_id: parent ?? 'grp_root' }];
    return { status: 201, json: { object, id: `${object}_${made}`, ...(body as object), ...more } };
  });
  const writes = new Writes(ex, 'a');
  const type = await writes.configType(NEWEST_VERSION);
  await writes.configType(NEWEST_VERSION, true);
  const natural = writes.bodies.get('createConfigType') as { name?: string; slug?: string } | undefined;
  expect(natural?.slug).toBe(natural?.name);
  const groups = [await writes.group(null), await writes.group(null)];
  expect([...ex.found.values(), ...ex.suspects.values()]).toEqual([]);
  expect(type?.members.get('slug')?.value).toBe('s1');
  expect(groups[1]?.members.get('parent_id')).toMatchObject({ value: 'grp_root' });
  expect(writes.below(null)).toEqual({ parent_id: 'grp_root' });
});

it('reads again for as long as reads of its own records may lag behind', async () => {
  let readyAt: number | undefined;
  const json = () => {
    readyAt ??= performance.now() + 1500;
    return { object: 'group', id: 'grp_1', name: performance.now() < readyAt ? 'old' : 'new' };
  };
  const ex = explorerOf(() => ({ status: 200, json: json() }));
  const group = ex.model.made('grp_1', 'group');
  group.members.set('name', { value: 'new', seen: { asked, text: '' }, predicted: true });
  await ex.look(askFor(operation('getGroup'), NEWEST_VERSION, ['grp_1']));
  expect(ex.suspects.size).toBe(1);
  await settle(ex);
  expect([...ex.found.values()]).toEqual([]);
});

it('reads an archived deployment again, because a replica may lag behind', async () => {
  const states = ['archived', 'staged', 'archived'];
  const ex = explorerOf(({ operation: { method } }) => {
    if (method === 'POST') return { status: 409 };
    return { status: 200, json: { object: 'deployment', id: 'dpl_1', activity_status: states.shift() } };
  });
  const writes = new Writes(ex, 'a');
  await staysAt(ex, { writes } as unknown as World, ex.model.made('dpl_1', 'deployment'), 'archived');
  expect([states, ...ex.found.values()]).toEqual([[]]);
});

it.each([
  ['keeps it archived', 'archived', 0],
  ['deploys it a moment later', 'deployed', 1],
])('a platform that accepts to deploy an archived deployment, and %s', async (_, later, found) => {
  let asked = 0;
  const ex = explorerOf(({ operation: { method } }) => {
    if (method === 'GET') asked += 1;
    const activity_status = asked > 3 ? later : 'archived';
    return { status: 200, json: { object: 'deployment', id: 'dpl_1', activity_status } };
  }, IMPATIENT);
  const writes = new Writes(ex, 'a');
  await staysAt(ex, { writes } as unknown as World, ex.model.made('dpl_1', 'deployment'), 'archived');
  expect([...ex.found.values()].filter(({ what }) => what === 'revived')).toHaveLength(found);
});

it.each([
  ['of the server', 'grp_other', []],
  ['of this run', 'grp_1', ['side-effect']],
])('a device that turns up in a group %s is in %s: %j', async (_, group_id, found) => {
  const ex = explorerOf(() => ({ status: 200, json: { object: 'device', id: 'dvc_1', group_id } }));
  ex.model.made('grp_1', 'group');
  ex.model.made('dvc_1', 'device').members.set('group_id', { value: null, seen: { asked, text: '' } });
  await ex.look(askFor(operation('getDevice'), NEWEST_VERSION, ['dvc_1']));
  expect(ex.suspects.size).toBe(1);
  await settle(ex);
  expect([...ex.found.values()].map(({ what }) => what)).toEqual(found);
});

it.each([
  ['the new one', 'new', ['value SHOULD']],
  ['it too', 'old', ['effect MUST']],
])('the answer to a renaming shows the old name, and later reads show %s', async (_, later, found) => {
  const ex = explorerOf(({ operation: { method } }) => {
    const name = method === 'GET' ? later : 'old';
    return { status: 200, json: { object: 'group', id: 'grp_1', name } };
  });
  const group = ex.model.made('grp_1', 'group');
  await new Writes(ex, 'a').change(NEWEST_VERSION, group, 'updateGroup', { name: 'new' });
  await settle(ex);
  expect([...ex.found.values()].map((each) => `${each.what} ${decide(each).level}`)).toEqual(found);
});

it('finds no fault in the pages of a filter that matches parts of names', async () => {
  const devices = ['a1', 'a12', 'b'].map((name) => ({ object: 'device', id: `dvc_${name}`, name }));
  const ex = explorerOf(({ query }) => {
    const { limit, name = '' } = Object.fromEntries(query);
    const matching = devices.filter((device) => device.name.includes(name));
    const data = matching.slice(0, Number(limit));
    const page = { limit: Number(limit), has_more: data.length < matching.length, total_count: matching.length };
    return { status: 200, json: { object: 'list', offset: 0, ...page, data } };
  });
  await ex.walk('device');
  ex.model.list('device').filters.set('name', NEWEST_VERSION);
  const query = pairs({ limit: 1, expand: 'total_count', name: 'a1' });
  await ex.look(askFor(operation('listDevices'), NEWEST_VERSION, [], { query }));
  expect([...ex.suspects.values()].map(({ what }) => what).toSorted()).toEqual(['count', 'more']);
  await settle(ex);
  expect([...ex.found.values()]).toEqual([]);
});

it('counts yaml content as accepted, although no answer shows it', async () => {
  let made = 0;
  const ex = explorerOf(({ operation: { method, kind }, ids: [id] }) => {
    made += 1;
    return { status: method === 'GET' ? 200 : 201, json: { object: kind, id: id ?? `${kind}_${made}` } };
  });
  ex.model.served.add(`createConfigInstance ${NEWEST_VERSION}`);
  const world = { writes: new Writes(ex, 'a'), types: [], parts: [] } as unknown as World;
  const steps = whatVersionsBrought(ex, world);
  // Derived paths come first, yaml second.
  for (let times = 0; times < 2; times += 1) await steps.next();
  const counted = [...ex.model.comparisons.values()].flatMap(({ comparison }) => decide(comparison).ids);
  expect(counted).toContain('platform.config-instance.yaml');
});

it.each<[string, (asked: number, isFirst: boolean) => boolean, string[]]>([
  ['twice, as it may not know a new device yet', (asked) => asked <= 2, []],
  ['for each first deployment of a device', (_, isFirst) => isFirst, ['/parent_id null']],
])('a platform that refuses a null parent_id %s', async (_, isRefused, found) => {
  const deployed = new Set<unknown>();
  let asked = 0;
  let made = 0;
  const ex = explorerOf(({ operation: { id, method, kind }, body }) => {
    if (method === 'GET') return { status: 404 };
    const { device_id: device, parent_id: parent } = body as { device_id?: string; parent_id?: string | null };
    if (id === 'createDeployment') {
      asked += 1;
      if (parent === null && isRefused(asked, !deployed.has(device))) return { status: 422 };
      deployed.add(device);
    }
    made += 1;
    return { status: 201, json: { object: kind, id: `${kind}_${made}`, ...(body as object) } };
  }, IMPATIENT);
  const [schema, release] = [ex.model.made('sch_1', 'config_schema'), ex.model.made('rls_1', 'release')];
  const parts = [{ schema, release, instances: [] }];
  await parents(ex, { writes: new Writes(ex, 'a'), parts, deployments: [] } as unknown as World);
  expect([...ex.found.values()].flatMap(({ what, path }) => (what === 'parent' ? path : []))).toEqual(found);
});

it('waits for a replica before it judges the items of a list', async () => {
  const data = ['dvc_1', 'dvc_2'].map((id) => ({ object: 'device', id }));
  let readyAt: number | undefined;
  const ex = explorerOf(({ query }) => {
    const isWalk = query.some(([, value]) => value === '100');
    readyAt ??= performance.now() + 1500;
    const items = isWalk || performance.now() > readyAt ? data : data.slice(0, 1);
    const page = { limit: isWalk ? 100 : 10, offset: 0, has_more: false, total_count: items.length, data: items };
    return { status: 200, json: { object: 'list', ...page } };
  });
  await ex.walk('device');
  await ex.look(askFor(operation('listDevices'), NEWEST_VERSION, [], { query: pairs({ expand: 'total_count' }) }));
  expect(ex.suspects.size).toBe(2);
  await settle(ex);
  expect([...ex.found.values()]).toEqual([]);
});

it('takes the refusal of all that was served for the end of the key', async () => {
  let asked = 0;
  const page = { object: 'list', limit: 10, offset: 0, has_more: false, data: [] };
  const ex = explorerOf(() => {
    asked += 1;
    return asked === 1 ? { status: 200, json: page } : { status: 403 };
  });
  for (let times = 0; times < 2; times += 1) await ex.look(askFor(operation('listDevices'), NEWEST_VERSION));
  expect(ex.suspects.size).toBe(1);
  await expect(settle(ex)).rejects.toThrow('the platform no longer accepts the API key');
  expect([...ex.found.values()]).toEqual([]);
});

it('counts what was found before the key ended, and decides nothing else', async () => {
  let answered = 0;
  const { t } = await platformThat((_, response) => {
    answered += 1;
    const isFirstRead = answered <= RESOURCE_KINDS.length;
    response.writeHead(isFirstRead ? 200 : 401, { 'content-type': 'application/json' });
    response.end('{"object":"list","limit":100,"offset":0,"has_more":false,"data":[null]}');
  });
  const whole = { ...ABOUT, ...t, runs: 1, runSeed: 1, saw: () => {} } as unknown as Platform;
  const decided = (id: string): Promise<void> => byExploring({ id, level: 'MUST' } as Requirement)[2](whole);
  await expect(decided('platform.version.supported')).rejects.toThrow('the platform no longer accepts the API key');
  await expect(decided('platform.list.envelope')).rejects.toThrow(Violation);
  await expect(decided('platform.list.has-more')).rejects.toThrow(TooLittleSeen);
});

async function realExplorer(answer: RequestListener, more: Partial<Platform> = {}) {
  const { t } = await platformThat(answer);
  return explorerFor({ ...t, ...more });
}

it('judges nothing that a standstill left unanswered, and reads again', async () => {
  let isStill = true;
  const ex = await realExplorer(
    ({ method }, response) => {
      if (!isStill && method === 'GET')
        response.setHeader('content-type', 'application/json').end('{"object":"device","id":"dvc_1"}');
    },
    {
      patienceMs: 100,
      reconsider: async () => {
        isStill = false;
        return new Standstill('it stood still');
      },
    },
  );
  const read = askFor(operation('getDevice'), NEWEST_VERSION, ['dvc_1'], { isKept: false });
  const rename = askFor(operation('updateDevice'), NEWEST_VERSION, ['dvc_1'], { isKept: false, body: { name: 'new' } });
  const [shown, written] = await Promise.all([ex.look(read), ex.write(rename)]);
  expect([shown.status, written.status]).toEqual([200, 0]);
  expect([...ex.found.values(), ...ex.suspects.values()]).toEqual([]);
});

it.each([
  ['bytes', Buffer.alloc(2 ** 24 + 1, ' ')],
  ['values', `{"data":[${'0,'.repeat(300_000)}0]}`],
])('neither judges nor repeats a list of more %s than Muster reads', async (_, body) => {
  let asked = 0;
  const ex = await realExplorer((_request, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json').end(body);
  });
  const list = askFor(operation('listDevices'), NEWEST_VERSION, []);
  expect([await ex.look(list), await ex.look(list)].map(({ status }) => status)).toEqual([0, 0]);
  expect([asked, ...ex.found.values(), ...ex.suspects.values()]).toEqual([1]);
});

it('drops a suspect whose repetition is too large to read', async () => {
  const answers: [number, string][] = [
    [200, '{"object":"device","id":"dvc_1"}'],
    [404, '{}'],
  ];
  const ex = await realExplorer((_, response) => {
    const [status, body] = answers.shift() ?? [200, `[${'0,'.repeat(300_000)}0]`];
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  ex.model.made('dvc_1', 'device');
  const read = askFor(operation('getDevice'), NEWEST_VERSION, ['dvc_1']);
  for (const due of [0, 1]) {
    await ex.look(read);
    expect(ex.suspects.size).toBe(due);
  }
  await settle(ex);
  expect([...ex.found.values()]).toEqual([]);
});

it.each<[string, number, string, number | undefined, number, number]>([
  ['once in an older version', 500, 'tetons', 10_000, 1, 0],
  ['always in an older version', 500, 'tetons', undefined, Number.POSITIVE_INFINITY, 1],
  ['always with one timeout', 400, 'everglades', 10_000, Number.POSITIVE_INFINITY, 1],
  ['always and everywhere', 500, '', undefined, Number.POSITIVE_INFINITY, 0],
  ['in a version that lacks them', 404, 'tetons', undefined, Number.POSITIVE_INFINITY, 0],
])('pings that fail %s, with %i', async (_, status, codename, ms, times, found) => {
  let failed = 0;
  const ex = explorerOf(({ key, version, body }) => {
    const { timeout_nanos: nanos } = body as { timeout_nanos: number };
    const isOdd = version.endsWith(codename) && nanos === (ms ?? nanos / 1e6) * 1e6;
    if (key === 'none') return { status: 401 };
    if (isOdd) failed += 1;
    if (isOdd && failed <= times) return { status };
    return { status: 200, json: { code: 'success', round_trip_nanos: 1_000_000 } };
  }, EVERY_VERSION);
  await pings(ex, undefined);
  expect([...ex.found.values()]).toHaveLength(found);
});

it.each([
  ['expands', [201, 201], ['/parent/id']],
  ['refuses expansions', [201, 400, 201, 201], []],
])('a platform that %s in writes is asked for them once it has served the write', async (_, statuses, found) => {
  const sent: string[] = [];
  const ex = explorerOf(({ query, body }) => {
    const expanded = query.length > 0 && { parent: { object: 'group', id: 'grp_old' } };
    const id = `grp_${sent.push(query.join())}`;
    const json = { object: 'group', id, name: Object(body).name, parent_id: 'grp_up', ...expanded };
    return { status: statuses[sent.length - 1] ?? 500, json };
  });
  const writes = new Writes(ex, 'mark');
  while (sent.length < statuses.length) await writes.group('grp_up');
  expect(sent.map((query) => query !== '')).toEqual(statuses.map((_, at) => at === 1));
  expect([...ex.found.values()].map(({ path }) => path)).toEqual(found);
});

it('asks once for each deployment to be archived', async () => {
  const asked: Ask[] = [];
  const ex = explorerOf((ask) => ({ status: asked.push(ask) && 409 }));
  for (const id of ['dpl_1', 'dpl_2']) ex.model.made(id, 'deployment');
  const writes = new Writes(ex, 'mark');
  for (const _ of ['first', 'again']) await writes.tidy();
  expect(asked.map(({ ids }) => ids)).toEqual([['dpl_1'], ['dpl_2']]);
});

it('a read by an id that shows another record is no answer to it, however rarely', async () => {
  const ex = explorerOf(() => ({ status: 200, json: { object: 'device', id: 'dvc_2' } }));
  await ex.look(askFor(operation('getDevice'), NEWEST_VERSION, ['dvc_1']));
  expect([...ex.found.values()].map((each) => [each.path, decide(each).level])).toEqual([['/id', 'MUST']]);
});

it.each([
  ['at once', 0, 57, 1],
  ['when their time is over', 1, 4, 0],
])('pings that time out %s', async (_, share, due, found) => {
  let pinged = 0;
  const ex = explorerOf(({ key, body }) => {
    const { timeout_nanos: nanos } = body as { timeout_nanos: number };
    if (key === 'none') return { status: 401 };
    pinged += 1;
    return { status: 200, json: { code: 'timeout' }, tookMs: (share * nanos) / 1e6 };
  }, EVERY_VERSION);
  await pings(ex, undefined);
  expect([pinged, ex.found.size]).toEqual([due, found]);
});

it.each<[string, number, string[]]>([
  ['group', 7, []],
  ['deployment', 7, ['envelope']],
])('findings in a list whose %s has the id %j: %j', async (object, id, due) => {
  const page = { object: 'list', limit: 10, offset: 0, has_more: false, data: [{ object, id }] };
  const ex = await realExplorer(
    (_, response) => void response.setHeader('content-type', 'application/json').end(JSON.stringify(page)),
  );
  const { json } = await ex.look(
    askFor(operation(`list${object === 'group' ? 'Groups' : 'Deployments'}`), NEWEST_VERSION),
  );
  expect(json).toMatchObject({ data: [{ id: due.length === 0 ? '7' : 7 }] });
  expect([...ex.found.values()].map(({ what }) => what)).toEqual(due);
});
