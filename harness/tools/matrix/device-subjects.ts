/** The simulated device, right, wrong in every known way, and differing in every legal one, each judged by the device suite. */
import { join } from 'node:path';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import { NULL_SERVERS, type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import { type DeviceBehaviour, referenceBehaviour as right } from '../../../simulators/device/index.ts';
import type { TransportName } from '../../../simulators/device/transport/index.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { Redactor } from '../../client/redact.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { Report } from '../../runner/types.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { startRobot } from './robot.ts';
import { scratch } from './scratch.ts';
import type { Subject } from './types.ts';

const SEED = 11;
const IMPATIENT_MS = 1000;
const PATIENCE_MS = 10_000;
/** What a defect withholds is waited for in vain, once for each attempt to find a smaller counterexample. */
const DEFECT_PATIENCE_MS = 4000;
interface Choice {
  make?(right: DeviceBehaviour): DeviceBehaviour;
  transport?: TransportName;
  /** Nothing has ever happened on it. */
  fresh?: boolean;
  patienceMs?: number;
  only?: readonly string[] | undefined;
}

async function judgeDevice(choice: Choice): Promise<Report> {
  const { make, transport = 'unix', fresh = false, patienceMs = PATIENCE_MS, only } = choice;
  const behaviour = make === undefined ? {} : { behaviour: make(right) };
  await using robot = await startRobot({ transport, fresh, ...behaviour });
  return await judgeTarget(robot.place, patienceMs, only);
}

async function judgeTarget(
  place: { socket?: string; discovery?: string; control?: string },
  patienceMs: number,
  only?: readonly string[],
): Promise<Report> {
  const redactor = new Redactor();
  await using target = await openDeviceTarget({ ...place, env: {}, redactor, patienceMs });
  return await runSuite(deviceSuite, {
    plan: makePlan(deviceSuite, { capabilities: target.capabilities, ...(only === undefined ? {} : { only }) }),
    target: target.description,
    context: target.context,
    redactor,
    seed: SEED,
    version: 'matrix',
    ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
  });
}

async function judgeNothing(name: NullServerName): Promise<Report> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(scratch());
  const server = stack.use(await nullServer(name, { path: join(path, 'null.sock') }));
  return await judgeTarget({ socket: server.address }, IMPATIENT_MS);
}

/** What concerns the loopback transport shows there alone. */
const transportOf = (requirements: readonly string[]): TransportName =>
  requirements.some((id) => id.startsWith('device.loopback.')) ? 'loopback' : 'unix';
const ON_LOOPBACK = ['unauthorized-is-403'];

export function deviceSubjects(): Subject[] {
  const common = { api: 'device' as const };
  const rights: Record<string, Choice> = {
    'unix socket': {},
    loopback: { transport: 'loopback' },
    'before its first event': { fresh: true },
  };
  return [
    ...Object.entries(rights).map(
      ([name, choice]): Subject => ({
        ...common,
        kind: 'right',
        name,
        summary: 'The simulated device.',
        judge: (only) => judgeDevice({ ...choice, only }),
      }),
    ),
    ...deviceDefects.map(
      ({ name, summary, breaks, file, behaviour: make }): Subject => ({
        ...common,
        ...{ kind: 'defect', name, summary, breaks, file },
        judge: (only) => judgeDevice({ make, only, transport: transportOf(breaks), patienceMs: DEFECT_PATIENCE_MS }),
      }),
    ),
    ...deviceVariants.map(
      ({ name, summary, behaviour: make }): Subject => ({
        ...common,
        ...{ kind: 'variant', name, summary },
        judge: (only) => judgeDevice({ make, only, transport: ON_LOOPBACK.includes(name) ? 'loopback' : 'unix' }),
      }),
    ),
    ...(Object.keys(NULL_SERVERS) as NullServerName[]).map(
      (name): Subject => ({
        ...common,
        ...{ kind: 'null', name, summary: NULL_SERVERS[name] },
        judge: () => judgeNothing(name),
      }),
    ),
  ];
}
