import { expect, it } from 'vitest';
import { Metrics, summariesOf } from '../measure/metrics.ts';
import { reachOf } from '../result/result.ts';
import { costPartWith, judgedWith, resultWith, tickWith } from '../result/testing/result.ts';
import { percentText, reachPlot } from './plots.ts';
import { reportHtml, thresholdValue } from './report.ts';

const metrics = new Metrics();
for (let ms = 1; ms <= 1000; ms += 1) {
  for (const name of ['rollout.ms', 'rollout.command.ms', 'rollout.sync.ms', 'ping.ms']) metrics.time(name, ms);
}
const snapshot = metrics.snapshot();
const tick = (second: number) => {
  const durations = { p50: { 'rollout.ms': 5 }, p99: { 'rollout.ms': 9 } };
  return tickWith({ at_ms: second * 1000, robots: { online: 10 }, rates: { http: second }, ...durations, cpu: 0.5 });
};
const whole = resultWith({
  ...snapshot,
  counters: { 'rollout.attempts': 1000, 'rollout.missed': 0 },
  metrics: summariesOf(snapshot),
  verdict: 'suspect',
  verdict_reasons: ['late <script>alert(1)</script>'],
  thresholds: [
    { expr: 'rollout.ms.p99<5s', value: 990, ok: true },
    { expr: 'ping.ms.p99.5<5s', value: 995, ok: true },
  ],
  violations: [{ robot: 7, name: 'robot-7', kind: 'gap', message: 'id 3 missing' }],
  phases: [
    { do: 'ramp', started_ms: 1000, duration_ms: 1000, measured: false, actions: 10 },
    { do: 'rollout', started_ms: 2000, duration_ms: 1000, measured: true, actions: 10, within_ms: 60_000 },
  ],
  series: [tick(1), tick(2), tick(3)],
});
const page = reportHtml(whole);
const bodyOf = (text: string): string => text.split('<body>')[1]?.split('<script')[0] ?? '';
const { charts } = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? '') as {
  charts: { id: string; at: number[]; labels: string[]; lines: { name: string; values: (number | null)[] }[] }[];
};

