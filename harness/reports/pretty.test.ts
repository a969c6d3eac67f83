import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { painter, wantsColour } from '../common/terminal.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import { Progress, prettyReporter, prettyText } from './pretty.ts';
import {
  sampleChecks,
  sampleExchange,
  sampleFailure,
  sampleReport,
  sampleReportWithAllowance,
  sampleResult,
} from './testing/samples.ts';

const plain = { paint: painter({ write: () => {} }, {}), columns: 100 };

test('a failure lists requirement, expected, actual, counterexample, curl, exchange, command', () => {
  const text = prettyText(sampleReport(), plain);
  const from = text.indexOf('✗ device.events.replay.exclusive  MUST · section 6.2 Rules of the event stream');
  expect(from).toBeGreaterThan(0);
  const order = [
    'Replay after a cursor starts with the first retained event after it',
    'expected   a first event with an id above 7',
    'actual     the first event has id 7',
    'smallest   publish 3 events, then replay after the last',
    `try        ${sampleExchange().curl}`,
    'exchange   GET /v0.2/events?after=7 → 200 text/event-stream (12 ms)',
    '< id: 7',
    'again      muster check device --socket /run/agent.sock --only device.events.replay.exclusive --seed 4711',
    'NOT CONFORMANT  1 failed · 1 blocked · 1 stale in the baseline · 1 warned · 1 flaky · 1 known · 4 passed',
    'exit 1: a MUST does not hold',
  ];
  let at = from;
  for (const part of order) {
    const next = text.indexOf(part, at);
    expect(next, part).toBeGreaterThanOrEqual(at);
    at = next;
  }
});

test('the first of many failures are shown in full, the others with their command', () => {
  const failing = Array.from({ length: 8 }, (_, index) => sampleFailure({ id: `device.f${index}` }));
  const text = prettyText(sampleReport(failing), plain);
  expect(text.match(/^ {4}smallest /gm)).toHaveLength(5);
  expect(text.match(/^ {4}expected /gm)).toHaveLength(8);
  expect(text.match(/^ {4}actual /gm)).toHaveLength(8);
  expect(text.match(/^ {4}again .*--only device\.f\d/gm)).toHaveLength(8);
  expect(prettyText(sampleReport(failing), { ...plain, verbose: true }).match(/^ {4}smallest /gm)).toHaveLength(8);
});

test('a finding tells how to restart a target that the run ended', () => {
  const { target } = sampleReport();
  const checks = [sampleFailure({ replay_command: 'muster replay run.json --only device.x' })];
  const text = (change: Partial<Report>): string => prettyText(sampleReport(checks, change), plain);
  expect(text({ target: { ...target, ended: true } })).toMatch(
    /has ended: the line 'again' starts it again; add --keep/,
  );
  expect(text({ target })).not.toContain('has ended');
  expect(text({ target: { ...target, ended: true }, api: 'client' }).replaceAll(/\s+/g, ' ')).toContain(
    'play a situation to it for as long as it takes: muster simulate device --scenario NAME',
  );
});

test('a finding lists its consequences and the checks that it blocks', () => {
  const lead = sampleFailure({ id: 'device.lead' });
  const followers = Array.from({ length: 14 }, (_, index) =>
    sampleFailure({ id: `device.c${index}`, consequence_of: 'device.lead', actual: `nothing, as in ${index}` }),
  );
  const held = sampleResult({ id: 'device.held', outcome: 'blocked', reason: 'x', blocked_by: 'device.c1' });
  const text = prettyText(sampleReport([held, ...followers, lead]), plain);
  expect(text).toMatch(/Failed: a MUST does not hold 1\n/);
  expect(text).toMatch(/ {4}14 findings may follow from it\n {6}✗ device.c0 {2}nothing, as in 0\n/);
  expect(text).toContain('… and 2 more (--verbose lists them)');
  expect(text).toMatch(/ {4}1 check not run because of it\n {6}device.held\n/);
  expect(text).toMatch(/NOT CONFORMANT {2}1 finding, 14 may follow · 1 blocked/);
  expect(text).toContain('exit 1: 15 MUSTs do not hold, of which 14 may follow from others');
  expect(text.match(/device\.c1 /g)).toHaveLength(1);
  expect(prettyText(sampleReport([held, ...followers, lead]), { ...plain, verbose: true })).toMatch(/✗ device.c13 {2}/);
});

test('checks that are blocked for reasons which differ in an id alone stand together', () => {
  const blocked = ['dvc_0123456789ab', 'dvc_ba9876543210'].map((device, index) =>
    sampleResult({ id: `device.b${index}`, outcome: 'blocked', reason: `set-up: no answer for ${device}` }),
  );
  expect(prettyText(sampleReport(blocked), plain)).toMatch(/no answer for dvc_0123456789ab\n +device.b0 device.b1\n/);
});

