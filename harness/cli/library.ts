/**
 * Library entry `muster-conformance`: checks a target from a program.
 *
 *     const report = await check(deviceSuite, () => openDevice({ socket: '/run/agent.sock' }), { fast: true });
 *     if (report.exit_code !== 0) …
 *
 * A UsageError has the stable `code` `MUSTER_USAGE`, a ControlError `MUSTER_CONTROL`.
 */
import { defined } from '../common/defined.ts';
import '../common/node22.ts';
import { randomInt } from 'node:crypto';
import { Redactor } from '../common/redact.ts';
import type { Demands } from '../runner/coverage.ts';
import { makePlan, type PlanOptions, refuseWriting } from '../runner/plan.ts';
import { runSuite } from '../runner/run.ts';
import type { Report, Suite } from '../runner/types.ts';
import { openClientTarget } from '../targets/client/open-client.ts';
import {
  type ClientTargetOptions,
  type DeviceTargetOptions,
  PATIENCE_MS,
  type PlatformTargetOptions,
} from '../targets/fields.ts';
import { openDeviceTarget } from '../targets/open-device.ts';
import { openPlatformTarget } from '../targets/open-platform.ts';
import { openSystemTarget } from '../targets/open-system.ts';
import type { ClientContext, DeviceContext, OpenedTarget, PlatformContext, SystemContext } from '../targets/opened.ts';
import { LONGEST_PATIENCE_SECONDS } from './check-options.ts';
import { VERSION } from './version.ts';

export { clientSuite } from '../../suites/client/index.ts';
export { deviceSuite } from '../../suites/device/index.ts';
export { platformSuite } from '../../suites/platform/index.ts';
export { systemSuite } from '../../suites/system/index.ts';
export { prettyText } from '../reports/pretty.ts';
export { applyBaseline, type Baseline, type BaselineEntry } from '../runner/baseline.ts';
export type { Demands } from '../runner/coverage.ts';
export { checks, requirement, suite } from '../runner/define.ts';
export type * from '../runner/types.ts';
export { type Control, ControlError } from '../targets/control/control.ts';
export { HttpControl } from '../targets/control/ends.ts';
export type { ClientContext, DeviceContext, OpenedTarget, PlatformContext, SystemContext };

function patience(ms: number): number {
  const most = LONGEST_PATIENCE_SECONDS * 1000;
  if (ms > 0 && ms <= most) return ms;
  throw new RangeError(`patienceMs must be a number above 0, up to ${most}, not ${ms}`);
}

/** Opens an agent; sets `unreachable` if the target does not answer. Throws UsageError if no target is given. */
export async function openDevice(
  options: Omit<DeviceTargetOptions, 'redactor' | 'patienceMs'>,
  patienceMs: number = PATIENCE_MS,
): Promise<OpenedTarget<DeviceContext>> {
  return openDeviceTarget({ ...options, redactor: new Redactor(), patienceMs: patience(patienceMs) });
}

/** Opens a platform; sets `unreachable` if the target does not answer. Throws UsageError if no target is given. */
export async function openPlatform(
  options: Omit<PlatformTargetOptions, 'redactor' | 'patienceMs'>,
  patienceMs: number = PATIENCE_MS,
): Promise<OpenedTarget<PlatformContext>> {
  return openPlatformTarget({ ...options, redactor: new Redactor(), patienceMs: patience(patienceMs) });
}

/** Opens a client, which is started once for each situation of a check. Throws UsageError if no client is given. */
export async function openClient(
  options: Omit<ClientTargetOptions, 'redactor' | 'patienceMs'>,
  patienceMs: number = PATIENCE_MS,
): Promise<OpenedTarget<ClientContext>> {
  return openClientTarget({ ...options, redactor: new Redactor(), patienceMs: patience(patienceMs) });
}

/** Opens an agent and its platform as one target, and closes them together. */
export async function openSystem(
  { device, platform, deviceId }: SystemOptions,
  patienceMs: number = PATIENCE_MS,
): Promise<OpenedTarget<SystemContext>> {
  await using stack = new AsyncDisposableStack();
  const agent = stack.use(await openDevice(device, patienceMs));
  const id = typeof deviceId === 'string' ? deviceId : await deviceId();
  const service = stack.use(await openPlatform({ ...platform, onlineDevice: id }, patienceMs));
  const all = stack.move();
  const close = (): Promise<void> => all.disposeAsync();
  return openSystemTarget({ device: agent, platform: service, deviceId: id, links: undefined, close });
}

export interface SystemOptions {
  device: Parameters<typeof openDevice>[0];
  platform: Parameters<typeof openPlatform>[0];
  /** Id of the device of this agent on the platform, or a function that finds the id. */
  deviceId: string | (() => Promise<string>);
}

export interface CheckOptions extends Omit<PlanOptions, 'capabilities'> {
  /** Seed of random choices; the same seed repeats a run. Default: random, recorded in the report. */
  seed?: number;
  /** Factor for the number of inputs that checks try. Default: 1, or 0.4 with `fast`. */
  runs?: number;
  repeat?: number;
  signal?: AbortSignal;
  /** Required capabilities, minimum of decided checks (count or percent); an unmet demand turns exit code 0 into 2. */
  demands?: Demands;
}

/** Opens the target, runs the suite and closes the target. `exit_code` equals the exit code of `muster check`. */
export async function check<Context>(
  suite: Suite<Context>,
  open: () => Promise<OpenedTarget<Context>>,
  options: CheckOptions = {},
): Promise<Report> {
  const { seed = randomInt(2 ** 31), runs, repeat, signal, demands, ...plan } = options;
  await using target = await open();
  const { capabilities } = target;
  refuseWriting(plan, capabilities);
  // `await` keeps the target open until the end of the run.
  return await runSuite(suite, {
    plan: makePlan(suite, { ...plan, capabilities, readOnly: !capabilities.has('write') }),
    target: target.description,
    context: (recorder, aborted) => target.context(recorder, aborted),
    redactor: target.redactor ?? new Redactor(),
    seed,
    version: VERSION,
    settle: (results) => {
      target.conclude();
      return results;
    },
    ...defined({ runs, repeat, signal, demands, unreachable: target.unreachable }),
  });
}
