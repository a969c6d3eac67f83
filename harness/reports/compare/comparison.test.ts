import { expect, it } from 'vitest';
import type { CheckResult, Report } from '../../runner/types.ts';
import { sampleReport, sampleResult } from '../testing/samples.ts';
import { type Comparison, compare, type Gate, verdictOf } from './comparison.ts';
import { comparePage, compareText } from './comparison-formats.ts';
import { type Entry, entryOf } from './entries.ts';

const plain = (_: unknown, text: string): string => text;
const run = (label: string, ...checks: Partial<CheckResult>[]): ReturnType<typeof entryOf> =>
  entryOf(sampleReport(checks.map(sampleResult)), label);
const future = (value: string): Partial<CheckResult> => ({
  id: 'device.events.cursor.future',
  level: 'INFO',
  observed: [{ name: 'a cursor beyond the newest event', value }],
});
const frame = (outcome: CheckResult['outcome']): Partial<CheckResult> => ({ id: 'device.events.frame', outcome });
const judged = (comparison: Comparison, gate: Gate): number => verdictOf(comparison, gate).code;
const shown = (comparison: Comparison): { text: string; page: string } => {
  const verdict = verdictOf(comparison, 'regressions');
  return { text: compareText(comparison, verdict, plain, 100), page: comparePage(comparison, verdict, '1') };
};

it('states NO REGRESSION only with the share of checks that both decided', () => {
  const undecided = { 'device.a': 'not_applicable', 'device.b': 'blocked' } as const;
  const held = run('a', frame('pass'), ...Object.entries(undecided).map(([id, outcome]) => ({ id, outcome })));
  const { text, page } = shown(compare([held, held]));
  expect(text).toContain('NO REGRESSION  1 of 3 checks decided by both, 2 by neither\n');
  expect(page).toMatch(/<title>NO REGRESSION, 1 of 3 checks decided by both, 2 by neither:[\s\S]*<h1>.*1 of 3 checks/);
  const coverage = { checks: 90, decided: 1, undecided: [] };
  const narrow = entryOf(sampleReport([sampleResult()], { coverage }), 'narrow');
  expect(shown(compare([narrow, narrow])).text).toContain('1 of 90 checks decided by both, 89 by neither');
});

it('takes a missing check as new only against an older requirement set', () => {
  const old = run('old', { id: 'device.a' });
  const now = run('now', { id: 'device.a' }, frame('fail'));
  const due = (since: string) => {
    const comparison = compare([old, now], new Map([['device.events.frame', { since }]]));
    return { ...verdictOf(comparison, 'regressions'), ...comparison };
  };
  // Sample reports use the requirements of 2026-11-21.
  expect(due('2026-11-21')).toMatchObject({ code: 2, changes: { undecidedBefore: [{ id: 'device.events.frame' }] } });
  const later = due('2026-11-22');
  expect(later).toMatchObject({ code: 0, share: '1 of 2 checks decided by both, 1 in one requirement set alone' });
  expect(later.changes.inOneSet.map(({ id }) => id)).toEqual(['device.events.frame']);
  expect(judged(compare([old, now]), 'regressions')).toBe(2);
});

it('says why a check is undecided', () => {
  const reason = 'needs drive, which the target does not declare';
  const before = run('a', frame('pass'), { id: 'device.a' });
  const { text, page } = shown(compare([before, run('b', { ...frame('not_applicable'), reason })]));
  for (const said of [text, page]) {
    expect(said).toMatch(/not decided any more \(needs drive, which the target does not declare\)/i);
    expect(said).toMatch(/not decided any more \(not in its report\)/i);
    expect(said).toContain('2 checks were decided by one side alone');
  }
});

