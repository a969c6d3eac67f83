/** Starts a simulated device and runs the device suite against it, or against another server. For tests. */

import { join } from 'node:path';
import { expect } from 'vitest';
import { Redactor } from '../../../harness/client/redact.ts';
import { defined } from '../../../harness/common/defined.ts';
import { makePlan, type PlanOptions } from '../../../harness/runner/plan.ts';
import { runSuite } from '../../../harness/runner/run.ts';
import type { CheckResult, Report } from '../../../harness/runner/types.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import { willingControl } from '../../../simulators/defects/willing-control.ts';
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
  /** Runs every check whatever becomes of its premises, as each is run when it is the only one. */
  alone?: boolean;
}

export async function runDeviceSuite(run: TestRun): Promise<Report> {
  const { socket, discovery, control, patienceMs = 10_000, alone = false, ...choice } = run;
  const redactor = new Redactor();
  await using target = await openDeviceTarget({
    redactor,
    env: {},
    patienceMs,
    ...defined({ socket, discovery, control }),
  });
  const plan = makePlan(deviceSuite, { ...choice, capabilities: target.capabilities });
  const withoutPremises = plan.checks.map((planned) => ({ ...planned, check: { ...planned.check, premises: [] } }));
  return await runSuite(deviceSuite, {
    plan: alone ? { ...plan, checks: withoutPremises } : plan,
    target: target.description,
    context: target.context,
    redactor,
    seed: SEED,
    version: 'test',
    ...defined({ unreachable: target.unreachable }),
  });
}

/** Runs each check alone against a server that does nothing, whose control agrees to everything. Gives the MUSTs that pass. */
export async function passesWhereNothingHappens(kind: NullServerName): Promise<string[]> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(scratch());
  const { address: socket } = stack.use(await nullServer(kind, { path: join(path, 'null.sock') }));
  const { address: control } = stack.use(await willingControl({ path: join(path, 'control.sock') }, path));
  const report = await runDeviceSuite({ socket, control, fast: true, alone: true, patienceMs: 200 });
  return report.checks.filter(({ level, outcome }) => level !== 'INFO' && outcome === 'pass').map(({ id }) => id);
}

/** Runs the whole suite over one transport: nothing may be red, and nothing skipped but for the other transport, and what `choice` leaves out. */
export async function expectPassesEverything(
  transport: TransportName,
  choice: Pick<TestRun, 'fast' | 'profile'> = {},
): Promise<void> {
  await using started = await startDevice(transport);
  const report = await runDeviceSuite({ ...started.address, control: started.control, ...choice });
  expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  expect(report.exit_code).toBe(0);
  const skipped = report.checks
    .filter(({ outcome, reason }) => outcome === 'not_applicable' && reason?.startsWith('not run: ') !== true)
    .map(({ id }) => id);
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