it('the report page begins with the outcome of the run, then the verdict on the generator', () => {
  const head = (change: object): string =>
    /<div class="banner.*?<\/div>/s.exec(reportHtml({ ...whole, ...change }))?.[0] ?? '';
  expect(head({ violations: [] })).toMatch(/<h1>PASSED<\/h1>.*All 2 thresholds met.*generator: <b>suspect<\/b>/s);
  const missed = { expr: 'rollout.missed.count==0', value: 17, ok: false };
  const failed = head({ violations: [], verdict: 'valid', thresholds: [...whole.thresholds, missed] });
  expect(failed).toMatch(/ fail"><h1>FAILED<\/h1><p>1 of 3 thresholds missed: rollout\.missed\.count==0.*<b>valid/s);
  expect(head({})).toMatch(/FAILED.*An event stream lost, repeated or reordered events/s);
  expect(head({ violations: [], verdict: 'invalid' })).toMatch(/INCOMPLETE.*could not keep up/s);
});

it('the report page shows the costs of processes, and the whole and marginal costs of a robot', () => {
  expect(page).not.toContain('Processes');
  const part = { peak_bytes: 3 * 2 ** 20, end_bytes: 2 ** 20, cpu_seconds: 1.25, robot_whole_bytes: 51_200 };
  const of = (robot_marginal_bytes: number | null) => costPartWith({ ...part, robot_marginal_bytes });
  const costs = {
    memory: 'PSS' as const,
    robots: 1200,
    parts: { parent: of(null), workers: of(2048), whole: of(8192) },
  };
  const text = reportHtml({ ...whole, costs });
  expect(text).toMatch(/<tr><th scope="row">workers<\/th>.*3 MiB.*1 MiB.*1\.3 s.*50\.0 KiB.*2\.0 KiB/);
  expect(text).toMatch(/<tr class="sum"><th scope="row">whole<\/th>.*8\.0 KiB.*PSS.*over 1,200 robots/s);
  expect(text).toMatch(/<b>8\.0 KiB<\/b><span>memory of one more robot/);
});

it('the report page shows judged answers and broken rules, even with a saturated generator', () => {
  expect(page).not.toContain('Answers under load');
  const of = (findings: Parameters<typeof judgedWith>[0]): string =>
    reportHtml({ ...whole, violations: [], verdict: 'invalid', answers: judgedWith(findings) });
  expect(of([])).toMatch(/Judged: 10 of 100 answers \(10 %\) · 2 % of a processor\. None broke a rule\./);
  const wrong = of([{ actual: '<i>', phase: '2-hold' }]);
  expect(wrong).toMatch(/<h1>FAILED<\/h1><p>Answers of the platform broke a MUST under load\./);
  expect(wrong).toMatch(/platform\.list\.envelope\.everywhere.*MUST.*2-hold.*got &lt;i&gt;.*curl http/s);
  expect(of([{ level: 'SHOULD' }])).toMatch(/<h1>INCOMPLETE</);
});

it('the report page shows thresholds and violations, with all text escaped', () => {
  expect(page).toContain('rollout.ms.p99&lt;5s');
  expect(page).toContain('robot-7');
  expect(page).not.toContain('<script>alert');
});

it('the report page has a column for each percentile of a threshold', () => {
  expect(page).toMatch(/p95<\/th>.*p99<\/th>.*p99\.5<\/th>.*p99\.9<\/th>/s);
});

it('the report page draws every chart with a text alternative and the data of its script', () => {
  const drawn = [...bodyOf(page).matchAll(/data-chart="([^"]+)"/g)].map(([, id]) => id);
  expect(drawn.sort()).toEqual(charts.map(({ id }) => id).sort());
  expect(drawn).toEqual(expect.arrayContaining(['reach', 'percentiles', 'rates', 'states', 'load']));
  expect(page.match(/<svg[^>]*role="img" aria-label="[^"]{20,}"/g)).toHaveLength(drawn.length);
  for (const { at, labels, lines } of charts) {
    expect(at.every((x, index) => index === 0 || x >= (at[index - 1] ?? 0))).toBe(true);
    expect(labels).toHaveLength(at.length);
    for (const { values } of lines) expect(values).toHaveLength(at.length);
  }
});

it('the report page starts its charts at the first phase, and marks the phases', () => {
  expect(charts.find(({ id }) => id === 'states')?.labels).toEqual(['0 ms', '1 s', '2 s']);
  expect(page).toMatch(/ramp \(warm-up\)<\/span>.*roll-out<\/span>/s);
});

it('the report page shows manual actions by name in a row of their own', () => {
  const byHand = { do: 'kill', started_ms: 0, duration_ms: 500, measured: false, actions: 1, by_hand: '10% killed' };
  const page = reportHtml({ ...whole, phases: [...whole.phases, byHand] });
  expect(page).toMatch(/<div class="bands by-hand"[^>]*><span title="10% killed"[^>]*>10% killed<\/span><\/div>/);
  expect(page).not.toContain('10% killed (warm-up)');
});

it('the report page distinguishes late robots from robots without their event', () => {
  const missed = [
    { name: 'robot-1', posted_ms: 10, late_ms: 1500 },
    { name: 'robot-2', posted_ms: 20, late_ms: null },
  ];
  const counters = { 'rollout.attempts': 1002, 'rollout.missed': 2 };
  const body = bodyOf(reportHtml({ ...whole, counters, rollouts: { missed } }));
  expect(body).toMatch(/robot-1<\/th>.*late, after 1\.5 s.*robot-2<\/th>.*never/s);
});

it('the report page has no headings for a run without measurements', () => {
  const bare = reportHtml(resultWith());
  expect(bare).toContain('</html>');
  expect(bodyOf(bare)).not.toContain('<h2');
});

it('the report page gives no good verdict to an incomplete run', () => {
  const thresholds = [{ expr: 'rollout.missed.count==0', value: 0, ok: true }];
  const change = { complete: false, incomplete_reasons: ['interrupted'], thresholds, counters: {} };
  const cut = reportHtml(resultWith(change));
  expect(cut).toContain('<h1>INCOMPLETE</h1>');
  expect(cut).toContain('not evaluated');
  expect(bodyOf(cut)).not.toMatch(/class="[^"]*pass|✓|valid/);
});

it('the report page shows no big figures and no met threshold for a saturated generator', () => {
  const thresholds = [{ expr: 'rollout.ms.p99<5s', value: 12, ok: true }];
  const change = { violations: [], thresholds, phases_begin_ms: 46_000, duration_ms: 50_000 };
  const tilesIn = (text: string): string[] =>
    [...text.matchAll(/<div class="tile"><b>(.*?)<\/b><span>(.*?)<\/span>/g)].map(
      ([, value, label]) => `${label} ${value}`,
    );
  const void_ = reportHtml({ ...whole, ...change, verdict: 'invalid' });
  expect(tilesIn(void_)).toEqual(['robots 10', 'whole run 4 s', 'keys and processes, before it 46 s']);
  expect(tilesIn(reportHtml({ ...whole, verdict: 'invalid' }))).toHaveLength(2);
  expect(void_).toContain('· not judged');
  expect(void_).toContain('The figures below decide nothing');
  expect(bodyOf(void_)).not.toContain('✓ met');
  const good = reportHtml({ ...whole, ...change, verdict: 'valid' });
  expect(tilesIn(good).length).toBeGreaterThan(5);
  expect(good).toContain('✓ met');
  expect(good).not.toContain('decide nothing');
});

it('the report page is small for a large fleet and a long run', () => {
  const missedBy = (robot: number) => ({ name: `robot-${robot}`, posted_ms: robot, late_ms: null });
  const missed = Array.from({ length: 100 }, (_, robot) => missedBy(robot));
  const series = Array.from({ length: 3600 }, (_, second) => tick(second + 1));
  const large = { ...whole, robots: 10_000, series, rollouts: { missed } };
  expect(reportHtml(large).length).toBeLessThan(1_000_000);
});

it.each([
  ['a.ms.count>=5', 1234, '1,234'],
  ['a.errors.rate<1/s', 3.5, '3.5/s'],
  ['a.ms.p99<5s', null, '–'],
])('the report page writes the value of %s with its unit', (expr, value, written) => {
  expect(thresholdValue(expr, value)).toBe(written);
});

/** `inTime` roll-outs take 1, 2, 3 ms and so on; `late` roll-outs take 1, 2, 3 s and so on. */
type Ran = Record<'inTime' | 'attempts', number> & Partial<Record<'late' | 'missed', number>>;
function ran({ inTime, late = 0, missed = late, attempts }: Ran) {
  const metrics = new Metrics();
  for (let ms = 1; ms <= inTime; ms += 1) metrics.time('rollout.ms', ms);
  for (let second = 1; second <= late; second += 1) metrics.time('rollout.late.ms', 1000 * second);
  const snapshot = metrics.snapshot();
  return resultWith({
    histograms: snapshot.histograms,
    metrics: summariesOf(snapshot),
    counters: { 'rollout.attempts': attempts, 'rollout.missed': missed },
  });
}

const plotOf = (result: ReturnType<typeof ran>) => {
  const reach = reachOf(result);
  if (reach === undefined) throw new Error('it has roll-outs');
  return reachPlot(result, reach);
};

it('the reach of a roll-out is the share of attempts, and stops at its last value', () => {
  const { at, series } = plotOf(ran({ inTime: 72, missed: 28, attempts: 100 }));
  expect(series).toHaveLength(1);
  expect(series[0]?.values.at(-1)).toBeCloseTo(72);
  expect(Math.max(...(series[0]?.values ?? []).map((value) => value ?? 0))).toBeCloseTo(72);
  expect(series[0]?.values[at.findIndex((ms) => ms >= 36)]).toBeCloseTo(36, -0.5);
});

it('the reach of a roll-out shows late robots separately, up to their arrival, and counts lost ones', () => {
  const result = ran({ inTime: 50, late: 30, missed: 40, attempts: 100 });
  expect(reachOf(result)).toEqual({ attempts: 100, inTime: 50, late: 30, lost: 10, pending: 10 });
  const { series, about } = plotOf(result);
  expect(series.map(({ values }) => values.at(-1))).toEqual([50, 80]);
  expect(about).toMatch(/It ends at 50 %, and at 80 % with those that came late\.$/);
});

it('the reach of a roll-out stays at zero when no robot arrived in time', () => {
  const { series, about } = plotOf(ran({ inTime: 0, missed: 5, attempts: 5 }));
  expect(series[0]?.values.every((value) => value === 0)).toBe(true);
  expect(about).toMatch(/Less than half had in time\. It ends at 0 %/);
});

it('the reach of a roll-out is 100 % only for all robots', () => {
  expect(percentText(99_999, 100_000)).toBe('99.99 %');
  expect(percentText(1, 100_000)).toBe('0.01 %');
  expect(percentText(100_000, 100_000)).toBe('100 %');
  expect(percentText(2, 3)).toBe('66.7 %');
});

it('the report begins with rate, failures and times of requests, for any uplink', () => {
  const requests = { 'http.attempts': 1200, 'http.errors': 18, 'ping.attempts': 1000 };
  const pings = whole.metrics['ping.ms'] ?? expect.unreachable();
  const metrics = { 'ping.ms': pings, 'http.ms': pings };
  const calls = bodyOf(reportHtml({ ...whole, uplink: 'calls', counters: requests, measured_seconds: 60, metrics }));
  const tile = (label: string): string | undefined =>
    new RegExp(`<b>([^<]*)</b><span>${label}</span>`).exec(calls)?.[1];
  expect(tile('requests a second')).toBe('20');
  expect(tile('requests failed')).toBe('1.5 %');
  expect(tile('pings p50 · p99')).toBe('500 ms · 990 ms');
  expect(tile('other requests p50 · p99')).toBeDefined();
  expect(tile('requests p50 · p99')).toBeUndefined();
  expect(tile('memory of one more robot')).toBeUndefined();
});
