/** Subjects of the device suite: the reference device, and the device with every defect, and with every variant. */
import { join } from 'node:path';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import { variants as slowVariants } from '../../../simulators/defects/device/slowness.ts';
import { type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import {
  UNWILLING_CONTROLS,
  type UnwillingControl,
  unwillingControl,
} from '../../../simulators/defects/unwilling-control.ts';
import { willingControl } from '../../../simulators/defects/willing-control.ts';
import { dialectBehaviour } from '../../../simulators/device/dialect.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../../../simulators/device/index.ts';
import type { TransportName } from '../../../simulators/device/transport/index.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { Redactor } from '../../client/redact.ts';
import { defined } from '../../common/defined.ts';
import type { Report } from '../../runner/types.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { behavioursWith, type Changes, startRobot } from './simulated.ts';
import {
  bundled,
  type Narrowed,
  NULL_PATIENCE_MS,
  namesOf,
  PATIENCE_MS,
  runOn,
  type Subject,
  subjectsOf,
} from './subjects.ts';

/** A check waits this long for what a defect withholds, once for each attempt to find a smaller counterexample. */
const DEFECT_PATIENCE_MS = 4000;

interface Robot {
  behaviour?: DeviceBehaviour;
  transport?: TransportName;
  /** Nothing has ever happened on it. */
  fresh?: boolean;
  patienceMs?: number;
}

/** Long enough for a control that is slow, short enough for one that hinders every check. */
const UNWILLING_MS = 150_000;

async function runUnwilling(unwilling: UnwillingControl, narrowed: Narrowed): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(scratch());
  const robot = stack.use(await startRobot({ transport: 'unix' }));
  const { socket = '', control: behind } = robot.place;
  const { address: control } = stack.use(await unwillingControl(unwilling, behind, { path: join(path, 'front.sock') }));
  const redactor = new Redactor();
  const target = stack.use(
    await openDeviceTarget({ socket, control, env: {}, redactor, patienceMs: DEFECT_PATIENCE_MS }),
  );
  const { capabilities } = target;
  return await runOn(deviceSuite, target, {
    ...{ redactor, capabilities, maxTimeMs: UNWILLING_MS },
    narrowed: { ...narrowed, fast: true },
  });
}

export async function runOnRobot(choice: Robot, narrowed: Narrowed): Promise<Report> {
  const { behaviour, transport = 'unix', fresh = false, patienceMs = PATIENCE_MS } = choice;
  await using robot = await startRobot({ transport, fresh, ...defined({ behaviour }) });
  return await runAt(robot.place, patienceMs, narrowed);
}

async function runAt(
  place: { socket?: string; discovery?: string; control?: string },
  patienceMs: number,
  narrowed: Narrowed,
): Promise<Report> {
  const redactor = new Redactor();
  await using target = await openDeviceTarget({ ...place, env: {}, redactor, patienceMs });
  return await runOn(deviceSuite, target, { redactor, capabilities: target.capabilities, narrowed });
}

async function runNull(name: NullServerName, narrowed: Narrowed): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(scratch());
  const server = stack.use(await nullServer(name, { path: join(path, 'null.sock') }));
  return await runAt({ socket: server.address }, NULL_PATIENCE_MS, narrowed);
}

async function runWillingNull(name: NullServerName, narrowed: Narrowed): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(scratch());
  const server = stack.use(await nullServer(name, { path: join(path, 'null.sock') }));
  const control = stack.use(await willingControl({ path: join(path, 'control.sock') }, path));
  return await runAt({ socket: server.address, control: control.address }, NULL_PATIENCE_MS, narrowed);
}

/** Defects of the loopback transport show on it alone. */
const transportOf = (requirements: readonly string[]): TransportName =>
  requirements.some((id) => id.startsWith('device.loopback.')) ? 'loopback' : 'unix';
const SLOW = namesOf(slowVariants);
const ON_LOOPBACK: Record<string, Pick<Changes, 'transport'>> = { 'unauthorized-is-403': { transport: 'loopback' } };

const REFERENCES: Record<string, Robot> = {
  'unix socket': {},
  loopback: { transport: 'loopback' },
  'before its first event': { fresh: true },
};

export const deviceSubjects = (): Subject[] => [
  ...subjectsOf('device', {
    references: Object.entries(REFERENCES).map(([name, robot]) => ({
      name,
      summary: 'The simulated device.',
      run: (narrowed) => runOnRobot(robot, narrowed),
    })),
    defects: deviceDefects.map(({ name, summary, breaks, file, behaviour }) => ({
      ...{ name, summary, breaks, file },
      run: (narrowed) =>
        runOnRobot(
          {
            behaviour: behaviour(referenceBehaviour),
            transport: transportOf(breaks),
            patienceMs: DEFECT_PATIENCE_MS,
          },
          narrowed,
        ),
    })),
    variants: [
      ...deviceVariants.map((variant) => ({
        ...bundled(variant, { device: [variant], ...ON_LOOPBACK[variant.name] }, (changes, narrowed) =>
          runOnRobot(
            { behaviour: behavioursWith(changes).device, ...defined({ transport: changes.transport }) },
            narrowed,
          ),
        ),
        slow: SLOW.has(variant.name),
      })),
      {
        name: 'dialect-miru',
        summary: 'Answers as published agents do.',
        run: (narrowed: Narrowed) => runOnRobot({ behaviour: dialectBehaviour('miru') }, narrowed),
      },
    ],
    runNull,
    runWillingNull,
  }),
  ...UNWILLING_CONTROLS.map(
    (unwilling): Subject => ({
      ...{ api: 'device', kind: 'unwilling', file: 'simulators/defects/unwilling-control.ts' },
      ...unwilling,
      run: (narrowed) => runUnwilling(unwilling, narrowed),
    }),
  ),
];
