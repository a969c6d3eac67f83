/** Runs the device suite, or a part of it, against a server that a test started. */

import { Redactor } from '../../../harness/client/redact.ts';
import { makePlan, type PlanOptions } from '../../../harness/runner/plan.ts';
import { runSuite } from '../../../harness/runner/run.ts';
import type { CheckResult, Report } from '../../../harness/runner/types.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import { deviceSuite } from '../index.ts';

export interface Judging extends Omit<PlanOptions, 'capabilities'> {
  socket?: string;
  discovery?: string;
  control?: string;
  seed?: number;
  runs?: number;
  patienceMs?: number;
}

export async function judgeDevice(options: Judging): Promise<Report> {
  const { socket, discovery, control, seed = 1, runs = 1, patienceMs = 10_000, ...plan } = options;
  const redactor = new Redactor();
  await using target = await openDeviceTarget({
    redactor,
    env: {},
    patienceMs,
    ...(socket === undefined ? {} : { socket }),
    ...(discovery === undefined ? {} : { discovery }),
    ...(control === undefined ? {} : { control }),
  });
  return await runSuite(deviceSuite, {
    plan: makePlan(deviceSuite, { ...plan, capabilities: target.capabilities }),
    target: target.description,
    context: target.context,
    redactor,
    seed,
    runs,
    version: 'test',
    ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
  });
}

/** Results of these outcomes, one line each, as a test shows them. */
export const those = (report: Report, ...outcomes: CheckResult['outcome'][]): string[] =>
  report.checks
    .filter(({ outcome }) => outcomes.includes(outcome))
    .map(
      ({ id, outcome, expected, actual, reason, counterexample, observations }) =>
        `${outcome} ${id}: ${expected === undefined ? (reason ?? '') : `expected ${expected}; actual: ${actual}`}${counterexample === undefined ? '' : `; counterexample ${String(counterexample)}`}${outcome === 'warn' ? ` ${observations?.join(' | ')}` : ''}`,
    );
