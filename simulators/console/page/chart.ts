import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { colourOf, followLook, html } from './shell.ts';

export interface Curve {
  label: string;
  /** CSS variable of the page, e.g. `good`. */
  colour: string;
  values: (number | null)[];
}

export interface Stretch {
  label: string;
  /** Seconds on the time axis. */
  from: number;
  to: number;
  colour: string;
  beside?: boolean;
}

interface ChartProps {
  text: string;
  /** Seconds. */
  moments: number[];
  curves: Curve[];
  stretches: readonly Stretch[];
  /** Upper end of the y axis. Default: fits the values. */
  most?: number;
  write(value: number): string;
}

const HEIGHT = 170;

export function Chart(props: ChartProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const plot = useRef<UPlot | undefined>(undefined);
  const { moments, curves, text } = props;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const make = (): void => {
      plot.current?.destroy();
      plot.current = new UPlot(optionsOf(latest, element.clientWidth), dataOf(latest.current), element);
    };
    make();
    const resize = (): void => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT });
    const unfollow = followLook(element, resize, make);
    return () => {
      unfollow();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(latest.current)), [moments, curves]);
  return html`<div class="chart" role="img" aria-label=${text} ref=${place}></div>`;
}

const dataOf = ({ moments, curves }: ChartProps): UPlot.AlignedData => [moments, ...curves.map(({ values }) => values)];

function optionsOf(latest: { current: ChartProps }, width: number): UPlot.Options {
  const { curves, write, most: fixed } = latest.current;
  const axis = { stroke: colourOf('soft'), grid: { stroke: colourOf('line'), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false }, y: { range: (_plot, _least, most) => [0, fixed ?? Math.max(most ?? 0, 1) * 1.08] } },
    axes: [
      { ...axis, size: 30, values: (_plot, splits) => splits.map((seconds) => `${seconds} s`) },
      { ...axis, size: 62, values: (_plot, splits) => splits.map(write) },
    ],
    series: [
      { label: 'at', value: (_plot, seconds) => (seconds == null ? '' : `${seconds.toFixed(0)} s`) },
      ...curves.map(({ label, colour }) => ({
        label,
        stroke: colourOf(colour),
        width: 2,
        points: { show: false },
        // Shows the latest value if no mouse is over the chart.
        value: (_plot: UPlot, value: number | null, index: number, at: number | null) => {
          const { values = [] } = latest.current.curves[index - 1] ?? {};
          const shown = at === null ? values.findLast((one) => one !== null) : value;
          return shown == null ? '–' : write(shown);
        },
      })),
    ],
    legend: { markers: { width: 0, fill: (_plot, index) => colourOf(curves[index - 1]?.colour ?? 'soft') } },
    cursor: { drag: { x: false, y: false }, sync: { key: 'run' } },
    hooks: { drawClear: [(plot) => drawStretches(plot, latest.current.stretches)] },
  };
}

const BESIDE_LINES = 4;

function drawStretches(plot: UPlot, stretches: readonly Stretch[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  let named = 0;
  stretches.forEach(({ label, from, to, colour, beside = false }, index) => {
    const left = Math.max(plot.valToPos(from, 'x', true), bbox.left);
    const width = Math.max(Math.min(plot.valToPos(to, 'x', true), bbox.left + bbox.width) - left, 1);
    const tone = colourOf(colour);
    ctx.globalAlpha = colour === 'soft' ? (index % 2 === 0 ? 0.05 : 0.1) : 0.2;
    ctx.fillStyle = tone;
    ctx.fillRect(left, bbox.top, width, bbox.height);
    const room = ctx.measureText(label).width + 8 * devicePixelRatio;
    if (!beside && width < room) return;
    const line = beside ? 2 + (named % BESIDE_LINES) : 1;
    if (beside) named += 1;
    const start = beside ? Math.min(left, bbox.left + bbox.width - room) : left;
    ctx.globalAlpha = 1;
    ctx.fillText(label, start + 4 * devicePixelRatio, bbox.top + 13 * line * devicePixelRatio);
  });
  ctx.restore();
}
