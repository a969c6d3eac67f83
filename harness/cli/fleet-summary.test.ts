import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encode, histogram, labelled, recordMs, summariesOf } from '../../simulators/fleet/measure/metrics.ts';
import { reportHtml } from '../../simulators/fleet/report/report.ts';
import { exitCode, type FleetResult } from '../../simulators/fleet/result/result.ts';
import { costPartWith, judgedWith, resultWith } from '../../simulators/fleet/result/testing/result.ts';
import { type Paint, width } from '../common/terminal.ts';
import { endingText, summaryText } from './fleet-summary.ts';

const plain: Paint = (_format, text) => text;
const figures = (p50: number) => ({
  count: 1200,
  p50,
  p90: 2 * p50,
  p95: 2.5 * p50,
  p99: 3 * p50,
  p999: 4 * p50,
  max: 5 * p50,
  unit: 'ms' as const,
});
const summaryOf = (change: Partial<FleetResult>): string => {
  const result = resultWith({ metrics: { 'start.ms': figures(1) }, ...change });
  return summaryText(result, plain) + endingText({ out: 'out', code: exitCode(result) }, plain);
};

it('the summary of a fleet shows a roll-out, its legs in order, and the generator’s lateness', () => {
  const legs = ['report', 'write', 'command', 'sync', 'event'].map((leg) => [`rollout.${leg}.ms`, figures(1)]);
  const metrics = { ...Object.fromEntries(legs), 'schedule.lateness.ms': figures(0.1), 'rollout.ms': figures(10) };
  const lines = summaryOf({ metrics, scenario: 'rollout', robots: 1200, seed: 7 }).split('\n');
  expect(lines[1]).toBe('  rollout · 1,200 robots · seed 7 · 1 s');
  const slow = summaryOf({ duration_ms: 50_000, phases_begin_ms: 46_000 });
  expect(slow).toContain('· 4 s, after 46 s for keys and processes\n');
  expect(lines[3]).toMatch(/ count +p50 +p90 +p95 +p99 +max$/);
  expect(lines[4]).toMatch(/^ {2}rollout\.ms +1,200 +10 ms +20 ms +25 ms +30 ms +50 ms$/);
  const names = lines.slice(5, 11).map((line) => line.trim().split(' ')[0]);
  expect(names.join(' ')).toBe('command sync write event report schedule.lateness.ms');
});

it('the summary of a fleet shows figures of a class only for metrics that its robots have', () => {
  const of = (times: number): string => {
    const all = histogram();
    for (let time = 0; time < times; time += 1) recordMs(all, 10);
    return encode(all);
  };
  const histograms = Object.fromEntries(
    [
      [{}, { 'rollout.ms': 5, 'ping.ms': 7 }] as const,
      [{ class: 'arm', phase: '2-rollout' }, { 'rollout.ms': 5 }] as const,
      [{ class: 'cart', phase: '3-storm' }, { 'ping.ms': 7 }] as const,
    ].flatMap(([labels, own]) => Object.entries(own).map(([name, times]) => [labelled(name, labels), of(times)])),
  );
  const text = summaryOf({ histograms, metrics: summariesOf({ histograms, counters: {} }) });
  const rows = [...text.matchAll(/^ {2}( *\S+(?: \S+)?) +(\d+)(?: +10 ms){5}$/gm)].map(([, ...cells]) => cells);
  expect(rows).toEqual([
    ['rollout.ms', '5'],
    ['  class arm', '5'],
    ['ping.ms', '7'],
    ['  class cart', '7'],
  ]);
});

it('the summary of a fleet shows memory and CPU of processes, and memory of one more robot, in one line', () => {
  const figures = (robot_marginal_bytes: number | null) =>
    costPartWith({ peak_bytes: 2 ** 28, cpu_seconds: 17.74, robot_marginal_bytes });
  const line = (marginal: number) => {
    const parts = { parent: figures(null), workers: figures(0), whole: figures(marginal) };
    return summaryOf({ costs: { memory: 'PSS', robots: 4096, parts } }).match(/^ {2}processes +(.*)$/m)?.[1];
  };
  expect(line(2048)).toBe('256 MiB PSS (parent 256, workers 256) · one more robot 2.0 KiB · 17.7 CPU s');
  expect(line(-5)).toBe('256 MiB PSS (parent 256, workers 256) · 17.7 CPU s');
});

