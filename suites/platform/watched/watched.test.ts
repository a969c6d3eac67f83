import { describe, expect, test } from 'vitest';
import { History } from '../../../harness/runner/rules.ts';
import { checks as deploymentChecks } from '../2-deployments.ts';
import { checks as listChecks } from '../8-lists.ts';
import { watchedRules } from './index.ts';

const VERSION = '2026-08-17.everglades';

interface Answer {
  target: string;
  method?: string;
  status?: number;
  json?: unknown;
  headers?: Record<string, string>;
  answered?: Record<string, string>;
  client?: string;
}

type Rules = ConstructorParameters<typeof History>[0];

const foundIn = (answers: readonly Answer[], rules?: Rules): string[] => judged(answers, rules).found;

function judged(answers: readonly Answer[], rules: Rules = watchedRules): { found: string[]; decided: string[] } {
  const found: string[] = [];
  const history = new History(rules, (id, { fault }) => found.push(fault === undefined ? id : `${fault}`));
  const tell = history.of('a');
  for (const { target, method = 'GET', status = 200, json, headers = {}, answered, client = 'c' } of answers) {
    const sent = { 'x-api-key': 'k', 'service-version': VERSION, ...headers };
    const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== 'none'));
    const path = target.split('?', 1)[0] ?? '';
    const text = json === undefined ? '' : JSON.stringify(json);
    tell({
      kind: 'answer',
      asked: { method, url: `http://x${target}`, duration_ms: 100, curl: 'curl' },
      path: target,
      answer: { status, headers: { 'content-type': 'application/json', ...answered }, text, json },
      request: { method, target, path, headers: given, body: '', connection: { open: true }, client, at: 0 },
    });
  }
  const decided = rules.map(({ id }) => id).filter((id) => history.judged(id).sightings > 0);
  return { found, decided };
}

const list = (limit: number, offset = 0, more = false, items = 1): object => {
  const data = Array.from({ length: items }, (_, index) => ({ object: 'device', id: `dvc_${offset + index}` }));
  return { object: 'list', limit, offset, has_more: more, data };
};
const at = (query: string, json?: object, rest: Partial<Answer> = {}): Answer => ({
  target: `/beta/devices${query}`,
  ...(json !== undefined && { json }),
  ...rest,
});

describe('the status of a list', () => {
  const id = ['platform.list.envelope.watched'];
  test.each([
    [204, id],
    [201, id],
    [206, []],
    [500, []],
  ])('%d', (status, found) => expect(foundIn([at('', undefined, { status })])).toEqual(found));

  test.each<[string, Answer, string[]]>([
    ['a page', at('?limit=5&offset=0', list(5)), id],
    ['something else', at('?limit=5&offset=0', { id: 'dvc_1' }), []],
    ['something else with 203', at('?limit=5&offset=0', {}, { status: 203 }), []],
    ['a list below a device', at('/dvc_1/groups', undefined, { status: 204 }), []],
  ])('is decided by %s', (_, answer, decided) => expect(judged([answer]).decided).toEqual(decided));
});

test.each<[string, Record<string, string>, string[]]>([
  ['an agent', { 'x-api-key': 'none', authorization: 'Bearer x' }, []],
  ['a client of a future version', { 'service-version': '2027-01-01.yosemite' }, []],
  ['a client of the Platform API', {}, ['platform.list.envelope.everywhere']],
])('the rules of a run judge a list without the envelope by who asks: %s', (_, headers, found) => {
  const answer = { target: '/beta/agent/deployments', json: { deployments: [] }, headers };
  expect(foundIn([answer], listChecks)).toEqual(found);
});

test.each([
  ['one account', 'k', ['platform.deployment.same.everywhere']],
  ['two accounts', 'other', []],
])('a deployment of %s is the same everywhere', (_, key, found) => {
  const of = (release: string, headers: Record<string, string>): Answer => {
    const json = { object: 'deployment', id: 'dpl_1', device_id: 'dvc_1', release_id: release };
    return { target: '/beta/deployments/dpl_1', json, headers };
  };
  const rules = deploymentChecks.filter(({ id }) => id === 'platform.deployment.same.everywhere');
  expect(foundIn([of('rls_1', {}), of('rls_2', { 'x-api-key': key })], rules)).toEqual(found);
});

const TETONS = { headers: { 'service-version': '2026-03-09.tetons' } };
const LATER = { headers: { 'service-version': '2027-01-01.yosemite' } };

