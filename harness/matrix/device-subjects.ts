/** The simulated device, right, wrong in every known way, and differing in every legal one, each judged by the device suite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deviceDefects } from '../../simulators/defects/device/index.ts';
import { type DeviceBehaviour, behaviour as right, simulateDevice } from '../../simulators/device/index.ts';
import { deviceVariants } from '../../simulators/variants/device/index.ts';
import { deviceSuite } from '../../suites/device/index.ts';
import { makePlan } from '../check/plan.ts';
import { runSuite } from '../check/run.ts';
import type { Report } from '../check/types.ts';
import { Redactor } from '../client/redact.ts';
import { judgedDevice } from '../commands/check-device.ts';
import { openDeviceTarget } from '../target/open-device.ts';
import { NULL_SERVERS, startNullServer } from './null-server.ts';
import type { Subject } from './types.ts';

/** Short, so that waits for heartbeats are; long enough that a busy machine keeps it. */
const HEARTBEAT_MS = 2000;
const SEED = 11;
const IMPATIENT_MS = 1000;
const PATIENCE_MS = 10_000;

type Transport = 'unix' | 'loopback';

async function judgeDevice(
  make: ((right: DeviceBehaviour) => DeviceBehaviour) | undefined,
  transport: Transport,
  only?: readonly string[],
): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-matrix-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const control = join(folder, 'control.sock');
  const place =
    transport === 'unix' ? { socket: join(folder, 'robot.sock') } : { discovery: join(folder, 'discovery.json') };
  stack.use(
    await simulateDevice({
      dir: join(folder, 'robot'),
      ...(place.discovery === undefined
        ? { socket: place.socket ?? '' }
        : { loopback: { discovery: place.discovery } }),
      control: { path: control },
      heartbeatMs: HEARTBEAT_MS,
      seed: SEED,
      ...(make === undefined ? {} : { behaviour: make(right) }),
    }),
  );
  return await judgeTarget({ ...place, control }, PATIENCE_MS, only);
}

async function judgeTarget(
  place: { socket?: string; discovery?: string; control?: string },
  patienceMs: number,
  only?: readonly string[],
): Promise<Report> {
  const redactor = new Redactor();
  const target = judgedDevice(await openDeviceTarget({ ...place, env: {}, redactor }), patienceMs);
  try {
    return await runSuite(deviceSuite, {
      plan: makePlan(deviceSuite, { capabilities: target.capabilities, ...(only === undefined ? {} : { only }) }),
      target: target.description,
      context: target.context,
      redactor,
      seed: SEED,
      version: 'matrix',
      ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
    });
  } finally {
    await target[Symbol.asyncDispose]();
  }
}

/** What concerns the loopback transport shows there alone. */
const transportOf = (breaks: readonly string[]): Transport =>
  breaks.some((id) => id.startsWith('device.loopback')) ? 'loopback' : 'unix';

export function deviceSubjects(): Subject[] {
  const common = { api: 'device' as const };
  return [
    {
      ...common,
      kind: 'right',
      name: 'unix socket',
      summary: 'the simulated device',
      judge: () => judgeDevice(undefined, 'unix'),
    },
    {
      ...common,
      kind: 'right',
      name: 'loopback',
      summary: 'the simulated device',
      judge: () => judgeDevice(undefined, 'loopback'),
    },
    ...deviceDefects.map(
      (defect): Subject => ({
        ...common,
        kind: 'defect',
        name: defect.name,
        summary: defect.summary,
        breaks: defect.breaks,
        judge: (only) => judgeDevice((behaviour) => defect.behaviour(behaviour), transportOf(defect.breaks), only),
      }),
    ),
    ...deviceVariants.map(
      (variant): Subject => ({
        ...common,
        kind: 'variant',
        name: variant.name,
        summary: variant.summary,
        judge: () =>
          judgeDevice(
            (behaviour) => variant.behaviour(behaviour),
            /loopback|token|40[13]/.test(variant.name) ? 'loopback' : 'unix',
          ),
      }),
    ),
    ...NULL_SERVERS.map(
      (kind): Subject => ({
        ...common,
        kind: 'null',
        name: kind,
        summary: 'a server that does nothing',
        judge: async () => {
          const folder = mkdtempSync(join(tmpdir(), 'muster-matrix-'));
          await using stack = new AsyncDisposableStack();
          stack.defer(() => rmSync(folder, { recursive: true, force: true }));
          const server = stack.use(await startNullServer(kind, join(folder, 'null.sock')));
          return await judgeTarget({ socket: server.address }, IMPATIENT_MS);
        },
      }),
    ),
  ];
}