it('the summary of a fleet shows a passed outcome with met thresholds and a valid generator alone', () => {
  const text = summaryOf({ thresholds: [{ expr: 'ping.ms.p99<1s', value: 12, ok: true }] });
  expect(text).toMatch(/✓ met {5}ping\.ms\.p99<1s +12 ms\n/);
  expect(text).toMatch(/✓ outcome: PASSED\n {2}✓ load generator: valid \(/);
  expect(text).not.toMatch(/exit \d/);
});

it.each<[Partial<FleetResult>, RegExp, RegExp]>([
  [{ verdict: 'suspect', verdict_reasons: ['late'] }, /! load generator: suspect .*\n {4}- late\n/, /report: /],
  [{ verdict: 'invalid', verdict_reasons: ['late'] }, /✗ load generator: invalid .*\n {4}- late\n/, /exit 98: /],
  [
    { complete: false, incomplete_reasons: ['shard 2/3 is missing'] },
    /✗ outcome: INCOMPLETE\n {4}- shard 2\/3 is missing\n {2}· load generator: valid \(/,
    /exit 2: /,
  ],
  [
    { thresholds: [{ expr: 'x.ms.p99<1s', value: null, ok: false, reason: 'never' }] },
    /· not measured .* never/,
    /✗ outcome: INCOMPLETE\n(.|\n)*exit 2: /,
  ],
  [{ thresholds: [{ expr: 'x.ms.p99<1s', value: 1200, ok: false }] }, /✗ missed .* 1\.2 s/, /exit 99: /],
  [
    { complete: false, ended_by: 'x.errors.rate>1%', incomplete_reasons: ['ended early: x'] },
    /✗ outcome: FAILED\n {4}- ended early: x/,
    /exit 99: .*a condition ended the run/,
  ],
  [
    { violations: [{ robot: 3, name: 'robot-3', kind: 'gap', message: 'id 2 missing' }] },
    /✗ the stream of robot-3 was not whole: gap: id 2 missing/,
    /exit 1: an event stream was not whole/,
  ],
  [
    { answers: judgedWith([{ count: 2 }]), verdict: 'invalid', complete: false },
    /✗ MUST platform\.list\.envelope\.everywhere: 2 answers, first in 2-hold: expected a list; got a map/,
    /exit 1: .* an answer of the platform was wrong/,
  ],
  [
    { answers: judgedWith([{ level: 'SHOULD' }]) },
    /judged +10 of 100 answers \(10 %\) · 2 % of a processor\n(.|\n)*! SHOULD .*: one answer, /,
    /✓ outcome: PASSED/,
  ],
  [
    { missed: ['robot-3'], counters: { 'rollout.attempts': 4, 'rollout.missed': 1 } },
    /✗ 1 of 4 roll-outs missed \(0 arrived late, 1 never\): robot-3/,
    /report: /,
  ],
])('the summary of a fleet shows the problem and the ending of %j', (change, reason, end) => {
  expect(summaryOf(change)).toMatch(reason);
  expect(summaryOf(change)).toMatch(end);
});

it('the summary of a fleet marks no threshold as met after an incomplete, saturated or empty run', () => {
  const thresholds = [{ expr: 'rollout.missed.count==0', value: 0, ok: true }];
  const cut = summaryOf({ complete: false, thresholds });
  expect(cut).toMatch(/· not evaluated {2}rollout\.missed\.count==0 +0\n/);
  expect(cut).not.toMatch(/✓|met/);
  const saturated = summaryOf({ verdict: 'invalid', thresholds, metrics: { 'rollout.ms': figures(1) } });
  expect(saturated).toMatch(/· not judged {2}rollout\.missed\.count==0 +0\n/);
  expect(saturated).not.toMatch(/✓|met/);
  expect(saturated).toMatch(/^ {2}they decide nothing +count/m);
  const empty = summaryOf({ complete: false, metrics: {}, counters: {} });
  expect(empty).toContain('✗ outcome: INCOMPLETE (nothing was measured)');
  expect(empty).not.toContain('valid');
  const failed = summaryOf({ metrics: { 'http.connect.ms': figures(1) }, counters: { 'http.errors': 9 } });
  expect(failed).toContain('outcome: INCOMPLETE (nothing was measured)');
});

it('the summary of a fleet escapes control characters in texts of platform and robots', () => {
  const nasty = fc.constantFrom('\u001b[2J', '\u009b31m', '\u202e', '\r', '\u007f', '\u0000', '\u2029');
  fc.assert(
    fc.property(nasty, (text) => {
      const change: Partial<FleetResult> = {
        scenario: text,
        missed: [text],
        violations: [{ robot: 1, name: text, kind: 'gap', message: text }],
        thresholds: [{ expr: 'ping.ms.p99<1s', value: null, ok: false, reason: text }],
        incomplete_reasons: [text],
        verdict_reasons: [text],
        notes: [text],
        counters: { [`${text}.errors`]: 1 },
        metrics: { 'ping.ms': figures(1) },
      };
      const shown = [
        summaryOf(change),
        summaryOf({ ...change, complete: false }),
        endingText({ unwritten: text, code: 2 }, plain),
        reportHtml(resultWith(change)),
      ];
      for (const each of shown) expect(each.includes(text)).toBe(false);
    }),
  );
});

it('the summary of a fleet says that an unwritten result is on the screen alone', () => {
  const lines = endingText({ unwritten: '/out/result.json cannot be written (ENOSPC)', code: 2 }, plain);
  expect(lines).toMatch(/✗ measured, and not written: \/out\/result\.json cannot be written/);
  expect(lines).toMatch(/exit 2: the result is on the screen alone\n$/);
  expect(lines).not.toContain('report:');
});

it('the summary of a fleet shows errors beside their attempts', () => {
  const counters = { 'ping.errors': 3, 'ping.attempts': 1200 };
  expect(summaryOf({ metrics: { 'ping.ms': figures(1) }, counters })).toMatch(/ping\.errors +3 of 1,200\n/);
});

it('the summary of a fleet names only a few of many robots, and stays within 108 columns', () => {
  const many = Array.from({ length: 100 }, (_, robot) => `robot-${robot}`);
  const violations = many.map((name, robot) => ({ robot, name, kind: 'loss' as const, message: 'id 2 lost' }));
  const text = summaryOf({
    missed: many,
    violations,
    notes: ['word '.repeat(60)],
    verdict_reasons: ['word '.repeat(60)],
  });
  expect(text).toContain('and 90 more, in the report');
  expect(text).toContain('robot-9 and others');
  expect(Math.max(...text.split('\n').map(width))).toBeLessThanOrEqual(108);
});
