import { expect, test } from 'vitest';
import { painter } from '../common/terminal.ts';
import { deciding, SENTENCES } from '../contract/sentences.ts';
import { checks, requirement, suite } from '../runner/define.ts';
import type { Suite } from '../runner/types.ts';
import { catalogue, loadSuites, loadWatched, watchOf } from './catalogue.ts';
import { coverageText, explainText, listText } from './commands/explain.ts';

const check = checks<object>();
const plain = painter({ write: () => {} }, {});
const since = '2026-11-21';
const item = { id: 'device.list.walk', clause: 'each item once', text: 'Walking gives every item once.' };
const walk = requirement({ ...item, level: 'MUST', section: '6.2', since });
const word = { id: 'device.list.quiet', text: 'Nothing is said twice.' };
const quiet = requirement({ ...word, level: 'SHOULD', section: '5', since });
const nothing = async (): Promise<void> => {};
const driven = { aspect: 'driven', needs: ['drive', 'restart', 'root'], sharing: 'exclusive', slow: true } as const;
const listed = [
  check(walk, { profile: 'core' }, nothing),
  check(walk, { ...driven, premises: ['device.list.walk'] }, nothing),
  check(quiet, { needs: ['log'] }, nothing),
];
const all = catalogue([suite('device', [listed]) as unknown as Suite<never>]);

test('requirements stand in the order of the specification, each with its checks', () => {
  expect(all.requirements.map(({ id, checks: its }) => [id, its.map(({ id: each }) => each)])).toEqual([
    ['device.list.quiet', ['device.list.quiet']],
    ['device.list.walk', ['device.list.walk', 'device.list.walk.driven']],
  ]);
});

test('an older requirement set contains only requirements due at its date', () => {
  const older = { ...quiet, id: 'device.list.older', since: '2026-01-01' };
  const made = suite('device', [[check(walk, {}, nothing), check(older, {}, nothing)]], ['2026-01-01', '2026-11-21']);
  const dated = [made] as unknown as Suite<never>[];
  const ids = (date?: string): string[] => catalogue(dated, date).requirements.map(({ id }) => id);
  expect(ids('2026-01-01')).toEqual(['device.list.older']);
  expect(catalogue(dated, '2026-01-01').requirements_version).toBe('2026-01-01');
  expect(ids()).toEqual(['device.list.older', 'device.list.walk']);
});

test('the explanation of a check shows its requirement, method, needs and profiles', () => {
  const text = explainText(all, 'device.list.walk.driven', plain, 100);
  expect(text).toContain('device.list.walk  MUST · device · section 6.2 Rules of the event stream');
  expect(text).toContain('Walking gives every item once.');
  const words = text.replaceAll(/\s+/g, ' ');
  expect(words).toContain(
    'device.list.walk.driven: makes deployments and events through control and stops and starts the agent, and ' +
      'asks, one at a time; needs root; waits for seconds (--fast leaves it out); part of the profiles full; must ' +
      'have seen at least 1 request. What it finds may follow from device.list.walk',
  );
  expect(words).toContain(
    'device.list.walk: only asks, beside other checks; part of the profiles core, observed, driven and full; must have',
  );
  expect(text).toContain('clause    “each item once”\n');
  expect(text).toContain('drive: control can create deployments and publish events');
  expect(text).toContain('muster check device … --only device.list.walk');
});

test('the explanation of a capability names the option that adds it and its checks', () => {
  const text = explainText(all, 'drive', plain, 100);
  expect(text).toContain('control can create deployments and publish events');
  expect(text).toMatch(/add {7}--control ADDRESS\n {2}checks {4}1 that needs it: device.list.walk.driven\n/);
});

test.each([
  ['device.list.wlak', /did you mean device.list.walk\?/],
  ['quiet', /there are device.list.quiet/],
  ['zzz', /muster list/],
])('the explanation of the unknown id %s is refused with a hint', (id, words) => {
  expect(() => explainText(all, id, plain, 100)).toThrow(words);
});

test('each specification sentence is decided or marked open, and each clause quotes a sentence', async () => {
  const { requirements } = catalogue(await loadSuites());
  const cited = new Set<string>();
  for (const sentence of SENTENCES) {
    const by = deciding(sentence, requirements).map(({ id }) => id);
    expect(by.length > 0, sentence.text).toBe(sentence.open === undefined);
    expect(by, sentence.text).toEqual(expect.arrayContaining([...(sentence.by ?? [])]));
    for (const id of by) cited.add(id);
  }
  const uncited = requirements.filter(({ id, clause }) => clause !== undefined && !cited.has(id));
  expect(uncited.filter(({ clause }) => clause?.endsWith('not shown.') === false)).toEqual([]);
});

test('coverage shows requirements and defect count of each sentence, and names undecided ones', async () => {
  const whole = catalogue(await loadSuites());
  const broken = [['platform.list.items'], ['platform.timestamps', 'platform.list.items']];
  const text = coverageText(whole, broken, plain, 100);
  expect(text).toContain(
    '2 Resources and their fields\n  All JSON timestamps are ISO 8601 date-time strings.\n' +
      '      MUST   platform.timestamps: 1 check, 1 rule\n      1 defect planted\n',
  );
  expect(text).toContain('MUST   platform.list.items: 1 check, 1 rule\n      2 defects planted\n');
  expect(text).toContain('      no defect planted\n');
  expect(text).toContain('announced for the future.\n      not decided: ');
  expect(text).toMatch(/\n119 of 120 sentences are decided, \d+ by a MUST · requirements of \S+\n$/);
});

test('list and explain cover every requirement, check and watch rule of the project', async () => {
  const rules = await loadWatched();
  const whole = catalogue(await loadSuites(), undefined, rules);
  expect(whole.requirements.length).toBeGreaterThan(60);
  for (const { id, title, checks: its, watched = [] } of whole.requirements) {
    expect(title, id).not.toBe('');
    for (const each of [...its, ...watched]) expect(explainText(whole, each.id, plain, 80)).toContain(id);
  }
  const text = listText(whole, plain, 100);
  for (const rule of rules) {
    expect(text).toContain(`${rule.id} by ${watchOf(rule)}\n`);
    expect(explainText(whole, rule.id, plain, 100)).toContain(`${watchOf(rule)} … --only ${rule.id}\n`);
  }
  expect(text).toContain('client.loopback.socket.watched by muster watch device --socket\n');
  expect(text).toContain('client.loopback.token.watched by muster watch device --discovery\n');
});
