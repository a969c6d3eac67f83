import { expect, it } from 'vitest';
import { Redactor } from '../../../harness/common/redact.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/device-api.ts';
import { noControl } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import type { OpenDeviceTarget } from '../../../harness/targets/opened.ts';
import { startRobot } from '../../../harness/tools/subjects/simulators.ts';
import { deviceDefect } from '../../../simulators/defects/device/index.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../../../simulators/device/behaviour.ts';
import type { SimulatedDevice } from '../../../simulators/device/index.ts';
import { publish } from '../support/drive.ts';
import { runNamed, runOn } from '../support/testing/device.ts';
import { cutAndComeBack, deploy, publishSome } from './commands.ts';
import { Reality } from './reality.ts';

type Driven = (device: SimulatedDevice, request: ControlDeployment) => Promise<Deployment>;

function drivenTarget(device: SimulatedDevice, driven: Driven): Promise<OpenDeviceTarget> {
  const control = layered(noControl, {
    info: async () => ({ capabilities: ['drive'] }),
    call: (call) => {
      if (call.name === 'publish') return device.publish(call.count);
      if (call.name === 'remove') return device.remove(call.deploymentId);
      return call.name === 'deploy' ? driven(device, call.request) : undefined;
    },
  });
  const at = { socket: device.socketPath ?? '', attach: async () => control };
  return openDeviceTarget({ ...at, redactor: new Redactor(), env: {} });
}

async function departureIn(
  body: (real: Reality) => Promise<void>,
  behaviour: DeviceBehaviour = referenceBehaviour,
  driven: Driven = (device, request) => device.deploy(request),
): Promise<unknown> {
  await using robot = await startRobot({ fresh: true, behaviour });
  await using target = await drivenTarget(robot.device, driven);
  let found: unknown;
  const result = await runOn(target, async (t, streams) => {
    const { last } = await publish(t, 1);
    const real = new Reality(t, streams, last);
    await real.openStaying(last);
    found = await body(real).catch((error: unknown) => error);
  });
  expect(result).toMatchObject({ outcome: 'pass' });
  return found;
}

const everyState = deviceDefect('deployed-for-every-state').behaviour(referenceBehaviour);
const deployThenRemove = (device: SimulatedDevice) => device.deploy().then(({ id }) => device.remove(id));

it.for([
  ['after it was deployed', referenceBehaviour, deployThenRemove, undefined],
  ['at once', everyState, undefined, { id: 'device.events.deployed-only' }],
] as const)('a deployment that is archived %s is judged by its event', async ([, behaviour, driven, finding]) => {
  const found = await departureIn((real) => deploy({ activity_status: 'archived' }).run(real), behaviour, driven);
  expect(found).toEqual(finding && expect.objectContaining(finding));
});

const MADE = '2026-01-02T03:04:05Z';
const madeByPlatform = {
  ...referenceBehaviour,
  http: { ...referenceBehaviour.http, deploymentBody: (made: Deployment) => ({ ...made, created_at: MADE }) },
};

it.for([
  [MADE, undefined],
  ['2026-01-02T03:04:06Z', { id: 'device.deployment.current' }],
] as const)('a time of another clock is right if control answers the same: %s', async ([created_at, finding]) => {
  const driven = async (device: SimulatedDevice, request: ControlDeployment) => {
    return { ...(await device.deploy(request)), created_at };
  };
  const found = await departureIn((real) => deploy({}).run(real), madeByPlatform, driven);
  expect(found).toEqual(finding && expect.objectContaining(finding));
});

it.for([0, 99])('a stream that is cut waits for no event after the newest one (%i back)', async (back) => {
  let late: number | undefined;
  const found = await departureIn(async (real) => {
    await publishSome(2).run(real);
    await cutAndComeBack(back, 400).run(real);
    late = real.t.session.waits.device.inVain('replay');
  });
  expect({ found, late }).toEqual({ found: undefined, late: 0 });
});

it('events of staged deployments are not judged where control makes none', async () => {
  await using robot = await startRobot({ fresh: true });
  const driven: Driven = (device, { description = '', release_id = 'rls_1' }) =>
    device.deploy({ description, release_id });
  await using target = await drivenTarget(robot.device, driven);
  expect(await runNamed(target, 'device.events.deployed-only')).toMatchObject({
    outcome: 'not_applicable',
    reason: 'control makes no deployments that are not deployed',
  });
});