it('lists differing checks and choices first, and consequences after their cause', () => {
  const alike = { id: 'device.deployment.shape' };
  const body = { id: 'device.events.body' };
  const { requirements, choices } = compare([
    run('a', alike, body, frame('pass'), future('200')),
    run('b', alike, { ...body, outcome: 'fail', consequence_of: 'device.events.frame' }, frame('fail'), future('400')),
  ]);
  expect(requirements.map(({ id, outcomes, differs }) => [id, outcomes, differs])).toEqual([
    ['device.events.frame', ['pass', 'fail'], true],
    ['device.events.body', ['pass', 'fail'], true],
    ['device.deployment.shape', ['pass', 'pass'], false],
    ['device.events.cursor.future', ['pass', 'pass'], false],
  ]);
  const asked = { check: 'device.events.cursor.future', name: 'a cursor beyond the newest event' };
  expect(choices).toEqual([{ ...asked, values: ['200', '400'], differs: true }]);
});

it.each<[before: CheckResult['outcome'], now: CheckResult['outcome'], code: number, said?: string]>([
  ['pass', 'fail', 1],
  ['pass', 'warn', 1],
  ['pass', 'known', 1],
  ['pass', 'flaky', 1],
  ['flaky', 'pass', 0],
  ['pass', 'blocked', 2],
  ['pass', 'not_applicable', 2],
  ['fail', 'blocked', 2],
  ['blocked', 'pass', 2],
  ['blocked', 'blocked', 2, 'UNDECIDED'],
  ['flaky', 'flaky', 0, 'NO REGRESSION  1 of 1 check decided by both (1 flaky)'],
  ['pass', 'pass', 0],
  ['fail', 'pass', 0],
  ['fail', 'fail', 0],
  ['warn', 'fail', 1, 'REGRESSED  1 of 1 check decided by both\n'],
  ['warn', 'warn', 0],
  ['fail', 'warn', 0],
  ['not_applicable', 'fail', 2],
])('the gate for regressions: %s, then %s, is exit %i', (before, now, code, said = '') => {
  const comparison = compare([run('a', frame(before)), run('b', frame(now))]);
  expect([judged(comparison, 'regressions'), judged(comparison, 'none')]).toEqual([code, 0]);
  expect(shown(comparison).text).toContain(said);
});

it.each([
  ['warn', 1, 0],
  ['warn', 2, 1],
  ['fail', 1, 1],
] as const)('a requirement that held, then %s at %i of 2 tries, is exit %i', (outcome, failed, code) => {
  const rate = { times: 2, failed, alone: { times: 1, failed: 0 } };
  expect(judged(compare([run('a', frame('pass')), run('b', { ...frame(outcome), rate })]), 'regressions')).toBe(code);
});

it('a regression is red even when other checks are undecided', () => {
  const before = run('a', frame('pass'), { id: 'device.a' });
  expect(judged(compare([before, run('b', frame('fail'))]), 'regressions')).toBe(1);
});

it('the gate for behaviour refuses a changed choice, and accepts a new one', () => {
  const changed = compare([run('a', future('200')), run('b', future('400'))]);
  expect([judged(changed, 'regressions'), judged(changed, 'behaviour')]).toEqual([0, 1]);
  const added = compare([run('a', { ...future('200'), observed: [] }), run('b', future('400'))]);
  expect(judged(added, 'behaviour')).toBe(0);
});

it('shows each step of a history, and judges the last two reports', () => {
  const comparison = compare([run('1.1', frame('pass')), run('1.2', frame('fail')), run('1.3', frame('pass'))]);
  expect(judged(comparison, 'regressions')).toBe(0);
  expect(comparison.changes.mended.map(({ id }) => id)).toEqual(['device.events.frame']);
  const steps = comparison.steps.map(({ regressions, mended }) => `-${regressions.length} +${mended.length}`);
  expect(steps).toEqual(['-1 +0', '-0 +1']);
  const { text, page } = shown(comparison);
  expect(text).toMatch(/From 1\.1 to 1\.2[\s\S]*no longer: device\.events[\s\S]*From 1\.2 to 1\.3[\s\S]*hold now/);
  expect(page).toMatch(/From 1\.1 to 1\.2[\s\S]*Hold no longer[\s\S]*From 1\.2 to 1\.3[\s\S]*Hold now/);
});

