import { expect, it } from 'vitest';
import { testRobot } from './testing/uplinks.ts';
import type { Time } from './time.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const TOKEN = 'POST /devices/token';

it.each([-YEAR, -HOUR, HOUR, YEAR])('robot and platform keep working when their clock jumps by %i ms', async (by) => {
  await using robot = await testRobot();
  const { host, time, uplink, device } = robot;
  await uplink.start();
  time.turn(by);
  const first = host.deploy(robot.id(), { '/a.json': '1' });
  await robot.eventually(() => expect(host.platform.stored(first).status).toBe('deployed'));
  time.turn(-by);
  const second = host.deploy(robot.id(), { '/a.json': '2' });
  await robot.eventually(() => expect(host.platform.stored(second).status).toBe('deployed'));
  expect(device.files.get('/a.json')).toBe('2');
  expect(robot.count(TOKEN)).toBeLessThanOrEqual(3);
  expect(uplink.status).toBe('online');
});

it('a robot with a fast clock requests one token for several requests', async () => {
  await using robot = await testRobot({ host: { tokenLifetimeMs: 40_000 } });
  const { time } = robot;
  const fast: Time = {
    now: () => time.now() + 25_000,
    elapsed: () => time.elapsed(),
    after: (ms, task) => time.after(ms, task),
    cancel: (timer) => time.cancel(timer),
  };
  await robot.anotherRun({ time: fast }).start();
  expect(robot.requests.length).toBeGreaterThan(3);
  expect(robot.count(TOKEN)).toBe(1);
});

it('a robot asks for a second provisioning token after the first is refused', async () => {
  await using robot = await testRobot();
  const refused: (string | undefined)[] = [];
  const uplink = robot.anotherRun({
    token: (before) => {
      refused.push(before);
      return before === undefined ? 'expired' : robot.host.platform.provisioningToken();
    },
  });
  await uplink.start();
  expect(refused).toEqual([undefined, 'expired']);
  await uplink.stop();
});
