/** Images, tried with a real Docker where there is one: our own simulator in an image made from nothing. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, type TestContext, test, vi } from 'vitest';
import { buildImage } from '../../fixtures/container/build.ts';
import { Redactor } from '../client/redact.ts';
import { openDeviceTarget } from '../targets/open-device.ts';
import { check, deviceSuite, openDevice } from './library.ts';
import { muster, Running } from './testing/muster.ts';

const IMAGE = 'muster-test:scratch';
// Where every layer is copied, a container takes its time.
vi.setConfig({ testTimeout: 400_000 });
const folder = mkdtempSync(join(tmpdir(), 'muster-image-test-'));

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
  rmSync(folder, { recursive: true, force: true });
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

test('an image that ends is reported with its last lines, and nothing of it is left', async (context) => {
  needsDocker(context);
  const image = { name: IMAGE, args: ['simulate', 'device', '--socket', '/run/x.sock'] };
  await using target = await openDeviceTarget({ ...options(), image });
  expect(target.unreachable).toMatch(
    /ended with exit code 64 before it served \/run\/muster\/agent.sock; the last lines that it wrote:\n.*--dir: missing/,
  );
  const left = execFileSync('docker', ['ps', '--all', '--quiet', '--filter', `ancestor=${IMAGE}`], {
    encoding: 'utf8',
  });
  expect(left).toBe('');
});

test('it is certified from the command line, with testcontainers’ reaper or where that cannot be fetched without it', async (context) => {
  needsDocker(context);
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.json')];
  expect((await muster('keygen', key)).code).toBe(0);
  const about = ['--name', 'simulated-agent', '--target-version', '0.1.0', '--certificate', certificate, '--key', key];
  const at = { socket: '/run/muster/agent.sock', control: '/run/muster/control.sock', dir: '/run/muster/robot' };
  const args = ['simulate', 'device', ...Object.entries(at).flatMap(([name, path]) => [`--${name}`, path])];
  const target = join(folder, 'target.yaml');
  writeFileSync(target, JSON.stringify({ device: { image: { name: IMAGE, args: [...args, '--heartbeat', '1s'] } } }));
  const words = ['check', 'device', '--target', target, '--control', at.control, '--profile', 'core'];
  const env = { TESTCONTAINERS_RYUK_DISABLED: '' };
  const { code, stdout } = await new Running([...words, ...about], { env }).ended;
  expect(stdout).toContain('CONFORMANT');
  expect(code).toBe(0);
  const verified = await muster('verify', certificate, '--key', `${key}.pub`);
  expect(verified.stdout).toMatch(
    /CONFORMANT in profile core: \d+ of \d+ checks decided it.*\nsimulated-agent 0.1.0 with the Device API\n(.|\n)*the digest\s+sha256:/,
  );
  expect(verified.code).toBe(0);
});

test('a control socket outside the folder of the agent’s is a usage error', async (context) => {
  needsDocker(context);
  const { code, stderr } = await muster('check', 'device', '--image', IMAGE, '--control', '/run/other/c.sock');
  expect(stderr).toContain('--control /run/other/c.sock: must be in the folder of the image');
  expect(code).toBe(64);
});
