/** Images, tried with a real Docker where there is one: our own simulator in an image made from nothing. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { buildImage } from '../../fixtures/container/build.ts';
import { Redactor } from '../client/redact.ts';
import { openDeviceTarget } from '../target/resolve.ts';
import { check, deviceSuite, openDevice } from './library.ts';

const IMAGE = 'muster-test:scratch';

function docker(...args: string[]): boolean {
  try {
    execFileSync('docker', args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
const there = docker('info');
const needsDocker = (context: TestContext): void => {
  if (!there) context.skip('no Docker on this machine');
};

beforeAll(() => {
  // The reaper is an image of its own, which no registry is asked for here; everything is removed by name below.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  if (there) buildImage(IMAGE, 'scratch');
}, 600_000);
afterAll(() => {
  if (there) docker('rmi', '--force', IMAGE, `${IMAGE}-node`);
});
const options = () => ({ redactor: new Redactor(), startMs: 60_000 });

test('an agent in an image is reached by its socket, driven, stopped and started, and conforms', async (context) => {
  needsDocker(context);
  const image = { name: IMAGE, control: '/run/muster/control.sock' };
  const report = await check(deviceSuite, () => openDevice({ image, startMs: 120_000 }), {
    profile: 'core',
    fast: true,
  });
  const red = report.checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
  expect(red.map(({ id, actual, reason }) => ({ id, actual, reason }))).toEqual([]);
  expect(report.exit_code).toBe(0);
  expect(report.target).toMatchObject({ kind: 'image', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
  expect(report.target.capabilities).toEqual(expect.arrayContaining(['unix', 'drive', 'compact', 'restart']));
});

test('an image that ends is told of with its last words, and nothing of it is left', async (context) => {
  needsDocker(context);
  const image = { name: IMAGE, args: ['simulate', 'device', '--socket', '/run/x.sock'] };
  await using target = await openDeviceTarget({ ...options(), image });
  expect(target.unreachable).toMatch(
    /ended with exit code 64 before it served \/run\/muster\/agent.sock; its last words:\n.*Missing required argument: dir/,
  );
  const left = execFileSync('docker', ['ps', '--all', '--quiet', '--filter', `ancestor=${IMAGE}`], {
    encoding: 'utf8',
  });
  expect(left).toBe('');
});

test('an image that is not there is told of', async (context) => {
  needsDocker(context);
  await using target = await openDeviceTarget({ ...options(), image: 'muster-test-none:none' });
  expect(target.unreachable).toMatch(/--image muster-test-none:none: /);
});

test('without Docker, what to do instead is told', async (context) => {
  if (there) context.skip('there is Docker on this machine');
  await using target = await openDeviceTarget({ ...options(), image: IMAGE });
  expect(target.unreachable).toMatch(
    /--image needs Docker, and no container runtime answers .*--command LINE or --socket PATH/,
  );
});
