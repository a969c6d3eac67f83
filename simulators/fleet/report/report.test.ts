import { describe, expect, it } from 'vitest';
import { Metrics, summariesOf } from '../measure/metrics.ts';
import { resultWith } from '../result/testing/result.ts';
import { reportHtml, thresholdValue } from './report.ts';

const metrics = new Metrics();
for (let ms = 1; ms <= 1000; ms += 1) {
  for (const name of ['rollout.ms', 'rollout.command.ms', 'rollout.sync.ms', 'ping.ms']) metrics.time(name, ms);
}
const snapshot = metrics.snapshot();
const tick = (second: number) => ({
  at_ms: second * 1000,
  phase: 'rollout',
  robots: { online: 10 },
  rates: { http: second },
  p50: { 'rollout.ms': 5 },
  p99: { 'rollout.ms': 9 },
  cpu: 0.5,
  rss_bytes: 100,
  loop_max_ms: 3,
});
const page = reportHtml(
  resultWith({
    ...snapshot,
    metrics: summariesOf(snapshot),
    verdict: 'suspect',
    verdict_reasons: ['late <script>alert(1)</script>'],
    thresholds: [{ expr: 'rollout.ms.p99<5s', value: 990, ok: true }],
    violations: [{ robot: 7, name: 'robot-7', kind: 'gap', message: 'id 3 missing' }],
    series: [tick(1), tick(2), tick(3)],
  }),
);
const data = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? '') as {
  id: string;
  at: number[];
  series: { name: string; values: (number | null)[] }[];
}[];

describe('the report page', () => {
  it('is one file that loads nothing', () => {
    expect(page).not.toMatch(/(src|href)\s*=|@import|url\(\s*['"]?http|fetch\(|XMLHttpRequest/i);
    expect(page).toContain("default-src 'none'");
    expect(page).toContain('uPlot');
  });

  it('shows verdict, thresholds and violations, and lets no text become markup', () => {
    expect(page).toContain('suspect');
    expect(page).toContain('rollout.ms.p99&lt;5s');
    expect(page).toContain('robot-7');
    expect(page).not.toContain('<script>alert');
  });

  it('has one place for each plot and one plot for each place', () => {
    const places = [...page.matchAll(/<div class="plot" id="([^"]+)"/g)].map(([, id]) => id);
    expect(places.sort()).toEqual(data.map(({ id }) => id).sort());
    expect(places).toEqual(expect.arrayContaining(['reach', 'legs', 'percentiles', 'rates', 'states', 'load']));
  });

  it('has plots that ascend in x and have a value or a gap at each x', () => {
    for (const { at, series } of data) {
      expect(at.every((x, index) => index === 0 || x > (at[index - 1] ?? 0))).toBe(true);
      for (const { values } of series) expect(values).toHaveLength(at.length);
    }
  });

  it('shows the share of robots reached by each time', () => {
    const reach = data.find(({ id }) => id === 'reach');
    const half = reach?.series[0]?.values.indexOf(50) ?? -1;
    expect((reach?.at[half] ?? 0) / 500).toBeCloseTo(1, 1);
  });

  it('has no headings for a run that measured nothing', () => {
    const bare = reportHtml(resultWith());
    expect(bare).toContain('</html>');
    expect(bare).not.toContain('<h2');
  });

  it('gives no good verdict to a run that is not complete', () => {
    const thresholds = [{ expr: 'rollout.missed.count==0', value: 0, ok: true }];
    const cut = reportHtml(
      resultWith({ complete: false, incomplete_reasons: ['the run was interrupted'], thresholds }),
    );
    expect(cut).toContain('<span class="badge bad">incomplete</span>');
    expect(cut).toContain('not evaluated');
    const [, body = ''] = cut.split('<body>');
    expect(body.split('<script')[0]).not.toMatch(/class="[^"]*good|✓|valid/);
  });

  it('lets a wide table scroll by itself', () => {
    expect(page.match(/<table/g)?.length).toBeGreaterThan(1);
    expect(page.match(/<table/g)).toHaveLength(page.match(/<div class="scroll"><table class="data"/g)?.length ?? 0);
  });

  it.each([
    ['a.ms.p99<5s', 1234, '1.23 s'],
    ['a.ms.count>=5', 1234, '1,234'],
    ['a.errors.rate<1%', 0.0125, '1.25 %'],
    ['a.errors.rate<1/s', 3.5, '3.5/s'],
    ['a.ms.p99<5s', null, '–'],
  ])('writes the value of %s with its unit', (expr, value, written) => {
    expect(thresholdValue(expr, value)).toBe(written);
  });
});
