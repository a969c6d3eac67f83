/** The result of a fleet in a few lines for people. */
import { join, relative } from 'node:path';
import { thresholdValue } from '../load/report.ts';
import type { FleetResult } from '../load/result.ts';
import { readableMs } from '../load/units.ts';

export function summaryText(result: FleetResult, out: string): string {
  const lines = [
    `${result.scenario}: ${result.robots.toLocaleString('en')} robots, seed ${result.seed}, ${readableMs(result.duration_ms)}`,
    `verdict: ${result.verdict}${result.complete ? '' : ', incomplete'}`,
    ...[...result.incomplete_reasons, ...result.verdict_reasons, ...result.notes].map((reason) => `  ${reason}`),
  ];
  for (const [name, of] of Object.entries(result.metrics)) {
    lines.push(
      `  ${name.padEnd(24)} ${String(of.count).padStart(8)} × p50 ${readableMs(of.p50).padStart(9)}  p90 ${readableMs(of.p90).padStart(9)}  p99 ${readableMs(of.p99).padStart(9)}  max ${readableMs(of.max).padStart(9)}`,
    );
  }
  const errors = Object.entries(result.counters).filter(([name, count]) => name.endsWith('.errors') && count > 0);
  for (const [name, count] of errors) lines.push(`  ${name.padEnd(24)} ${String(count).padStart(8)}`);
  for (const { expr, value, ok, reason } of result.thresholds) {
    lines.push(
      `${ok ? 'met   ' : 'missed'} ${expr}  (${value === null ? (reason ?? '') : thresholdValue(expr, value)})`,
    );
  }
  for (const { name, kind, message } of result.violations)
    lines.push(`stream of ${name} was not whole: ${kind}: ${message}`);
  if (result.missed.length > 0) lines.push(`no event of the roll-out reached: ${result.missed.join(', ')}`);
  lines.push(`report: ${relative(process.cwd(), join(out, 'report.html')) || 'report.html'}`);
  return `${lines.join('\n')}\n`;
}