describe('limit and offset', () => {
  const refused = at('?limit=500', { error: 'no' }, { status: 400 });
  const inRange = at('?limit=50', list(50));
  const gone = { ...inRange, status: 500, json: {} };
  const twice = (before: Answer, answer: Answer): Answer[] => [before, answer, before, answer];
  test.each<[string, Answer[], string[]]>([
    ['a refusal, twice, beside other pages', [inRange, refused, at('?offset=9', list(10, 9)), refused], ['clamp.high']],
    ['a refusal once', [inRange, refused], []],
    ['refusals of which only the first follows a page', [inRange, refused, refused, refused], []],
    ['a refusal where nothing shows that the list is served', [refused, refused, refused], []],
    ['a refusal to another client', twice({ ...inRange, client: 'd' }, refused), []],
    ['a refusal in another version', twice(at('?limit=5', list(5), TETONS), refused), []],
    ['a refusal in a future version', twice({ ...inRange, ...LATER }, { ...refused, ...LATER }), []],
    ['a refusal with another filter', twice(at('?limit=5&order=a', list(5)), refused), []],
    ['a refusal for want of a key', twice(inRange, { ...refused, status: 401 }), []],
    ['a refusal of a limit that is no number', twice(inRange, at('?limit=abc', {}, { status: 400 })), []],
    ['a refusal that may be for another number', twice(inRange, at('?limit=500&offset=-1', {}, { status: 400 })), []],
    ['a refusal beside pages with another odd number', twice(at('?limit=50&offset=-1', list(50)), refused), []],
    ['a refusal of a list refused in range too', [inRange, refused, inRange, gone, refused, inRange, refused], []],
    ['a refusal where a limit above 100 has been taken', [at('?limit=101', list(100)), ...twice(inRange, refused)], []],
    ['a limit below 0', twice(inRange, at('?limit=-1', {}, { status: 422 })), ['clamp.low', 'clamp.nearest']],
    ['a limit of 0 that stays', [at('?limit=0', list(0, 0, true, 0))], []],
    ['a limit of 0 that stands for none', [at('?limit=0', list(10))], []],
    ['a page that is clamped beyond the end', [1, 2].map(() => at('?limit=5&offset=90', list(5, 20))), []],
    ['a page that has grown meanwhile', [at('?limit=5&offset=90', list(5, 20, true))], []],
    ['an ignored offset', [20, 40].map((n) => at(`?limit=20&offset=${n}`, list(20, 0, true, 20))), ['in-range']],
    ['another default where another parameter is given', [at('?page_size=50', list(50))], []],
    ['a default to an agent', [at('', list(50), { headers: { 'x-api-key': 'none', authorization: 'Bearer x' } })], []],
    ['another default in a future version', [at('', list(50), LATER)], []],
    ['another default of a list below a device', [at('/dvc_1/groups', list(50))], []],
    ['another default with a count', [at('?expand=total_count&limit=5', list(5, 3))], ['defaults']],
  ])('%s', (_, answers, found) =>
    expect(foundIn(answers)).toEqual(found.map((name) => `platform.list.${name}.watched`)),
  );

  test('are not decided by a refusal until it is repeated', () => {
    expect(judged([inRange, refused]).decided).not.toContain('platform.list.clamp.high.watched');
    expect(judged(twice(inRange, refused)).decided).toContain('platform.list.clamp.high.watched');
  });
});

test.each([
  ['expand[0]=total_count', []],
  ['expand[]=total_count', []],
  ['offset=0', ['platform.list.total-count.everywhere']],
])('a count that is asked for by %s', (query, found) =>
  expect(foundIn([at(`?limit=5&${query}`, { ...list(5), total_count: 1 })], listChecks)).toEqual(found),
);

const asksFor = (header: string, status = 400): Answer =>
  at('', { error: `${header} is missing` }, { status, headers: { 'service-version': 'none' } });

