/** The report of a fleet run: one HTML file that loads nothing, and can be read without its script. */

import { readableDuration } from '../../../harness/common/durations.ts';
import { html, type Markup, NOTHING, PALETTE, trusted } from '../../../harness/common/html.ts';
import { printableJson } from '../../../harness/common/terminal.ts';
import { mebibytes } from '../measure/cgroup.ts';
import { costParts, kibibytes, type RunCosts, thousands } from '../measure/costs.ts';
import { decode, percentileMs } from '../measure/metrics.ts';
import {
  type FleetOutcome,
  type FleetResult,
  isJudged,
  measuredNothing,
  outcomeOf,
  type Reach,
  reachOf,
} from '../result/result.ts';
import { parseThreshold, percentileName } from '../result/thresholds.ts';
import { cellChart, chart, chartData, type Plot } from './chart.ts';
import {
  metricName,
  percentilePlot,
  percentText,
  ROLLOUT_LEGS,
  reachPlot,
  rolloutMapData,
  rolloutMapPlot,
  timePlots,
} from './plots.ts';

/** The style sheet of the report page, beside the palette: light and dark, paper, from a phone to a wide screen. */
export const PAGE_STYLE = `
:root{--band:light-dark(#eef1f5,#22262d);--hand:light-dark(#2459c91f,#7aa7ff2e);--hand-edge:light-dark(#2459c9,#7aa7ff);--late:light-dark(#d98200,#f0b04a);--lost:light-dark(#c3292b,#ff6b6b);
--c0:light-dark(#0b62c4,#64a8ff);--c1:light-dark(#b4500a,#f29a55);--c2:light-dark(#1a7f4b,#4cc38a);--c3:light-dark(#7b3fc4,#bb98f9);--c4:light-dark(#b3357f,#f07fb8);
--c5:light-dark(#8a6100,#d9b13f);--c6:light-dark(#0f7480,#55cdd8);--c7:light-dark(#9b2c2c,#ff9c94);--c8:light-dark(#5c6370,#9aa2b1);--c9:light-dark(#4d7a00,#a5d63f);
--h0:light-dark(#d6e6f7,#16324f);--h1:light-dark(#aacdee,#1d4a78);--h2:light-dark(#76aee0,#2a67a3);--h3:light-dark(#4489c8,#478ac9);--h4:light-dark(#1f65a8,#7db3e6);--h5:light-dark(#0b3f75,#cfe5fb)}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:68rem;margin:0 auto;padding:1.25rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:0;color:var(--tone)}
h2{font-size:1.25rem;margin:2.5rem 0 .6rem}h3{font-size:1rem;margin:1.6rem 0 .4rem}
p{margin:.35rem 0}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.88em;overflow-wrap:anywhere}
.soft,footer{color:var(--soft)}footer{margin-top:3rem;font-size:.85rem}
.banner{border-left:.45rem solid var(--tone);background:var(--card);padding:1.1rem 1.25rem;border-radius:.5rem;box-shadow:0 1px 3px #0002;overflow-wrap:anywhere}
.generator{margin:.9rem 0 0;padding-top:.6rem;border-top:1px solid var(--line)}.generator p{margin:0}.generator b{color:var(--tone,inherit)}
.generator ul{margin:.3rem 0 0;padding-left:1.2rem;color:var(--soft);font-size:.92rem}
.note{margin:.5rem 0;padding:.5rem .9rem;background:var(--card);border:1px solid var(--line);border-left:.25rem solid var(--tone,var(--soft));border-radius:.4rem;overflow-wrap:anywhere}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:.7rem;margin:1.2rem 0}
.tile,.chart,.scroll,.shares{background:var(--card);border:1px solid var(--line);border-radius:.5rem}
.tile{padding:.65rem .9rem}.tile b{display:block;font-size:1.3rem;line-height:1.3;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:.87rem}
.shares{padding:1rem 1.1rem}.split{display:flex;gap:2px;height:.8rem;border-radius:.4rem;overflow:hidden}.split i{min-width:3px}
.shares ul{list-style:none;margin:.7rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 2rem}.shares li b{font-size:1.15rem}.shares li span{color:var(--soft)}
.shares li i,.legend i{display:inline-block;width:.75rem;height:.75rem;border-radius:.2rem;margin-right:.45rem;background:var(--mark)}
.split i{background:var(--mark)}.in-time{--mark:var(--c0)}.late{--mark:var(--late)}.lost{--mark:var(--lost)}.pending{--mark:var(--soft)}
figure{margin:.9rem 0}.chart{padding:.9rem 1.1rem .8rem}
figcaption{margin-bottom:.7rem}figcaption span{color:var(--soft);font-size:.9rem;display:block}
.frame{position:relative;margin:0 1rem 1.6rem 4.2rem}.area{position:relative;height:15rem;cursor:crosshair}.map .area{height:19rem}.area:focus-visible,.scroll:focus-visible,summary:focus-visible{outline:2px solid var(--c0);outline-offset:3px}
svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible;display:block}svg.lines{pointer-events:none}
path{fill:none;stroke:var(--mark);stroke-width:1.8;vector-effect:non-scaling-stroke;stroke-linejoin:round;stroke-linecap:round}
path.grid{stroke:var(--line);stroke-width:1}.map path.grid{opacity:.55}path.dashed,path.late{stroke-dasharray:6 4}
path.cell{stroke:none;fill:var(--mark)}.legend i.dashed{outline:1px dashed var(--ink)}
.band{fill:none}.band.even,.band.even.warm-up{fill:var(--band)}
.bands{position:relative;height:1.35rem;font-size:.78rem;color:var(--soft)}.bands span{position:absolute;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding:0 .3rem;border-left:1px solid var(--line)}
.bands.by-hand{color:var(--ink)}.bands.by-hand span{background:var(--hand);border-left:2px solid var(--hand-edge);border-radius:2px}.band.by-hand{fill:var(--hand)}
.x span,.y span{position:absolute;color:var(--soft);font-size:.78rem;white-space:nowrap;font-variant-numeric:tabular-nums;line-height:1}
.x span{top:calc(100% + .5rem);transform:translateX(-50%)}.y span{right:calc(100% + .55rem);transform:translateY(-50%)}
.legend{list-style:none;margin:.2rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem 1.3rem;font-size:.87rem}
.c0{--mark:var(--c0)}.c1{--mark:var(--c1)}.c2{--mark:var(--c2)}.c3{--mark:var(--c3)}.c4{--mark:var(--c4)}.c5{--mark:var(--c5)}.c6{--mark:var(--c6)}.c7{--mark:var(--c7)}.c8{--mark:var(--c8)}.c9{--mark:var(--c9)}
.h0{--mark:var(--h0)}.h1{--mark:var(--h1)}.h2{--mark:var(--h2)}.h3{--mark:var(--h3)}.h4{--mark:var(--h4)}.h5{--mark:var(--h5)}
.cursor{position:absolute;top:0;bottom:0;width:1px;background:var(--ink);pointer-events:none}
.tip{position:absolute;top:.3rem;z-index:2;background:var(--card);border:1px solid var(--line);border-radius:.4rem;box-shadow:0 2px 10px #0003;padding:.4rem .65rem;font-size:.84rem;pointer-events:none;white-space:nowrap;font-variant-numeric:tabular-nums}
.tip div{display:flex;gap:.5rem;align-items:center}.tip b{margin-left:auto;padding-left:1rem}.tip i{width:.65rem;height:.65rem;border-radius:.2rem;background:var(--mark)}
.scroll{overflow-x:auto;margin:.6rem 0}
.data{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.93rem}
.data th,.data td{padding:.4rem .9rem;border-top:1px solid var(--line);white-space:nowrap;text-align:left;font-weight:400}
.data thead th{color:var(--soft);font-size:.85rem;font-weight:600;border-top:0}
.data .sum th,.data .sum td{font-weight:600}.data .n{text-align:right}.data .wide{white-space:normal;min-width:12em;overflow-wrap:anywhere}.data small{display:block;color:var(--soft)}
.data td.tone{color:var(--tone);font-weight:600}.data td.late,.data td.lost{font-weight:600}.data td.lost{color:var(--fail)}.data td.late{color:var(--warn)}
.bars{position:relative;width:40%;min-width:9rem}.bars i{position:absolute;left:.9rem;top:calc(50% - .35rem);height:.7rem;max-width:calc(100% - 1.8rem);border-radius:.2rem;background:var(--h1)}.bars i.half{background:var(--c0)}
details{margin:.5rem 0}summary{cursor:pointer;color:var(--soft)}summary h3{display:inline;color:var(--ink)}
.values{font-size:.87rem;margin:.5rem 0 0}.values .scroll{max-height:19rem;overflow:auto}
@media(max-width:40rem){main{padding:.9rem .7rem 3rem}.tiles{grid-template-columns:repeat(2,1fr)}.odd{display:none}.frame{margin-left:3.4rem;margin-right:.6rem}.chart{padding:.8rem .7rem}.area{height:11rem}.map .area{height:14rem}.data th,.data td{padding:.35rem .6rem}h1{font-size:1.4rem}.banner{padding:1rem}}
@media print{:root{color-scheme:light}body{font-size:12px;background:#fff}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}.chart,.tile,.shares,tr{break-inside:avoid}h2,h3{break-after:avoid}.scroll{overflow:visible;max-height:none}.data{font-size:.85em}.data th,.data td{padding:.25rem .35rem;white-space:normal}.bars{min-width:5rem}.values{display:none}details:not([open])::details-content{content-visibility:visible;block-size:auto}.area{height:11rem}}
`;

