import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { Budget } from '../../../harness/runner/explore.ts';
import type { Platform } from '../support/requests.ts';
import { type Ask, askFor, type Exchange, pairs } from './exchange.ts';
import { Explorer, operation } from './explorer.ts';
import { settle } from './settling.ts';
import { names } from './version-writes.ts';
import type { World } from './world.ts';
import { Names, Writes } from './writes.ts';

const asked = { method: 'GET', url: 'http://platform/', duration_ms: 1, curl: 'curl' };

type Answer = Pick<Exchange, 'status'> & { json?: unknown };

function explorerOf(answer: (ask: Ask) => Answer | Promise<Answer>): Explorer {
  const { signal } = new AbortController();
  const t = { apiVersion: NEWEST_VERSION, versionHeader: 'Service-Version', capabilities: new Set(), signal };
  const budget = new Budget({ ms: 0, requests: 0, least: 0, lateMs: 60_000 });
  const ex = new Explorer(t as unknown as Platform, 1, budget);
  ex.send = async (ask) => {
    const { status, json } = await answer(ask);
    const text = json === undefined ? '' : JSON.stringify(json);
    return { ...ask, status, headers: { 'content-type': 'application/json' }, json, text, asked };
  };
  return ex;
}

it.each([
  [204, 'new'],
  [202, 'new'],
  [504, undefined],
  [409, 'old'],
])('after a renaming that is answered %i without a body, the expected name is %s', async (status, name) => {
  const ex = explorerOf(() => ({ status }));
  const { members } = ex.model.made('grp_1', 'group');
  members.set('name', { value: 'old', seen: { asked, text: '' } });
  const body = { name: 'new' };
  await ex.write(askFor(operation('updateGroup'), NEWEST_VERSION, ['grp_1'], { body }), 'group', body);
  expect(members.get('name')?.value).toBe(name);
  const found = [...ex.found.values(), ...ex.suspects].map(({ what }) => what);
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
  const writes = new Writes(ex, new Names('a'));
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
  await new Writes(ex, new Names('a')).schema(NEWEST_VERSION, type, { instanceFormat: 'yaml' });
  expect(text).toContain('musterax1.yaml"');
});
