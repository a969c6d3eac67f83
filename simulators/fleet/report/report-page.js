// Shows the values under the pointer, or under a cursor that the arrow keys move. The page reads the same without it.
const data = JSON.parse(document.getElementById('data').textContent);
const number = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const time = (ms) => {
  if (ms < 1) return `${number.format(ms * 1000)} \u00b5s`;
  if (ms < 1000) return `${number.format(ms)} ms`;
  if (ms < 60000) return `${number.format(ms / 1000)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
};
const write = {
  ms: time,
  s: (s) => time(s * 1000),
  '%': (value) => `${+value.toFixed(2)} %`,
  number: (value) => number.format(value),
};
const make = (tag, className, text) =>
  Object.assign(document.createElement(tag), { className: className ?? '', textContent: text ?? '' });
const row = (colour, name, value) => {
  const line = make('div');
  if (colour) line.append(make('i', colour));
  line.append(make('span', '', name), make('b', '', value));
  return line;
};

let hideLast = () => {};
function follow(area, places, tipOf) {
  const cursor = make('div', 'cursor');
  const tip = make('div', 'tip');
  tip.setAttribute('role', 'status');
  let at = -1;
  const show = (index) => {
    at = Math.max(0, Math.min(places.length - 1, index));
    tip.replaceChildren(...tipOf(at));
    if (hideLast !== hide) hideLast();
    hideLast = hide;
    area.append(cursor, tip);
    cursor.style.left = `${places[at] * 100}%`;
    const right = places[at] > 0.5;
    tip.style.left = right ? '' : `calc(${places[at] * 100}% + 10px)`;
    tip.style.right = right ? `calc(${(1 - places[at]) * 100}% + 10px)` : '';
  };
  const hide = () => {
    cursor.remove();
    tip.remove();
  };
  const nearest = (share) =>
    places.reduce((best, place, index) => (Math.abs(place - share) < Math.abs(places[best] - share) ? index : best), 0);
  area.addEventListener('pointermove', (event) => {
    const box = area.getBoundingClientRect();
    show(nearest((event.clientX - box.left) / box.width));
  });
  area.addEventListener('pointerleave', hide);
  area.addEventListener('blur', hide);
  area.addEventListener('focus', () => {
    if (area.matches(':focus-visible')) show(Math.max(at, 0));
  });
  area.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(at + step);
  });
  area.tabIndex = 0;
  area.setAttribute('role', 'group');
  area.setAttribute('aria-label', 'Chart; the arrow keys show values');
}

for (const chart of data.charts) {
  follow(document.querySelector(`[data-chart="${chart.id}"] .area`), chart.at, (index) => [
    make('div', '', chart.labels[index]),
    ...chart.lines.flatMap(({ name, colour, values }) =>
      values[index] == null ? [] : [row(colour, name, write[chart.unit](values[index]))],
    ),
  ]);
}
