/** Renders the section of a fleet report with figures by phase and class of robot. */
import { readableDuration } from '../../../harness/common/durations.ts';
import { html, type Markup, NOTHING } from '../../../harness/common/html.ts';
import { thousands } from '../measure/costs.ts';
import { type DurationName, type Labels, unlabelled } from '../measure/metrics.ts';
import type { FleetResult } from '../result/result.ts';
import { tableOf } from './chart.ts';
import { metricName } from './plots.ts';

const TOLD: Partial<Record<DurationName, string>> = {
  'rollout.ms': 'rollout.missed',
  'ping.ms': 'ping.errors',
  'http.ms': 'http.errors',
  'connect.ms': 'connect.errors',
  'sync.ms': 'sync.errors',
  'reconnect.ms': 'uplink.lost',
};

interface Row extends Labels {
  name: string;
  key: string;
}

const phaseNumber = ({ phase = '' }: Labels): number => Number.parseInt(phase, 10) || 0;

function rowsOf({ metrics, counters }: Pick<FleetResult, 'metrics' | 'counters'>): Row[] {
  const measured = Object.keys(metrics);
  const failed = Object.keys(counters).flatMap((key) => {
    const { name } = unlabelled(key);
    const duration = Object.keys(TOLD).find((told) => TOLD[told as DurationName] === name);
    return duration === undefined || counters[key] === 0 ? [] : [key.replace(name, duration)];
  });
  const rows = [...new Set([...measured, ...failed])].flatMap((key) => {
    const { name, labels } = unlabelled(key);
    return labels !== undefined && name in TOLD ? [{ name, key, ...labels }] : [];
  });
  const place = ({ name }: Row): number => Object.keys(TOLD).indexOf(name);
  return rows.sort((a, b) => phaseNumber(a) - phaseNumber(b) || place(a) - place(b));
}

export function partsOf(result: Pick<FleetResult, 'metrics' | 'counters'>): Markup {
  const rows = rowsOf(result);
  const parts = new Set(rows.map(({ phase, class: name }) => `${phase} ${name}`));
  if (parts.size < 2) return NOTHING;
  const hasClasses = rows.some(({ class: name }) => name !== undefined);
  const body = rows.map(({ key, name, phase = '', class: own }) => {
    const { count = 0, p50, p99, max } = result.metrics[key] ?? {};
    const failed = result.counters[key.replace(name, TOLD[name as DurationName] ?? '')] ?? 0;
    const times = [p50, p99, max].map((ms) => (ms === undefined ? '–' : readableDuration(ms)));
    return [
      html`<th scope="row">${phase.replace('-', ' ')}</th>`,
      ...(hasClasses ? [own ?? 'all'] : []),
      metricName(name),
      thousands(count),
      thousands(failed),
      ...times,
    ];
  });
  const columns = ['phase', ...(hasClasses ? ['class'] : []), 'duration', 'count#', 'failed#'];
  const title = hasClasses ? 'By phase and class' : 'By phase';
  return html`<h2>${title}</h2>${tableOf(title, [...columns, 'p50#', 'p99#', 'max#'], body)}`;
}
