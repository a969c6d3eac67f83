/** The part of the report that is about roll-outs: how far they came, which robots missed them, and where the time went. */
import { readableDuration } from '../../../harness/common/durations.ts';
import { html, type Markup, NOTHING } from '../../../harness/common/html.ts';
import { decode, percentileMs } from '../measure/metrics.ts';
import type { FleetResult } from '../result/result.ts';
import { chart } from './chart.ts';
import { heatMap } from './heat-map.ts';
import { metricName } from './names.ts';
import { type Plot, ROLLOUT_LEGS } from './plots.ts';
import { percentText, type Reach, reachOf } from './reach.ts';

/** More rows than this are behind a summary. */
const AT_ONCE = 12;

const count = (value: number): string => value.toLocaleString('en');

export function rolloutPart(result: FleetResult, reach: Plot | undefined): Markup {
  const of = reachOf(result);
  if (of === undefined) return NOTHING;
  return html`<h2 id="rollout">Roll-out</h2>${shares(of)}${reach === undefined ? NOTHING : chart(reach)}${heatMap(result)}${missedTable(result, of)}${legs(result)}`;
}

/** In time, late, lost and under way as one bar. */
function shares({ attempts, inTime, late, lost, pending, split }: Reach): Markup {
  const parts = [
    { name: 'in-time', number: inTime, words: 'arrived in time' },
    { name: 'late', number: late, words: 'arrived late' },
    { name: 'lost', number: lost, words: split ? 'never arrived' : 'missed' },
    { name: 'pending', number: pending, words: 'under way when the run ended' },
  ].filter(({ number, name }) => number > 0 || name === 'in-time');
  const words = parts.map(({ number, words: what }) => `${percentText(number, attempts)} ${what}`).join(', ');
  return html`<div class="shares"><div class="split" role="img" aria-label="Of ${count(attempts)} roll-outs: ${words}">${parts.map(({ name, number }) => html`<i class="${name}" style="flex:${number}"></i>`)}</div>
<ul>${parts.map(({ name, number, words: what }) => html`<li><i class="${name}"></i><b>${percentText(number, attempts)}</b> <span>${count(number)} of ${count(attempts)} ${what}</span></li>`)}</ul></div>`;
}

function missedTable({ missed, rollouts, counters }: FleetResult, { split }: Reach): Markup {
  const all = counters['rollout.missed'] ?? missed.length;
  const listed = rollouts?.missed ?? missed.map((name) => ({ name, posted_ms: undefined, late_ms: undefined }));
  if (listed.length === 0) return NOTHING;
  const rows = listed.map(
    ({ name, posted_ms, late_ms }) =>
      html`<tr><th scope="row">${name}</th><td class="n">${posted_ms === undefined ? '–' : readableDuration(posted_ms)}</td>${late_ms === undefined ? html`<td>missed</td>` : late_ms === null ? html`<td class="lost">never</td>` : html`<td class="late">late, after ${readableDuration(late_ms)}</td>`}</tr>`,
  );
  const more = all > listed.length ? ` (the first ${listed.length} of ${count(all)})` : ` (${listed.length})`;
  const table = html`<div class="scroll" tabindex="0" role="region" aria-label="Robots that missed their roll-out"><table class="data"><thead><tr><th scope="col">robot</th><th scope="col" class="n">POST at</th><th scope="col">${split ? 'its event was read' : 'outcome'}</th></tr></thead><tbody>${rows}</tbody></table></div>`;
  return html`<details ${rows.length <= AT_ONCE ? html`open` : NOTHING}><summary><h3>Robots that missed their roll-out${more}</h3></summary>${table}</details>`;
}

/** The legs of a roll-out, as bars to p50 and to p99 on one scale. */
function legs({ histograms }: FleetResult): Markup {
  const rows = ['rollout.ms', ...ROLLOUT_LEGS.map((leg) => `rollout.${leg}.ms`)].flatMap((name) => {
    const encoded = histograms[name];
    if (encoded === undefined) return [];
    const from = decode(encoded);
    return [{ name, at: [50, 95, 99].map((percent) => percentileMs(from, percent)) as [number, number, number] }];
  });
  if (rows.length < 2) return NOTHING;
  const longest = Math.max(...rows.map(({ at: [, , p99] }) => p99), Number.MIN_VALUE);
  const width = (ms: number): string => `${((100 * ms) / longest).toFixed(2)}%`;
  const body = rows.map(
    ({ name, at: [p50, p95, p99] }) =>
      html`<tr><th scope="row">${metricName(name)}</th><td class="n">${readableDuration(p50)}</td><td class="n">${readableDuration(p95)}</td><td class="n">${readableDuration(p99)}</td><td class="bars"><i style="width:${width(p99)}"></i><i class="half" style="width:${width(p50)}"></i></td></tr>`,
  );
  return html`<h3>Where the time went</h3><div class="scroll" tabindex="0" role="region" aria-label="Where the time went"><table class="data"><thead><tr><th scope="col">step</th><th scope="col" class="n">p50</th><th scope="col" class="n">p95</th><th scope="col" class="n">p99</th><th scope="col">strong: up to p50, faint: up to p99</th></tr></thead><tbody>${body}</tbody></table></div>`;
}
