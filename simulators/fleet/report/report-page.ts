/** Style and script of the report page, as text: the page is one file and loads nothing. */

export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e8ea); --soft: light-dark(#57606a, #9aa4af);
  --line: light-dark(#d5dae0, #363c44); --card: light-dark(#ffffff, #1d2126); --page: light-dark(#f4f6f8, #14171a);
  --good: light-dark(#1a7f37, #4ac26b); --poor: light-dark(#9a6700, #d4a72c); --bad: light-dark(#cf222e, #ff7b72); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1060px; margin: 0 auto; padding: clamp(14px, 3vw, 28px) clamp(12px, 3vw, 24px) 60px; }
h1 { font-size: 24px; margin: 0; display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 10px; } h3 { font-size: 14px; font-weight: 600; color: var(--soft); margin: 18px 0 6px; }
.badge { padding: 1px 11px; border-radius: 12px; color: #fff; font-size: 14px; }
.badge.good { background: #1a7f37; } .badge.poor { background: #9a6700; } .badge.bad { background: #cf222e; }
.facts { color: var(--soft); margin: 6px 0 14px; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 0 18px; }
.facts li, .note { overflow-wrap: anywhere; }
.note { margin: 8px 0; padding: 8px 14px; background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--soft); border-radius: 6px; }
.note.good { border-left-color: var(--good); } .note.poor { border-left-color: var(--poor); } .note.bad { border-left-color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 10px; margin: 18px 0; }
.tile, .plot, .scroll { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 10px 14px; } .tile b { display: block; font-size: 20px; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.plot { padding: 12px 8px 10px; overflow: hidden; }
.scroll { overflow-x: auto; margin: 10px 0; }
.data { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.data th { text-align: left; font-weight: 600; color: var(--soft); font-size: 13px; }
.data th, .data td { padding: 6px 14px; border-top: 1px solid var(--line); white-space: nowrap; } .data tr:first-child > * { border-top: 0; }
.data .n { text-align: right; } .data .wide { white-space: normal; width: 100%; min-width: 11em; overflow-wrap: anywhere; } .data small { display: block; color: var(--soft); font-size: 13px; }
.data td:first-child, .data th:first-child { position: sticky; left: 0; background: var(--card); }
.data .good, .data .poor, .data .bad, .data .none { font-weight: 600; } h2.bad { color: var(--bad); }
.data .good { color: var(--good); } .data .poor { color: var(--poor); } .data .bad { color: var(--bad); } .data .none { color: var(--soft); }
.u-legend.u-inline { display: block; width: 100%; margin: 6px 0 0; padding: 0 8px; color: var(--ink); font-size: 13px; text-align: left; }
.u-legend.u-inline tbody { display: grid; grid-template-columns: repeat(auto-fill, minmax(245px, 1fr)); gap: 0 18px; }
.u-legend.u-inline .u-series { display: flex; align-items: center; margin: 0; min-width: 0; }
.u-legend .u-series > * { padding: 2px 0; } .u-legend th { font-weight: 400; text-align: left; } .u-legend .u-marker { width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; }
.u-legend.u-live th::after { content: ''; } .u-legend .u-value { margin-left: auto; padding-left: 10px; color: var(--soft); font-variant-numeric: tabular-nums; }
.u-legend .u-series:first-child { color: var(--soft); order: 1; } .u-legend .u-series:first-child .u-marker { display: none; }
.u-legend .u-series:first-child .u-value { margin-left: 0; } .plot:not(.pointed) .u-legend .u-value, .plot:not(.pointed) .u-legend .u-series:first-child { visibility: hidden; }
@media (max-width: 560px) { body { font-size: 14px; } h1 { font-size: 21px; } .data th, .data td { padding: 6px 10px; } .u-legend.u-inline { padding: 0 4px; } .tiles { grid-template-columns: repeat(2, 1fr); } }
@media print { .plot, .tile, .scroll { break-inside: avoid; } }
`;

/** Draws every plot of \`data\`, anew when the window or the colour scheme changes; uPlot is on the page already. */
export const PAGE_SCRIPT = `
const data = JSON.parse(document.getElementById('data').textContent);
const scheme = matchMedia('(prefers-color-scheme: dark)');
const light = ['#0969da', '#bc4c00', '#1a7f37', '#8250df', '#bf3989', '#9a6700', '#0f7f8c', '#cf222e', '#57606a', '#5b8c00', '#3f4fd0', '#a0522d'];
const dark = ['#58a6ff', '#f0883e', '#4ac26b', '#b690f8', '#f078b6', '#d4a72c', '#56d4dd', '#ff7b72', '#9aa4af', '#a5d63f', '#8c9bff', '#d9a07c'];
const short = (value) => value == null ? '' : Math.abs(value) >= 1000 ? value.toLocaleString('en') : String(+value.toPrecision(3));
const time = (ms) => ms == null ? '' : ms === 0 ? '0' : ms < 1 ? short(ms * 1000) + ' \\u00b5s' : ms < 1000 ? short(ms) + ' ms' : short(ms / 1000) + ' s';
const height = (width) => width < 500 ? 210 : 260;
function draw(plot, host) {
  const colours = scheme.matches ? dark : light;
  const ink = scheme.matches ? '#9aa4af' : '#57606a', line = scheme.matches ? '#363c44' : '#e4e8ec';
  const write = plot.y === 'ms' ? time : (value) => value == null ? '' : short(value) + (plot.y === '%' ? ' %' : '');
  const labels = plot.x === 'percentile' ? (at) => +(100 - 100 / 10 ** at).toFixed(2) + ' %' : plot.x === 'ms' ? time : (at) => short(at) + ' s';
  const axis = { stroke: ink, font: '12px system-ui, sans-serif', grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const width = host.clientWidth - 16;
  return new uPlot({
    width, height: height(width), padding: [10, 32, 0, 0],
    scales: { x: { time: false }, y: plot.log ? { distr: 3 } : { range: (u, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [
      { ...axis, size: 34, space: 64, values: (u, ticks) => ticks.map(labels), ...(plot.x === 'percentile' ? { splits: () => [0, 1, 2, 3, 4] } : {}) },
      { ...axis, size: 64, values: (u, ticks) => ticks.map((tick) => tick == null ? '' : write(tick)) },
    ],
    hooks: { setCursor: [(u) => host.classList.toggle('pointed', u.cursor.idx != null)] },
    series: [
      { label: plot.x === 'percentile' ? 'percentile' : 'at', value: (u, at) => at == null ? '' : labels(at) },
      ...plot.series.map((series, index) => ({
        label: series.name, stroke: colours[index % colours.length], fill: undefined, width: 1.75, spanGaps: true,
        ...(index >= colours.length ? { dash: [6, 4] } : {}),
        points: { show: plot.points === true ? undefined : false }, value: (u, value) => write(value),
      })),
    ],
  }, [plot.at, ...plot.series.map((series) => series.values)], host);
}
for (const plot of data) {
  const host = document.getElementById(plot.id);
  let chart = draw(plot, host);
  new ResizeObserver(() => {
    const width = host.clientWidth - 16;
    if (width > 0 && width !== chart.width) chart.setSize({ width, height: height(width) });
  }).observe(host);
  scheme.addEventListener('change', () => { chart.destroy(); chart = draw(plot, host); });
}
`;
