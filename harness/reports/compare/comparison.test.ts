import { expect, it } from 'vitest';
import { UsageError } from '../../common/usage.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import { sampleReport, sampleResult } from '../testing/samples.ts';
import { type Comparison, compare, entryOf, type Gate, verdictOf } from './comparison.ts';
import { comparePage, compareText } from './comparison-formats.ts';

const plain = (_: unknown, text: string): string => text;
const run = (label: string, ...checks: Partial<CheckResult>[]): ReturnType<typeof entryOf> =>
  entryOf(sampleReport(checks.map(sampleResult)), label);
const future = (value: string): Partial<CheckResult> => ({
  id: 'device.events.cursor.future',
  level: 'INFO',
  observed: [{ name: 'a cursor beyond the newest event', value }],
});
const frame = (outcome: CheckResult['outcome']): Partial<CheckResult> => ({ id: 'device.events.frame', outcome });
const judged = (comparison: Comparison, gate: Gate): number => verdictOf(comparison.changes, gate).code;

it('says how many checks nobody decided, though they are alike', () => {
  const undecided = { 'device.a': 'not_applicable', 'device.b': 'blocked' } as const;
  const held = run('a', frame('pass'), ...Object.entries(undecided).map(([id, outcome]) => ({ id, outcome })));
  const comparison = compare([held, held]);
  const said = 'checks and 0 of 0 choices are the same; 2 checks were decided by none';
  expect(compareText(comparison, verdictOf(comparison.changes, 'regressions'), plain, 100)).toContain(`3 of 3 ${said}`);
  expect(comparePage(comparison, verdictOf(comparison.changes, 'regressions'), '1')).toContain(`3 of 3 ${said}`);
});

it('puts what differs first, checks and choices', () => {
  const alike = { id: 'device.deployment.shape' };
  const { requirements, choices } = compare([
    run('a', alike, frame('pass'), future('200')),
    run('b', alike, frame('fail'), future('400')),
  ]);
  expect(requirements.map(({ id, outcomes, differs }) => [id, outcomes, differs])).toEqual([
    ['device.events.frame', ['pass', 'fail'], true],
    ['device.deployment.shape', ['pass', 'pass'], false],
    ['device.events.cursor.future', ['pass', 'pass'], false],
  ]);
  const asked = { check: 'device.events.cursor.future', name: 'a cursor beyond the newest event' };
  expect(choices).toEqual([{ ...asked, values: ['200', '400'], differs: true }]);
});

it.each<[before: CheckResult['outcome'], now: CheckResult['outcome'], code: number]>([
  ['pass', 'fail', 1],
  ['pass', 'warn', 1],
  ['pass', 'known', 1],
  ['pass', 'flaky', 1],
  ['flaky', 'pass', 0],
  ['pass', 'blocked', 2],
  ['pass', 'pass', 0],
  ['fail', 'pass', 0],
  ['fail', 'fail', 0],
  ['not_applicable', 'fail', 0],
])('the gate for regressions: %s, then %s, is exit %i', (before, now, code) => {
  expect(judged(compare([run('a', frame(before)), run('b', frame(now))]), 'regressions')).toBe(code);
  expect(judged(compare([run('a', frame(before)), run('b', frame(now))]), 'none')).toBe(0);
});

it('the gate for behaviour refuses a choice that changed, and not one that is new', () => {
  const changed = compare([run('a', future('200')), run('b', future('400'))]);
  expect([judged(changed, 'regressions'), judged(changed, 'behaviour')]).toEqual([0, 1]);
  const added = compare([run('a', { ...future('200'), observed: [] }), run('b', future('400'))]);
  expect(judged(added, 'behaviour')).toBe(0);
});

it('a history is judged by its last two', () => {
  const mended = compare([run('a', frame('pass')), run('b', frame('fail')), run('c', frame('pass'))]);
  expect(judged(mended, 'regressions')).toBe(0);
  expect(mended.changes.mended.map(({ id }) => id)).toEqual(['device.events.frame']);
});

it('leaves out a long start that all labels share', () => {
  const line = './build/agent --socket /run/agent.sock';
  const { entries } = compare([run(line, frame('pass')), run(`${line} --defect replay-inclusive`, frame('pass'))]);
  expect(entries.map(({ label }) => label)).toEqual([line, '… --defect replay-inclusive']);
});

it('two of one name have numbers', () => {
  const { entries } = compare(['agent 1', 'agent 1', 'other'].map((label) => run(label, frame('pass'))));
  expect(entries.map(({ label }) => label)).toEqual(['agent 1 #1', 'agent 1 #2', 'other']);
});

it('refuses one report alone, and reports of two APIs', () => {
  expect(() => compare([run('a', frame('pass'))])).toThrow(UsageError);
  const other: Report = { ...sampleReport([sampleResult()], {}), api: 'platform' };
  expect(() => compare([run('a', frame('pass')), entryOf(other, 'p')])).toThrow(
    /of one API .* \(a: device, p: platform\)/,
  );
});

it('says in a terminal and on a page what differs, and nothing raw of a target', () => {
  const comparison = compare([
    run('old', frame('pass'), future('200')),
    run('new\u001b[2J', frame('fail'), future('<b>\u202e')),
  ]);
  const verdict = verdictOf(comparison.changes, 'regressions');
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