test('not applicable and blocked checks are counted and grouped by reason', () => {
  const text = prettyText(sampleReport(), plain);
  expect(text).toContain(
    'Not applicable 2\n  needs loopback, which the target does not declare\n' +
      '    device.loopback.discovery device.loopback.bearer-required\n\n',
  );
  expect(text).toMatch(/Blocked 1\n {2}control: .*: disk full\n {4}device.events.expired.410\n/);
});

const excused = sampleFailure({ outcome: 'known', reason: 'x' });
const inapplicable = sampleResult({ outcome: 'not_applicable', reason: 'x' });
const narrowed = { complete: false, narrowed_by: ['--fast'] };
const blocked = sampleChecks().filter(({ outcome }) => outcome === 'blocked');

test.each<[string, CheckResult[], Partial<Report>, RegExp]>([
  ['conformant', [sampleResult()], {}, /^CONFORMANT: full, 2026-11-21 {2}1 passed.*exit 0: .* decided by 1 check,/ms],
  ['narrowed', [sampleResult()], narrowed, /^NO FAILURE FOUND.*left out: --fast/ms],
  ['blocked', blocked, {}, /^INCOMPLETE.*exit 2: 1 check blocked/ms],
  ['one in which nothing ran', [inapplicable], {}, /^INCOMPLETE.*exit 2: no check decided anything/ms],
  ['excused', [excused], {}, /^NO FAILURE FOUND.*but for 1 that the baseline/ms],
])('the last lines of a run that is %s claim only its findings', (_, checks, change, words) => {
  expect(prettyText(sampleReport(checks, change), plain)).toMatch(words);
});

test.each([
  [0, 'Watched  4 exchanges, 1 event'],
  [2, 'Watched  2 connections, 4 exchanges, 1 event'],
])('a watch counts connections if the traffic names them: %i', (connections, line) => {
  const watched = { connections, exchanges: 4, events: 1, gaps: [] };
  expect(prettyText(sampleReport([], { watched }), plain)).toContain(line);
});

test('a field of a foreign report cannot start a line or a workflow command', async () => {
  const nasty = `x\n::error title=x::pwned\n##[command]pwned\n  ::add-mask::x ##vso[task.complete]\n${'y '.repeat(50)}`;
  const poison = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (key, item: unknown) =>
      typeof item === 'string' && !['level', 'outcome', 'api', 'started_at', 'section'].includes(key)
        ? item + nasty
        : item,
    ) as T;
  for (const report of [sampleReport(), sampleReport([], { unreachable: 'no' }), sampleReportWithAllowance()]) {
    let said = '';
    await prettyReporter({ env: {}, verbose: true }, { write: (text) => (said += text) }).onEnd?.(poison(report));
    expect(said).toContain('pwned');
    expect(said.split('\n').filter((line) => /^\s*::[\w-]+.*::|##\[|##vso\[/.test(line))).toEqual([]);
  }
});

test.each([
  [{ isTTY: true }, {}, true],
  [{}, {}, false],
  [{ isTTY: true }, { NO_COLOR: '1' }, false],
  [{ isTTY: true }, { NO_COLOR: '' }, true],
  [{ isTTY: true }, { TERM: 'dumb' }, false],
  [{}, { FORCE_COLOR: '1' }, true],
  [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
])('a stream %j with %j is coloured: %j', (stream, env, colour) => {
  expect(wantsColour({ write: () => {}, ...stream }, env)).toBe(colour);
  const text = prettyText(sampleReport(), { columns: 100, paint: painter({ write: () => {}, ...stream }, env) });
  expect(text.includes('\u001b[')).toBe(colour);
  expect(stripVTControlCharacters(text)).toBe(prettyText(sampleReport(), plain));
});

test('progress lists running checks on one line, the longest first', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const progress = new Progress({ write: () => {} }, plain.paint);
  progress.start(12);
  progress.begin('device.events.long-lived');
  vi.advanceTimersByTime(30_000);
  progress.begin('device.events.heartbeat');
  progress.end(sampleFailure({ id: 'device.x' }));
  vi.advanceTimersByTime(1000);
  const waiting = 'waiting for device.events.long-lived (31 s), device.events.heartbeat (1 s)';
  expect(progress.line(120)).toBe(`1 of 12 · 1 failed · ${waiting}`);
  expect(progress.line(70).length).toBeLessThanOrEqual(70);
  progress.stop();
});
