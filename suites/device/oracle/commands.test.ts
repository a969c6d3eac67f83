import { expect, it } from 'vitest';
import { Redactor } from '../../../harness/common/redact.ts';
import { noControl } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import { openDeviceTarget } from '../../../harness/targets/open-device.ts';
import { startRobot } from '../../../harness/tools/subjects/simulators.ts';
import { deviceDefect } from '../../../simulators/defects/device/index.ts';
import { referenceBehaviour } from '../../../simulators/device/behaviour.ts';
import { publish } from '../support/drive.ts';
import { runOn } from '../support/testing/device.ts';
import { deploy } from './commands.ts';
import { Reality } from './reality.ts';

const everyState = deviceDefect('deployed-for-every-state').behaviour(referenceBehaviour);

it.for([
  ['after it was deployed', referenceBehaviour, undefined],
  ['at once', everyState, { id: 'device.events.deployed-only' }],
] as const)('a deployment that is archived %s is judged by its event', async ([when, behaviour, finding]) => {
  await using robot = await startRobot({ fresh: true, behaviour });
  const { device } = robot;
  const control = layered(noControl, {
    info: async () => ({ capabilities: ['drive'] }),
    call: (call) => {
      if (call.name === 'publish') return device.publish(call.count);
      if (call.name !== 'deploy') return undefined;
      return when === 'at once' ? device.deploy(call.request) : device.deploy().then(({ id }) => device.remove(id));
    },
  });
  const at = { socket: device.socketPath ?? '', attach: async () => control };
  await using target = await openDeviceTarget({ ...at, redactor: new Redactor(), env: {} });
  let found: unknown;
  const result = await runOn(target, async (t, streams) => {
    const { last } = await publish(t, 1);
    const real = new Reality(t, streams, last);
    await real.openStaying(last);
    const archived = deploy({ activity_status: 'archived' });
    found = await archived.run(real).catch((error: unknown) => error);
  });
  expect(result).toMatchObject({ outcome: 'pass' });
  expect(found).toEqual(finding && expect.objectContaining(finding));
});
