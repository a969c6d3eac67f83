/** Tests the reference device; `npm run matrix` covers its variants and defects. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { Redactor } from '../../harness/common/redact.ts';
import type { ControlInfo } from '../../harness/contract/control.ts';
import { openDeviceTarget } from '../../harness/targets/open-device.ts';
import { temporaryFolder } from '../../harness/targets/testing/places.ts';
import { resultsWith, runDeviceSuite } from '../../harness/tools/subjects/run.ts';
import { startRobot } from '../../harness/tools/subjects/simulators.ts';
import { combined } from '../../simulators/defects/define.ts';
import { onRequest } from '../../simulators/defects/define-device.ts';
import { deviceDefect, deviceVariant } from '../../simulators/defects/device/index.ts';
import { referenceBehaviour } from '../../simulators/device/behaviour.ts';
import { behaviourWith, runNamed, targetOf } from './support/testing/device.ts';

const folder = temporaryFolder();

it('the reference device passes as a black box by its retained events', async () => {
  await using started = await startRobot({ fresh: true });
  const { device } = started;
  await device.publish(30);
  await device.deploy();
  const report = await runDeviceSuite(device.address, { fast: true });
  expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  const passed = report.checks.filter(({ outcome }) => outcome === 'pass').map(({ id }) => id);
  const events = ['envelope', 'payload.deployed', 'replay.complete', 'header-cursor', 'after-wins', 'types'];
  const due = events.map((name) => `device.events.${name}.retained`);
  expect(passed).toEqual(expect.arrayContaining(['device.deployment.shape', 'device.deployment.merge', ...due]));
});

it('the reference device passes where it serves few streams and ends long ones', async () => {
  const names = ['few-streams-retry-after', 'replay-without-cursor', 'ends-long-streams'];
  const behaviour = combined(names.map(deviceVariant), referenceBehaviour);
  await using started = await startRobot({ fresh: true, behaviour });
  // More events than this device sends before it ends a stream.
  await started.device.publish(600);
  const only = ['device.events.types', 'device.events.concurrent'];
  const report = await runDeviceSuite(started.place, { only });
  expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
});

it.for([
  ['boundary-off-by-one', 'device.events.expired.boundary'],
  ['zero-loses-to-header', 'device.events.after-wins.retained'],
] as const)('a device is judged where control does not tell its retention: %s, %s', async ([name, id]) => {
  const { log, ...rest } = deviceDefect(name).behaviour(referenceBehaviour);
  const behaviour = { ...rest, log: { ...log, tellsRetention: false } };
  await using started = await startRobot({ fresh: true, behaviour });
  await started.device.publish(3);
  const report = await runDeviceSuite(started.place, { fast: true, only: [id], alone: true, patienceMs: 3000 });
  expect(report.checks).toMatchObject([{ id, outcome: 'fail' }]);
});

it('the reference device shows the expected refusal when it drops a malformed cursor', async () => {
  const http = onRequest(({ url = '' }, response) => {
    if (url.includes('after=abc')) response.destroy();
  });
  const behaviour = behaviourWith({ http });
  await using started = await startRobot({ fresh: true, behaviour });
  const report = await runDeviceSuite(started.place, { fast: true, only: ['device.events.cursor.malformed'] });
  expect(report.checks.find(({ id }) => id === 'device.events.cursor.malformed')).toMatchObject({
    expected: expect.stringMatching(/^a 4xx other than 410 .* for after=abc$/),
  });
});

it('a failed deployment is not judged where the config files are of another machine', async () => {
  await using started = await startRobot({ fresh: true });
  const { device } = started;
  const info: ControlInfo = { capabilities: ['drive', 'files'], config_root: '/nonexistent' };
  await using target = await targetOf(device, info, (call) =>
    call.name === 'deploy' ? device.deploy(call.request) : undefined,
  );
  expect(await runNamed(target, 'device.deployment.failed')).toMatchObject({
    outcome: 'blocked',
    reason: expect.stringContaining('is not below config_root'),
  });
});

it.for([
  ['archived', 'warn'],
  ['deployed', 'fail'],
] as const)('files of a failed deployment that control answered as %s are judged: %s', async ([answered, outcome]) => {
  await using started = await startRobot({ fresh: true });
  const { device } = started;
  const info: ControlInfo = { capabilities: ['drive', 'files'], config_root: folder };
  await using target = await targetOf(device, info, async (call) => {
    if (call.name !== 'deploy') return undefined;
    const { config_instances: files = [], ...request } = call.request;
    for (const { filepath, content } of files) writeFileSync(join(folder, basename(filepath)), content);
    const made = await device.deploy(request);
    return request.error_status === 'failed' ? { ...made, activity_status: answered } : made;
  });
  expect(await runNamed(target, 'device.deployment.failed')).toMatchObject({
    outcome,
    actual: expect.stringContaining('is still there'),
  });
});

it.each([
  ['stay away', false, 'pass'],
  ['come back', true, 'fail'],
])('files of a failed deployment %s at a restart', async (_, isBack, outcome) => {
  await using started = await startRobot({ fresh: true });
  const { device } = started;
  mkdirSync(join(folder, 'etc/robot'), { recursive: true });
  let failed: readonly { filepath: string; content: string }[] = [];
  const info: ControlInfo = { capabilities: ['drive', 'files', 'restart'], config_root: folder };
  await using target = await targetOf(device, info, async (call) => {
    if (call.name === 'stop') return device.stop().then(() => undefined);
    const isFailed = call.name === 'deploy' && call.request.error_status === 'failed';
    const given = (call.name === 'deploy' && call.request.config_instances) || [];
    if (isFailed) failed = given;
    for (const { filepath, content } of call.name === 'start' && isBack ? failed : isFailed ? [] : given)
      writeFileSync(join(folder, filepath), content);
    if (call.name === 'start') return device.start().then(() => undefined);
    return call.name === 'deploy' ? device.deploy({ ...call.request, config_instances: [] }) : undefined;
  });
  expect(await runNamed(target, 'device.deployment.failed')).toMatchObject({ outcome });
});

it('the change from replay to live is not judged where one stream is served at once', async () => {
  const behaviour = deviceVariant('one-stream').behaviour(referenceBehaviour);
  await using started = await startRobot({ fresh: true, behaviour });
  await using target = await openDeviceTarget({ ...started.place, redactor: new Redactor(), env: {} });
  expect(await runNamed(target, 'device.events.replay.seam')).toMatchObject({
    outcome: 'not_applicable',
    reason: 'the device serves no more than 1 stream at once',
  });
});