describe('versions', () => {
  const served = (version: string, rest: Partial<Answer> = {}): Answer =>
    at('?limit=5&offset=0', list(5), { headers: { 'service-version': version }, ...rest });
  test.each<[string, Answer, string[]]>([
    ['none', served('none'), []],
    ['an empty one', served(''), []],
    ['two of them', served(`${VERSION}, ${VERSION}`), []],
    ['one of a future date', served('2027-01-01.yosemite'), []],
    ['in capitals', served('2026-08-17.EVERGLADES'), []],
    ['that of an agent', served('v0.4', { target: '/beta/agent/sync' }), []],
    ['that of an agent, with its own credential', at('', {}, { headers: { 'x-api-key': 'none' } }), []],
    ['one that has ended, which is refused', served('2025-10-21.zion', { status: 404 }), []],
    ['one that has ended, where the platform is down', served('2025-10-21.zion', { status: 502 }), []],
    ['one that has ended, in a creation', served('2025-10-21.zion', { method: 'POST', status: 201 }), ['end-of-life']],
  ])('%s', (_, answer, found) =>
    expect(foundIn([answer])).toEqual(found.map((name) => `platform.version.${name}.watched`)),
  );

  const MIRU = { headers: { 'service-version': 'none', 'miru-version': '2025-10-21.zion' } };
  const ended = at('?limit=5&offset=0', list(5), MIRU);
  const old = served('2025-10-21.zion');
  const answering = (answered: Record<string, string>): Answer[] => [{ ...ended, answered }, ended];
  const both = { headers: { 'service-version': '2025-10-21.zion', 'miru-version': VERSION } };
  test.each<[string, Answer[], string[]]>([
    ['that nothing shows to be known to the platform', [ended, ended], []],
    ['which the platform asks for', [asksFor('Miru-Version'), ended], ['end-of-life']],
    ['which the platform does not ask for', [asksFor('Service-Version'), ended], []],
    ['of which the platform asks for a longer one', [asksFor('X-Miru-Version'), ended], []],
    ['which an answer names that serves', [asksFor('Miru-Version', 200), ended], []],
    ['which a list that is missing names', [asksFor('Miru-Version', 404), ended], []],
    ['which answers carry', answering({ 'miru-version': VERSION }), ['end-of-life']],
    ['which answers carry with a build', answering({ 'miru-version': '1.4.2' }), []],
    ['by which answers vary', answering({ vary: 'Accept, Miru-Version' }), ['end-of-life']],
    ['with that of the other dialect', [asksFor('Service-Version'), at('?limit=5&offset=0', list(5), both)], []],
    ['beside clients of the other dialect', [asksFor('Miru-Version'), at('/dvc_1', {}), ended], ['end-of-life']],
    ['of the specification, by itself', [old], ['end-of-life']],
    ['of the specification, where clients send the other', [ended, old], []],
    ['of the specification, where the other is known', [asksFor('Miru-Version'), old], []],
    ['of the specification, where it is known too', [ended, asksFor('Service-Version'), old], ['end-of-life']],
  ])('a header %s', (_, answers, found) =>
    expect(foundIn(answers)).toEqual(found.map((name) => `platform.version.${name}.watched`)),
  );

  const deployment = { object: 'deployment', id: 'dpl_1', status: 'removing', activity_status: 'removing' };

  test('an ignored version header leaves the version of its clients unknown', () => {
    const headers = { 'service-version': 'none', 'miru-version': '2026-03-09.tetons' };
    expect(foundIn([{ target: '/beta/deployments/dpl_1', json: deployment, headers }])).toEqual([]);
  });

  test.each([
    [400, true],
    [401, false],
    [403, false],
    [404, false],
    [429, false],
  ])('a refusal with %d decides: %s', (status, decides) => {
    const { decided } = judged([served('2025-10-21.zion', { status })]);
    expect(decided).toEqual(decides ? ['platform.version.end-of-life.watched'] : []);
  });

  test('a new status is wrong for clients of older versions', () => {
    const page = { object: 'list', limit: 10, offset: 0, has_more: false, data: [deployment] };
    const to = (version: string): string[] =>
      foundIn([{ target: '/beta/deployments', json: page, headers: { 'service-version': version } }]);
    expect(to('2026-03-09.tetons')).toEqual(['platform.deployment.removing.watched']);
    for (const version of ['2026-05-06.rainier', VERSION, '2027-01-01.x', 'none']) expect(to(version)).toEqual([]);
  });
});

test.each<[string, object, Partial<Answer>, string[]]>([
  ['with another status', { code: 'success', round_trip_nanos: 1 }, { status: 202 }, ['platform.ping.success.watched']],
  ['with another outcome', { code: 'timeout' }, {}, []],
  ['that is refused', { error: { code: 'not_found' } }, { status: 404 }, []],
])('a ping %s', (_, json, rest, found) =>
  expect(foundIn([{ target: '/beta/devices/dvc_1/ping', method: 'POST', json, ...rest }])).toEqual(found),
);
