import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { sampleFailure, sampleResult } from '../reports/testing/samples.ts';
import { applyBaseline, type BaselineEntry, readBaseline, updatedBaseline, writeBaseline } from './baseline.ts';
import { exitCode } from './results.ts';
import { type CheckResult, OUTCOMES } from './types.ts';

const TODAY = '2026-11-21';
const ids = ['device.a', 'device.b', 'device.c'];
const suite = { api: 'device', ids } as const;
const entry = (check: string, expires = '2026-12-31'): BaselineEntry => ({ check, reason: 'until 1.4', expires });
const code = (results: readonly CheckResult[]) => exitCode(results);

test('a failure that is excused is known, and no failure of the run', () => {
  const results = applyBaseline([sampleFailure({ id: 'device.a' })], { known: [entry('device.a')] }, TODAY, suite);
  expect(results).toMatchObject([{ outcome: 'known', reason: 'until 1.4 (excused until 2026-12-31)' }]);
  expect(code(results)).toBe(0);
});

test('it is excused on its last day, and no longer on the next', () => {
  const failing = [sampleFailure({ id: 'device.a' })];
  const at = (today: string) => applyBaseline(failing, { known: [entry('device.a', TODAY)] }, today, suite);
  expect(at(TODAY)[0]?.outcome).toBe('known');
  expect(at('2026-11-22')[0]).toMatchObject({ outcome: 'fail', reason: 'its excuse ended on 2026-11-21 (until 1.4)' });
  expect(code(at('2026-11-22'))).toBe(1);
});

test('an entry whose check passes is an error', () => {
  const results = applyBaseline([sampleResult({ id: 'device.a' })], { known: [entry('device.a')] }, TODAY, suite);
  expect(results[0]?.outcome).toBe('fixed');
  expect(code(results)).toBe(2);
});

test('an entry that names no check is an error, one of another API is not', () => {
  const known = [entry('device.typo'), entry('platform.list.walk')];
  const results = applyBaseline([sampleResult({ id: 'device.a' })], { known }, TODAY, suite);
  expect(results.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['device.a', 'pass'],
    ['baseline:device.typo', 'fixed'],
  ]);
  expect(code(results)).toBe(2);
});

test('an expired entry of a warning is an error too', () => {
  const warned = [sampleFailure({ id: 'device.a', outcome: 'warn', level: 'SHOULD' })];
  const results = applyBaseline(warned, { known: [entry('device.a', '2026-01-01')] }, TODAY, suite);
  expect(results.map(({ outcome }) => outcome)).toEqual(['warn', 'fixed']);
  expect(code(results)).toBe(2);
});

test('an entry about which nothing was decided changes nothing', () => {
  const results = [
    sampleResult({ id: 'device.a', outcome: 'blocked' }),
    sampleResult({ id: 'device.b', outcome: 'not_applicable' }),
  ];
  const known = ids.map((id) => entry(id));
  expect(applyBaseline(results, { known }, TODAY, suite)).toEqual(results);
});

test('after an update the baseline has no errors, and no undecided entry is lost', () => {
  const outcome = fc.constantFrom(...OUTCOMES.filter((name) => name !== 'known' && name !== 'fixed'));
  const day = fc.constantFrom('2026-01-01', TODAY, '2027-01-01');
  fc.assert(
    fc.property(
      fc.record({ 'device.a': outcome, 'device.b': outcome, 'device.c': outcome }),
      fc.uniqueArray(fc.tuple(fc.constantFrom(...ids, 'device.gone', 'platform.x'), day), { selector: ([id]) => id }),
      (outcomes, entries) => {
        const results = Object.entries(outcomes).map(([id, is]) => sampleResult({ id, outcome: is }));
        const before = { known: entries.map(([id, expires]) => entry(id, expires)) };
        const after = updatedBaseline(results, before, TODAY, suite);
        const settled = applyBaseline(results, after, TODAY, suite);
        expect(settled.filter((result) => result.outcome === 'fail' || result.outcome === 'fixed')).toEqual([]);
        for (const { check } of before.known) {
          const decided = results.some(
            ({ id, outcome: is }) => id === check && is !== 'blocked' && is !== 'not_applicable',
          );
          const kept = after.known.some((other) => other.check === check);
          if (check.startsWith('platform.') || (ids.includes(check) && !decided)) expect(kept).toBe(true);
        }
      },
    ),
  );
});

const folder = mkdtempSync(join(tmpdir(), 'muster-baseline-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each(['baseline.yaml', 'baseline.json'])('%s is read as it was written', (name) => {
  const path = join(folder, name);
  const baseline = {
    known: [entry('device.a'), { check: 'device.b', reason: 'a: "b" # c\nd', expires: '2027-02-28' }],
  };
  writeBaseline(path, baseline);
  expect(readBaseline(path)).toEqual(baseline);
});

test('a file written by hand may leave its days unquoted', () => {
  const path = join(folder, 'hand.yaml');
  writeFileSync(path, 'known:\n  - check: device.a\n    reason: later\n    expires: 2027-01-31\n');
  expect(readBaseline(path).known).toEqual([{ check: 'device.a', reason: 'later', expires: '2027-01-31' }]);
});

test.each([
  ['known: [', /baseline-bad\.yaml:\d/],
  ['known:\n  - check: device.a\n', /\/known\/0 lacks .*"reason"/],
  ['known:\n  - {check: a, reason: b, expires: soon}\n', /\/known\/0\/expires/],
  ['known:\n  - &e {check: a, reason: b, expires: 2027-01-01}\n  - *e\n', /a is listed twice/],
])('%j is refused, with the place', (text, words) => {
  const path = join(folder, 'baseline-bad.yaml');
  writeFileSync(path, text);
  expect(() => readBaseline(path)).toThrow(words);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('a missing file is an error unless it is about to be written', () => {
  const path = join(folder, 'none.yaml');
  expect(() => readBaseline(path)).toThrow(/no such file; --update-baseline writes it/);
  expect(readBaseline(path, { mayBeMissing: true })).toEqual({ known: [] });
});

test('the example that is shown is a baseline', () => {
  const { known } = readBaseline(join(import.meta.dirname, '../../fixtures/baselines/example.yaml'));
  expect(known.map(({ expires }) => expires)).toEqual(['2027-01-31', '2027-06-30']);
});
