/** What a fleet did over time: share reached, rates, latency, and whether the generator was on time. */
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Chart, type Curve, type Stretch } from '../chart.ts';
import type { PageProps } from '../shell.ts';
import { Card, html } from '../view.ts';
import type { FleetDocument, Second } from './document.ts';

const LATENCIES = ['rollout.ms', 'http.ms', 'ping.ms', 'sync.ms', 'connect.ms', 'reconnect.ms'];
const RATES: readonly [name: string, label: string, colour: string][] = [
  ['sse.events', 'events read', 'accent'],
  ['rollout', 'roll-outs sent', 'good'],
  ['http', 'requests', 'busy'],
  ['ping', 'pings', 'warn'],
  ['http.errors', 'requests failed', 'bad'],
];

/** `12 ms`, `1.2 s`. */
export const duration = (ms: number): string => {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 || ms === 0 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
};

const number = (value: number): string => (value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(1));

export function ChartsCard({ document }: PageProps<FleetDocument>): VNode {
  const { seconds, bands, elapsedMs } = document;
  const [metric, setMetric] = useState('rollout.ms');
  const moments = useMemo(() => seconds.map(({ at }) => at / 1000), [seconds]);
  const stretches: Stretch[] = bands.map(({ label, short = label, from, to, byHand = false }) => {
    return {
      label: short,
      beside: byHand,
      from: from / 1000,
      to: (to ?? elapsedMs) / 1000,
      colour: byHand && label !== 'paused' ? 'accent' : 'soft',
    };
  });
  const curve = (label: string, colour: string, value: (second: Second) => number | undefined): Curve => {
    return { label, colour, values: seconds.map((second) => value(second) ?? null) };
  };
  const known = LATENCIES.filter((name) => seconds.some(({ p50 }) => p50[name] !== undefined));
  const share = ({ attempts }: Second, part: number): number | undefined =>
    attempts === 0 ? undefined : (100 * part) / attempts;
  const charts: {
    title: string;
    text: string;
    curves: Curve[];
    write(value: number): string;
    most?: number;
    control?: VNode;
  }[] = [
    {
      title: 'Share reached',
      text: 'Share of the roll-outs sent so far that a client on the robot has read, and that were missed',
      curves: [
        curve('reached', 'good', (second) => share(second, second.reached)),
        curve('missed', 'bad', (second) => share(second, second.missed)),
      ],
      write: (value) => `${value.toFixed(0)} %`,
      most: 100,
    },
    {
      title: 'Latency',
      text: `Latency ${metric} over time: median and 99th percentile`,
      curves: [curve('p50', 'busy', ({ p50 }) => p50[metric]), curve('p99', 'warn', ({ p99 }) => p99[metric])],
      write: duration,
      control: html`<select aria-label="Latency" value=${metric} onChange=${(event: Event) => setMetric((event.target as HTMLSelectElement).value)}>
        ${[...new Set([metric, ...known])].map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
      </select>`,
    },
    {
      title: 'Rates a second',
      text: 'Events and requests a second',
      curves: RATES.map(([name, label, colour]) => curve(label, colour, ({ rates }) => rates[name] ?? 0)),
      write: number,
    },
    {
      title: 'Generator',
      text: 'Lateness of the load generator, 99th percentile, and its longest standstill in a second',
      curves: [
        curve('lateness p99', 'accent', ({ p99 }) => p99['schedule.lateness.ms']),
        curve('standstill', 'warn', ({ stallMs }) => stallMs),
      ],
      write: duration,
    },
  ];
  return html`<div class="charts">${charts.map(
    ({ title, control, ...chart }) => html`<${Card} key=${title} title=${title} note=${control}>
      <${Chart} ...${chart} moments=${moments} stretches=${stretches} />
    <//>`,
  )}</div>`;
}
