/** Starts a simulated device and runs the device suite against it, or against another server. For tests. */
import { expect } from 'vitest';
import { Redactor } from '../../../harness/client/redact.ts';
import { makePlan, type PlanOptions } from '../../../harness/runner/plan.ts';
import { runSuite } from '../../../harness/runner/run.ts';
import type { CheckResult, Report } from '../../../harness/runner/types.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import type { DeviceBehaviour } from '../../../simulators/device/index.ts';
import { deviceOver, type ReachableDevice } from '../../../simulators/device/testing/robot.ts';
import type { TransportName } from '../../../simulators/device/transport/index.ts';
import { deviceSuite } from '../index.ts';

/** Short, so that a check sees several in a test. */
const HEARTBEAT_MS = 500;
const SEED = 3;

export const startDevice = (transport: TransportName, behaviour?: DeviceBehaviour): Promise<ReachableDevice> =>
  deviceOver(transport, { heartbeatMs: HEARTBEAT_MS, seed: SEED, ...(behaviour && { behaviour }) });

export interface TestRun extends Omit<PlanOptions, 'capabilities'> {
  socket?: string;
  discovery?: string;
  control?: string;
  patienceMs?: number;
}

export async function runDeviceSuite(run: TestRun): Promise<Report> {
  const { socket, discovery, control, patienceMs = 10_000, ...plan } = run;
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
    seed: SEED,
    version: 'test',
    ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
  });
}

/** Runs the whole suite over one transport: nothing may be red, and nothing skipped but for the other transport. */
export async function expectPassesEverything(transport: TransportName): Promise<void> {
  await using started = await startDevice(transport);
  const report = await runDeviceSuite({ ...started.address, control: started.control });
  expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  expect(report.exit_code).toBe(0);
  const skipped = report.checks.filter(({ outcome }) => outcome === 'not_applicable').map(({ id }) => id);
  const other = transport === 'unix' ? 'device.loopback.' : 'device.socket.';
  // Besides the other transport, only checks that depend on how checks overlap, or on the machine.
  const may = [
    'device.deployment.shape',
    'device.deployment.merge',
    'device.socket.permissions',
    'device.loopback.only',
  ];
  const unexpected = skipped.filter((id) => !id.startsWith(other) && !id.endsWith('.retained') && !may.includes(id));
  expect(unexpected).toEqual([]);
}

/** The results with these outcomes, one line each. */
export const resultsWith = (report: Report, ...outcomes: CheckResult['outcome'][]): string[] =>
  report.checks.filter(({ outcome }) => outcomes.includes(outcome)).map(inOneLine);

function inOneLine({ id, outcome, expected, actual, reason, counterexample, observations }: CheckResult): string {
  const what = expected === undefined ? (reason ?? '') : `expected ${expected}; actual: ${actual}`;
  const example = counterexample === undefined ? '' : `; counterexample ${String(counterexample)}`;
  return `${outcome} ${id}: ${what}${example}${outcome === 'warn' ? ` ${observations?.join(' | ')}` : ''}`;
}