it('shows the expected and actual values of each finding, and equal ones once', () => {
  const late = { outcome: 'fail', expected: 'an id above 7', actual: '500 <b>', consequence_of: 'device.a' } as const;
  const comparison = compare([
    run('1.1', frame('pass')),
    run('1.2', { ...frame('fail'), ...late }),
    run('1.3', { ...frame('fail'), ...late, expected: 'an id above 9' }),
  ]);
  const { text, page } = shown(comparison);
  expect(text).toMatch(/2, 3 +expected +an id above 7\n +actual +500 <b>\n/);
  expect(text).not.toContain('above 9');
  expect(text).toContain('may follow from device.a');
  expect(page).toMatch(/an id above 7[\s\S]*500 &lt;b&gt;[\s\S]*an id above 9[\s\S]*device\.a/);
});

it('names columns by release, or by the differing parts of their files', () => {
  const release = (version: string | undefined, file: string) => {
    const { version: _, ...target } = sampleReport().target;
    return entryOf(sampleReport([sampleResult()], { target: { ...target, ...(version && { version }) } }), file);
  };
  const labels = (...entries: Entry[]): string[] => compare(entries).entries.map(({ label }) => label);
  expect(labels(release('1.2', 'a'), release('1.3', 'b'))).toEqual(['example-agent 1.2', 'example-agent 1.3']);
  const [first, second] = ['/builds/agent/1.2/run.json', '/builds/agent/1.3/run.json'];
  expect(labels(release(undefined, first), release(undefined, second))).toEqual(['1.2/run.json', '1.3/run.json']);
  expect(labels(release('1.2', first), release('1.2', second))).toEqual(['1.2/run.json', '1.3/run.json']);
  const { text, page } = shown(compare([run('old.json', frame('pass')), run('new.json', frame('fail'))]));
  expect(text).toMatch(/1: old\.json +2: new\.json/);
  expect(page).toMatch(/<th scope="col">2 .*new\.json/);
});

it('shortens long labels with a common start, and numbers equal labels', () => {
  const labels = (...given: string[]) =>
    compare(given.map((label) => run(label, frame('pass')))).entries.map(({ label }) => label);
  const line = './build/agent --socket /run/agent.sock';
  expect(labels(line, `${line} --defect replay-inclusive`)).toEqual([line, '… --defect replay-inclusive']);
  expect(labels('agent 1', 'agent 1', 'other')).toEqual(['agent 1 #1', 'agent 1 #2', 'other']);
});

it('refuses reports of two APIs', () => {
  const other: Report = { ...sampleReport([sampleResult()], {}), api: 'platform' };
  expect(() => compare([run('a', frame('pass')), entryOf(other, 'p')])).toThrow(/one API .*\(a: device, p: platform\)/);
});

it('shows differences in a terminal and on a page, with target text escaped', () => {
  const next = run('new\u001b[2J', frame('fail'), future('<b>\u202e'));
  const comparison = compare([run('old', frame('pass'), future('200')), next]);
  const verdict = verdictOf(comparison, 'regressions');
  const text = compareText(comparison, verdict, plain, 60);
  expect(text).toContain('REGRESSED');
  expect(text).toMatch(/✗ hold no longer: device\.events\.frame/);
  expect(text).toMatch(/a cursor beyond the newest event[\s\S]*1 {2}200[\s\S]*2 {2}<b>/);
  expect(text.split('\n').every((line) => [...line].length <= 72)).toBe(true);
  const page = comparePage(comparison, verdict, '1');
  expect(page).toContain('Exit 1: 1 requirement holds no longer.');
  expect(page).not.toContain('<b>&');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  for (const shown of [text, page]) expect(shown).not.toMatch(/[\u001b\u202e]/);
  expect(page).toContain('&lt;b&gt;');
});