/**
 * The script of the report page: the values under the pointer, or under a cursor that the arrow keys move. The page
 * reads the same without it.
 */
export const PAGE_SCRIPT = `
const data = JSON.parse(document.getElementById('data').textContent);
const number = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const time = (ms) => ms < 1 ? number.format(ms * 1000) + ' \\u00b5s' : ms < 1000 ? number.format(ms) + ' ms' : ms < 60000 ? number.format(ms / 1000) + ' s' : Math.floor(ms / 60000) + ' min ' + Math.round(ms % 60000 / 1000) + ' s';
const write = { ms: time, s: (s) => time(s * 1000), '%': (value) => +value.toFixed(2) + ' %', number: (value) => number.format(value) };
const make = (tag, className, text) => Object.assign(document.createElement(tag), { className: className ?? '', textContent: text ?? '' });
const row = (colour, name, value) => { const line = make('div'); if (colour) line.append(make('i', colour)); line.append(make('span', '', name), make('b', '', value)); return line; };

let hideLast = () => {};
function follow(area, places, tipOf) {
  const cursor = make('div', 'cursor'), tip = make('div', 'tip');
  tip.setAttribute('role', 'status');
  let at = -1;
  const show = (index, vertical) => {
    at = Math.max(0, Math.min(places.length - 1, index));
    const rows = tipOf(at, vertical);
    if (rows === undefined) return hide();
    tip.replaceChildren(...rows);
    if (hideLast !== hide) hideLast();
    hideLast = hide;
    area.append(cursor, tip);
    cursor.style.left = places[at] * 100 + '%';
    const right = places[at] > .5;
    tip.style.left = right ? '' : 'calc(' + places[at] * 100 + '% + 10px)';
    tip.style.right = right ? 'calc(' + (1 - places[at]) * 100 + '% + 10px)' : '';
  };
  const hide = () => { cursor.remove(); tip.remove(); };
  const nearest = (share) => { let best = 0; places.forEach((place, index) => { if (Math.abs(place - share) < Math.abs(places[best] - share)) best = index; }); return best; };
  area.addEventListener('pointermove', (event) => { const box = area.getBoundingClientRect(); show(nearest((event.clientX - box.left) / box.width), (event.clientY - box.top) / box.height); });
  area.addEventListener('pointerleave', hide);
  area.addEventListener('blur', hide);
  area.addEventListener('focus', () => { if (area.matches(':focus-visible')) show(at < 0 ? 0 : at, .5); });
  area.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(at + step, .5);
  });
  area.tabIndex = 0;
  area.setAttribute('role', 'group');
  area.setAttribute('aria-label', 'Chart; the arrow keys show values');
}

for (const chart of data.charts) {
  follow(document.querySelector('[data-chart="' + chart.id + '"] .area'), chart.at, (index) => [
    make('div', '', chart.labels[index]),
    ...chart.lines.flatMap(({ name, colour, values }) => values[index] == null ? [] : [row(colour, name, write[chart.unit](values[index]))]),
  ]);
}

if (data.map) {
  const { columns, first, bands, columnMs, robots, cells } = data.map;
  const byPlace = new Map(cells.map((cell) => [cell[0] + ' ' + cell[1], cell]));
  follow(document.querySelector('[data-map] .area'), Array.from({ length: columns }, (_, column) => (column + .5) / columns), (column, vertical) => {
    const band = Math.max(0, Math.min(bands - 1, Math.floor(vertical * bands)));
    const from = Math.ceil(band * robots / bands), to = Math.ceil((band + 1) * robots / bands) - 1;
    const cell = byPlace.get(band + ' ' + (column + first));
    const head = [make('div', '', 'robots ' + from + (to > from ? ' to ' + to : '') + ', POST from ' + time((column + first) * columnMs) + ' on')];
    if (!cell) return [...head, make('div', '', 'no roll-out')];
    const [, , attempts, slowest, late, lost] = cell;
    return [...head, row('', 'roll-outs', attempts), ...(slowest > 0 ? [row('', 'slowest in time', time(slowest))] : []), ...(late > 0 ? [row('late', 'late', late)] : []), ...(lost > 0 ? [row('lost', 'never', lost)] : [])];
  });
}
`;

