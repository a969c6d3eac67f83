/** Style and script of the report page, as text: the page is one file and loads nothing. */

export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e8ea); --soft: light-dark(#59636e, #9aa4af);
  --line: light-dark(#d5dae0, #363c44); --card: light-dark(#ffffff, #1d2126); --page: light-dark(#f4f6f8, #14171a);
  --good: light-dark(#1a7f37, #4ac26b); --poor: light-dark(#9a6700, #d4a72c); --bad: light-dark(#cf222e, #ff7b72); }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1060px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 17px; margin: 34px 0 10px; } p { margin: 6px 0; color: var(--soft); }
.badge { display: inline-block; padding: 2px 10px; border-radius: 12px; color: #fff; font-size: 14px; vertical-align: 3px; }
.good { color: var(--good); } .poor { color: var(--poor); } .bad { color: var(--bad); }
.badge.good { background: #1a7f37; color: #fff; } .badge.poor { background: #9a6700; color: #fff; } .badge.bad { background: #cf222e; color: #fff; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 18px 0; }
.tile, .plot, table { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 10px 14px; } .tile b { display: block; font-size: 21px; } .tile span { color: var(--soft); font-size: 13px; }
.plot { padding: 10px 10px 4px; margin: 10px 0; overflow-x: auto; } .scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; width: 100%; } th { text-align: left; font-weight: 600; color: var(--soft); font-size: 13px; }
th, td { padding: 6px 12px; border-top: 1px solid var(--line); white-space: nowrap; } tr:first-child > * { border-top: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } td.wide { white-space: normal; }
.u-legend { color: var(--soft); font-size: 13px; }
`;

/** Draws every plot of \`data\`; uPlot is on the page already. */
export const PAGE_SCRIPT = `
const data = JSON.parse(document.getElementById('data').textContent);
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
const ink = dark ? '#9aa4af' : '#59636e', line = dark ? '#363c44' : '#e4e8ec';
const colours = ['#2f81f7', '#f0883e', '#3fb950', '#a371f7', '#db61a2', '#d4a72c', '#56d4dd', '#ff7b72'];
const short = (value) => value == null ? '' : Math.abs(value) >= 1000 ? value.toLocaleString('en') : String(+value.toPrecision(3));
const time = (ms) => ms == null ? '' : ms < 1 ? short(ms * 1000) + ' \\u00b5s' : ms < 1000 ? short(ms) + ' ms' : short(ms / 1000) + ' s';
for (const plot of data) {
  const host = document.getElementById(plot.id);
  const write = plot.y === 'ms' ? time : (value) => value == null ? '' : short(value) + (plot.y === '%' ? ' %' : '');
  const labels = plot.x === 'percentile' ? (at) => +(100 - 100 / 10 ** at).toFixed(2) + ' %' : plot.x === 'ms' ? time : (at) => short(at) + ' s';
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  new uPlot({
    width: host.clientWidth - 20, height: 260,
    scales: { x: { time: false }, y: plot.log ? { distr: 3 } : { range: (u, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [
      { ...axis, values: (u, ticks) => ticks.map(labels), ...(plot.x === 'percentile' ? { splits: () => [0, 1, 2, 3, 4] } : {}) },
      { ...axis, size: 72, values: (u, ticks) => ticks.map((tick) => tick == null ? '' : write(tick)) },
    ],
    series: [
      { value: (u, at) => at == null ? '' : labels(at) },
      ...plot.series.map((series, index) => ({
        label: series.name, stroke: colours[index % colours.length], width: 1.5, spanGaps: true,
        points: { show: plot.points === true ? undefined : false }, value: (u, value) => write(value),
      })),
    ],
  }, [plot.at, ...plot.series.map((series) => series.values)], host);
}
`;
