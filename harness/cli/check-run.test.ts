import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { UsageError } from '../common/usage.ts';
import { generateKey } from '../reports/certificate/envelope.ts';
import { sampleFailure, sampleReport, sampleResult } from '../reports/testing/samples.ts';
import { writeBaseline } from '../runner/baseline.ts';
import { suite } from '../runner/define.ts';
import { summaryOf } from '../runner/results.ts';
import { declared } from '../runner/testing/checks.ts';
import type { CheckResult, Report, Suite } from '../runner/types.ts';
import { type EvidenceArguments, prepareEvidence } from './check-run.ts';
import { useFolder } from './testing/muster.ts';

const at = useFolder();
const key = at('key.pem');
generateKey(key);
const made = suite('device', [[declared('device.a')]]) as unknown as Suite<never>;
const none = { 'update-baseline': false, fast: false, 'last-failed': false };
const prepare = (args: Partial<EvidenceArguments>, narrowedBy: string[] = [], today = '2026-11-21') =>
  prepareEvidence({ ...none, ...args }, made, new Map(), narrowedBy, today);
const report = (checksOf: CheckResult[], change: Partial<Report> = {}) =>
  sampleReport(checksOf, { complete: true, ...change });
const failing = [sampleFailure({ id: 'device.a' })];

test.each<[Partial<EvidenceArguments>, RegExp, string[]?]>([
  [{ 'update-baseline': true }, /--update-baseline needs --baseline FILE/],
  [{ baseline: '/nonexistent' }, /no such file; --update-baseline writes it/],
  [{ certificate: 'c', fast: true }, /needs a whole profile: leave out --fast and --only x$/, ['--fast', '--only x']],
  [{ certificate: 'c' }, /needs a whole profile: leave out --profile core$/, ['--profile core']],
  [{ certificate: 'c', 'last-failed': true }, /needs a whole profile: leave out --last-failed/],
  [{ certificate: 'c' }, /--certificate needs --key/],
  [{ key: 'k' }, /--key is for a --certificate FILE/],
  [{ badge: '/proc/none/badge.svg' }, /--badge .*cannot write \/proc\/none\/badge.svg/],
])('%j is refused before the run', (args, words, narrowedBy) => {
  expect(() => prepare(args, narrowedBy)).toThrow(words);
  expect(() => prepare(args, narrowedBy)).toThrow(UsageError);
});

test.each<Partial<EvidenceArguments>>([
  { badge: at('r.json') },
  { key, certificate: at('r.json') },
  { key: at('r.json'), certificate: at('c.json') },
  { key, certificate: at('c.json'), badge: key },
  { key, certificate: at('one'), badge: at('one') },
  { badge: at('b.yaml'), baseline: at('b.yaml'), 'update-baseline': true },
])('%j is refused, because two options name one file', (args) => {
  const places = new Map([[at('r.json'), '--report json=r.json']]);
  expect(() => prepareEvidence({ ...none, ...args }, made, places)).toThrow(
    /: \S+ is taken by --(?:report|key|certificate|baseline) /,
  );
});

test('a baseline update excuses a failure, and says so', () => {
  const baseline = at('known.yaml');
  const said: string[] = [];
  const updating = prepare({ baseline, 'update-baseline': true });
  const settled = updating.settle(failing);
  expect(settled[0]?.outcome).toBe('known');
  expect(existsSync(baseline)).toBe(false);
  expect(updating.finish(report(settled), (text) => said.push(text))).toBe(0);
  expect(said).toEqual([
    `baseline: ${baseline} adds (+), keeps (=), removes (-):\n` +
      '  + device.a: expected a first event with an id above #a; actual: the first event has id #a',
    `baseline: ${baseline} excuses 1 finding; 1 of them waits for a reason and an owner`,
  ]);
  expect(prepare({ baseline }).settle(failing)[0]?.outcome).toBe('known');
});

test('a baseline entry excuses any finding, with a warning, until an update records one', () => {
  const baseline = at('old.yaml');
  writeBaseline(baseline, { known: [{ check: 'device.a', reason: 'r', expires: '2026-12-31' }] });
  const said: string[] = [];
  prepare({ baseline }).opened(sampleReport().target, (text) => said.push(text));
  expect(said).toEqual([
    `baseline: ${baseline} does not say which finding it excuses of device.a, so any is excused: run this again ` +
      'with --update-baseline, which writes the finding',
  ]);
  const worse = sampleFailure({ id: 'device.a', actual: 'no event came' });
  expect(prepare({ baseline }).excuses(worse)).toBe(true);
  const updating = prepare({ baseline, 'update-baseline': true });
  updating.finish(report(updating.settle(failing)), () => {});
  const { opened, excuses } = prepare({ baseline });
  opened(sampleReport().target, (text) => said.push(text));
  expect(said).toHaveLength(1);
  expect([...failing, worse].map(excuses)).toEqual([true, false]);
});

test('a run writes certificate and badge, but refuses a target without name and version', () => {
  const [certificate, badge] = [at('c.json'), at('badge.svg')];
  const evidence = prepare({ certificate, key, badge });
  const said: string[] = [];
  const opened = (target: Report['target']): void => evidence.opened(target, (text) => said.push(text));
  expect(() => opened({ kind: 'unix', address: 'x', capabilities: [], control: 'none' })).toThrow(
    /--name and --target-version/,
  );
  opened(sampleReport().target);
  expect(evidence.finish(report([sampleResult({ id: 'device.a' })]), (text) => said.push(text))).toBe(0);
  expect(said[0]).toMatch(/certificate: .*c\.json says CONFORMANT: full, 2026-11-21, signed by key [0-9a-f]{64}/);
  expect(readFileSync(badge, 'utf8')).toContain('conformant: full, 2026-11-21');
});

test('a full disk costs neither the other files nor exit code 1', () => {
  const [certificate, badge] = [at('kept.json'), at('kept.svg')];
  const said: string[] = [];
  const finish = (results: CheckResult[], files: Partial<EvidenceArguments>) =>
    prepare({ key, ...files }).finish(report(results), (text) => said.push(text));
  expect(finish([sampleResult({ id: 'device.a' })], { certificate: '/dev/full', badge })).toBe(3);
  expect(finish(failing, { certificate, badge: '/dev/full' })).toBe(1);
  expect([certificate, badge].map(existsSync)).toEqual([true, true]);
  expect(said).toContain('muster: --certificate: /dev/full was not written: the disk is full (ENOSPC)');
  expect(said).toContain('muster: --badge: /dev/full was not written: the disk is full (ENOSPC)');
});

test('an incomplete or blocked run gets no certificate and exits with 2', () => {
  const certificate = at('none.json');
  const said: string[] = [];
  const stuck = [sampleResult({ id: 'device.a' }), sampleResult({ id: 'device.b', outcome: 'blocked', reason: 'x' })];
  const finish = (results: CheckResult[], change: Partial<Report>) =>
    prepare({ certificate, key }).finish(report(results, change), (text) => said.push(text));
  expect(finish([sampleResult({ id: 'device.a' })], { complete: false })).toBe(2);
  expect(finish(stuck, { summary: summaryOf(stuck) })).toBe(2);
  expect(said).toEqual([
    'no certificate: the run did not end',
    'no certificate: 1 check was blocked: nothing is known about it; --profile driven is decided',
  ]);
  expect(existsSync(certificate)).toBe(false);
});
