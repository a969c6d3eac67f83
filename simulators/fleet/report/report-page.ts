/** The style and the script of a fleet's report. The report can be read without the script. */

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