// A table of the report.

/** A table wider than the page scrolls by itself. A column whose name ends in # has numbers. */
function tableOf(label: string, columns: readonly string[], rows: readonly Markup[]): Markup {
  if (rows.length === 0) return NOTHING;
  const head = columns.map(
    (name) => html`<th scope="col"${name.endsWith('#') ? html` class="n"` : NOTHING}>${name.replace(/#$/, '')}</th>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table class="data"><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

// What the processes of a run took, as a table: memory and processor by what they are for, and of one robot.

const COST_PART_COLUMNS = [
  'process',
  'number#',
  'memory, peak#',
  'at the end#',
  'processor#',
  'of one robot, whole#',
  'one more#',
];

const KINDS: Record<RunCosts['memory'], string> = {
  PSS: 'Memory is PSS: what processes share counts once.',
  RSS: 'Memory is RSS: what processes share counts in each of them.',
};

function costPart(costs: RunCosts | undefined): Markup {
  if (costs === undefined) return NOTHING;
  const rows = costParts(costs).map(([name, part]) => {
    const cells = [
      thousands(part.processes),
      mebibytes(part.peak_bytes),
      mebibytes(part.end_bytes),
      `${part.cpu_seconds.toFixed(1)} s`,
      each(part.robot_whole_bytes),
      each(part.robot_marginal_bytes),
    ];
    const kind = name === 'whole' ? html` class="sum"` : NOTHING;
    return html`<tr${kind}><th scope="row">${name}</th>${cells.map((cell) => html`<td class="n">${cell}</td>`)}</tr>`;
  });
  return html`${tableOf('Processes', COST_PART_COLUMNS, rows)}<p class="soft">${KINDS[costs.memory]} <i>Whole</i> is all memory at the peak over ${thousands(costs.robots)} robots; <i>one more</i> is the growth per robot while they came up.</p>`;
}

const each = (bytes: number | null): string => (bytes === null ? '–' : kibibytes(bytes));

// The part of the report that is about roll-outs: how far they came, which robots missed them, and where the time went.

/** More rows than this are behind a summary. */
const AT_ONCE = 12;

function rolloutPart(result: FleetResult, reach: Plot | undefined): Markup {
  const of = reachOf(result);
  if (of === undefined) return NOTHING;
  const map = rolloutMapPlot(result);
  return html`<h2 id="rollout">Roll-out</h2>${shares(of)}${reach === undefined ? NOTHING : chart(reach)}${map === undefined ? NOTHING : cellChart(map)}${missedTable(result, of)}${legs(result)}`;
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
  return html`<div class="shares"><div class="split" role="img" aria-label="Of ${thousands(attempts)} roll-outs: ${words}">${parts.map(({ name, number }) => html`<i class="${name}" style="flex:${number}"></i>`)}</div>
<ul>${parts.map(({ name, number, words: what }) => html`<li><i class="${name}"></i><b>${percentText(number, attempts)}</b> <span>${thousands(number)} of ${thousands(attempts)} ${what}</span></li>`)}</ul></div>`;
}

function missedTable({ missed, rollouts, counters }: FleetResult, { split }: Reach): Markup {
  const all = counters['rollout.missed'] ?? missed.length;
  const listed = rollouts?.missed ?? missed.map((name) => ({ name, posted_ms: undefined, late_ms: undefined }));
  if (listed.length === 0) return NOTHING;
  const rows = listed.map(
    ({ name, posted_ms, late_ms }) =>
      html`<tr><th scope="row">${name}</th><td class="n">${posted_ms === undefined ? '–' : readableDuration(posted_ms)}</td>${late_ms === undefined ? html`<td>missed</td>` : late_ms === null ? html`<td class="lost">never</td>` : html`<td class="late">late, after ${readableDuration(late_ms)}</td>`}</tr>`,
  );
  const more = all > listed.length ? ` (the first ${listed.length} of ${thousands(all)})` : ` (${listed.length})`;
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

/** Name of the report in the folder of a run. */
export const REPORT_FILE = 'report.html';

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Text of `report.html`. */
export function reportHtml(result: FleetResult): string {
  const outcome = outcomeOf(result);
  const reached = reachOf(result);
  const reach = reached && reachPlot(result, reached);
  const percentiles = percentilePlot(result);
  const times = timePlots(result);
  const plots = [reach, percentiles, ...times].filter((plot) => plot !== undefined);
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${outcome}: fleet ${result.scenario}, ${thousands(result.robots)} robots</title><style>${trusted(PALETTE + PAGE_STYLE)}</style></head><body><main>
${banner(result, outcome)}
${noteList('fail', result.incomplete_reasons)}${noteList('', result.notes)}
<div class="tiles">${tiles(result)}</div>
${violations(result)}
${titled('Thresholds', thresholds(result))}
${rolloutPart(result, reach)}
${titled('Latencies', html`${charts(percentiles === undefined ? [] : [percentiles])}${metrics(result)}`)}
${titled('Over time', charts(times))}
${titled('Processes', costPart(result.costs))}
${titled('Counters', counters(result))}
<footer>muster ${result.muster} · ${result.started_at}</footer>
</main><script type="application/json" id="data">${data(result, plots)}</script>
<script>${trusted(PAGE_SCRIPT)}</script></body></html>
`.markup;
}

const charts = (plots: readonly Plot[]): Markup => html`${plots.map(chart)}`;

function data(result: FleetResult, plots: readonly Plot[]): Markup {
  const shown = { charts: plots.map(chartData), map: rolloutMapData(result) };
  return trusted(printableJson(shown).replaceAll('<', '\\u003c'));
}

/** No heading above nothing. */
const titled = (title: string, body: Markup): Markup =>
  body.markup.trim() === '' ? NOTHING : html`<h2>${title}</h2>${body}`;

const TONES: Record<FleetOutcome, string> = { PASSED: 'pass', FAILED: 'fail', INCOMPLETE: 'fail' };

/** The outcome of the run, then what the generator was like. */
function banner(result: FleetResult, outcome: FleetOutcome): Markup {
  return html`<div class="banner ${TONES[outcome]}"><h1>${outcome}</h1><p>${meaning(result, outcome)}.</p>
<p class="soft">${facts(result).join(' · ')}</p>${generator(result)}</div>`;
}

function meaning(result: FleetResult, outcome: FleetOutcome): string {
  const { violations: found, thresholds: wanted, complete } = result;
  if (found.length > 0)
    return (
      `${found.length === 1 ? 'An event stream' : `${found.length} times, an event stream`} lost, repeated or ` +
      'reordered events'
    );
  if (!complete) return 'The run did not do all that it should, so nothing is decided';
  if (outcome === 'INCOMPLETE') return 'The load generator could not keep up, so its figures decide nothing';
  if (!isJudged(result))
    return 'This shard did all that it should; muster merge judges the thresholds of the whole fleet';
  const missed = wanted.filter(({ ok }) => !ok);
  if (missed.length > 0)
    return `${missed.length} of ${wanted.length} thresholds missed: ${missed.map(({ expr }) => expr).join(', ')}`;
  return wanted.length === 0
    ? 'Nothing went wrong; no thresholds were given'
    : `${wanted.length === 1 ? 'The threshold was met' : `All ${wanted.length} thresholds met`}, and every event ` +
        'stream was whole';
}

const GENERATOR = {
  valid: { tone: 'pass', words: 'it kept up, so the figures are those of the platform' },
  suspect: { tone: 'warn', words: 'read the figures with care' },
  invalid: { tone: 'fail', words: 'it saturated: the figures are its own' },
} as const;

function generator(result: FleetResult): Markup {
  if (measuredNothing(result)) return html`<p class="generator">Nothing was measured.</p>`;
  const { tone, words } = GENERATOR[result.verdict];
  // A run that is not complete gets no good mark.
  return html`<div class="generator ${result.complete ? tone : ''}"><p>Load generator: <b>${result.verdict}</b> – ${words}.</p>${result.verdict_reasons.length === 0 ? NOTHING : html`<ul>${result.verdict_reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`}</div>`;
}

function facts(result: FleetResult): string[] {
  const { shard, workers } = result;
  return [
    result.scenario,
    `${thousands(result.robots)} robots`,
    ...(shard === null ? [] : [`shard ${shard.index} of ${shard.count}`]),
    workers === 1 ? '1 worker' : `${workers} workers`,
    `seed ${result.seed}`,
    `uplink ${result.uplink}`,
    ...(result.uplink === 'agent' ? [`${result.key_bits}-bit keys`] : []),
    `platform ${result.platform}`,
    result.started_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
  ];
}

const noteList = (tone: string, notes: readonly string[]): Markup[] =>
  notes.map((note) => html`<p class="note ${tone}">${note}</p>`);

function tiles({
  robots,
  metrics: measured,
  start_ms,
  rss_bytes_per_robot,
  costs,
  counters: counted,
  duration_ms,
}: FleetResult): Markup[] {
  const rollout = measured['rollout.ms'];
  const bytesEach = costs === undefined ? rss_bytes_per_robot : (costs.parts.whole.robot_whole_bytes ?? 0);
  const ofThose = (counted['rollout.missed'] ?? 0) > 0 ? ' of those in time' : '';
  const shown: Record<string, string | undefined> = {
    robots: thousands(robots),
    [`roll-out p50${ofThose}`]: rollout && readableDuration(rollout.p50),
    [`roll-out p99${ofThose}`]: rollout && readableDuration(rollout.p99),
    'missed roll-outs': counted['rollout.missed'] === undefined ? undefined : thousands(counted['rollout.missed']),
    'until all served': start_ms === 0 ? undefined : readableDuration(start_ms),
    'memory per robot': bytesEach === 0 ? undefined : kibibytes(bytesEach),
    'stream violations': thousands(counted['subscriber.violations'] ?? 0),
    'whole run': readableDuration(duration_ms),
  };
  return Object.entries(shown).flatMap(([label, value]) =>
    value === undefined ? [] : [html`<div class="tile"><b>${value}</b><span>${label}</span></div>`],
  );
}

function violations({ violations: found }: FleetResult): Markup {
  if (found.length === 0) return NOTHING;
  const rows = found.map(
    ({ name, kind, message }) =>
      html`<tr><th scope="row">${name}</th><td class="lost">${kind}</td><td class="wide">${message}</td></tr>`,
  );
  return html`<h2>Event streams that lost, repeated or reordered events</h2>${tableOf('Event streams', ['robot', 'kind', 'what happened'], rows)}`;
}

function thresholds(result: FleetResult): Markup {
  const rows = result.thresholds.map(({ expr, value, ok, reason }) => {
    const [tone, outcome] = !isJudged(result)
      ? ['soft', '· of this shard; muster merge decides']
      : !result.complete
        ? ['soft', '· not evaluated']
        : ok
          ? ['pass', '✓ met']
          : ['fail', '✗ missed'];
    const why = reason === undefined ? NOTHING : html`<small>${reason}</small>`;
    return html`<tr><th scope="row" class="wide"><code>${expr}</code>${why}</th><td class="n">${thresholdValue(expr, value)}</td><td class="tone ${tone}">${outcome}</td></tr>`;
  });
  return tableOf('Thresholds', ['wanted', 'measured#', 'outcome'], rows);
}

/** The measured value of a threshold with its unit. */
export function thresholdValue(expr: string, value: number | null): string {
  if (value === null) return '–';
  const { statistic, per } = parseThreshold(expr);
  if (per === 'attempt') return `${Number((value * 100).toPrecision(3))} %`;
  if (per === 'second') return `${Number(value.toPrecision(4))}/s`;
  return statistic === 'count' ? thousands(value) : readableDuration(value);
}

const COLUMNS = [50, 90, 95, 99, 99.9];

/** Percentiles that people usually ask for, and those that this run's thresholds ask for. */
const percentsOf = (result: FleetResult): number[] =>
  [...new Set([...COLUMNS, ...result.thresholds.flatMap(({ expr }) => parseThreshold(expr).percent ?? [])])].sort(
    (a, b) => a - b,
  );

function metrics(result: FleetResult): Markup {
  const percents = percentsOf(result);
  const rows = Object.entries(result.metrics).map(([name, { count: times, max }]) => {
    const encoded = result.histograms[name];
    const from = encoded === undefined ? undefined : decode(encoded);
    const cells = percents.map(
      (percent) => html`<td class="n">${from === undefined ? '–' : readableDuration(percentileMs(from, percent))}</td>`,
    );
    return html`<tr><th scope="row">${metricName(name)}<small><code>${name}</code></small></th><td class="n">${thousands(times)}</td>${cells}<td class="n">${readableDuration(max)}</td></tr>`;
  });
  return tableOf(
    'Latencies',
    ['duration', 'count#', ...percents.map((percent) => `${percentileName(percent)}#`), 'max#'],
    rows,
  );
}

function counters(result: FleetResult): Markup {
  const rows = Object.entries(result.counters).map(
    ([name, value]) => html`<tr><th scope="row"><code>${name}</code></th><td class="n">${thousands(value)}</td></tr>`,
  );
  return tableOf('Counters', ['counter', 'count#'], rows);
}
