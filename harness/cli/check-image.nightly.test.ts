import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildImage } from '../../fixtures/container/build.ts';
import { Redactor } from '../common/redact.ts';
import type { Report } from '../runner/types.ts';
import { openDeviceTarget } from '../targets/open-device.ts';
import { check, deviceSuite, openDevice } from './library.ts';
import { hasDocker, muster, needsDocker, Running, refusal, reportIn, typed, useFolder } from './testing/muster.ts';

const IMAGE = 'muster-test:scratch';
// Allows minutes, because Docker without overlayfs copies each layer.
vi.setConfig({ testTimeout: 900_000 });
const place = useFolder();

beforeAll(() => {
  // Disables the clean-up container of testcontainers, whose image needs a download.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  if (hasDocker()) buildImage(IMAGE, 'scratch');
}, 900_000);
afterAll(() => void spawnSync('docker', ['rmi', '--force', IMAGE, `${IMAGE}-node`], { stdio: 'ignore' }));

/** Runs the image as the user of the host, because the image's own user cannot write to the socket's mounted folder. */
const asHost = { name: IMAGE, user: 'host' };
const at = { socket: '/run/muster/agent.sock', control: '/run/muster/control.sock' };
const keepingFilesIn = (dir: string): string[] =>
  typed`simulate device --socket ${at.socket} --control ${at.control} --dir ${dir} --heartbeat 1s`;

const READ = ['device.events.written-first', 'device.log.jsonl', 'device.log.torn-tail', 'device.log.bounded'];
const EVERYTHING = ['unix', 'drive', 'compact', 'restart', 'log', 'files'];

test('an agent conforms with every capability when its files stay inside the container', async (context) => {
  needsDocker(context);
  const image = { ...asHost, control: at.control, args: keepingFilesIn('/tmp/robot') };
  const report = await check(deviceSuite, () => openDevice({ image, startMs: 120_000 }), { fast: true });
  expectNothingRed(report);
  expect(report.target).toMatchObject({ kind: 'image', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
});

function expectNothingRed({ checks, target, exit_code: code }: Report): void {
  const red = checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked');
  expect(red.map(({ id, actual, reason }) => ({ id, actual, reason }))).toEqual([]);
  expect(code).toBe(0);
  expect(target.capabilities).toEqual(expect.arrayContaining(EVERYTHING));
  const decided = checks.filter(({ outcome }) => outcome === 'pass').map(({ id }) => id);
  expect(decided).toEqual(expect.arrayContaining(READ));
}

test('an image that ends is reported with its last lines and leaves no container', async (context) => {
  needsDocker(context);
  const image = { name: IMAGE, args: typed`simulate device --socket /run/x.sock` };
  await using target = await openDeviceTarget({ redactor: new Redactor(), startMs: 60_000, image });
  expect(target.unreachable).toContain('ended with exit code 64 before it served /run/muster/agent.sock; ');
  expect(target.unreachable).toMatch(/; the last lines that it wrote:\n.*--dir: missing/);
  const left = execFileSync('docker', ['ps', '--all', '--quiet', '--filter', `ancestor=${IMAGE}`], {
    encoding: 'utf8',
  });
  expect(left).toBe('');
});

test('an agent with files in the mounted folder conforms fully and is certified', async (context) => {
  needsDocker(context);
  const [key, certificate] = [place('key.pem'), place('certificate.json')];
  const [target, file] = [place('target.yaml'), place('report.json')];
  expect((await muster('keygen', key)).code).toBe(0);
  const about = typed`--name simulated-agent --target-version 0.1.0 --certificate ${certificate} --key ${key}`;
  const image = { ...asHost, args: keepingFilesIn('/run/muster/robot') };
  writeFileSync(target, JSON.stringify({ device: { image } }));
  const words = typed`check device --target ${target} --control ${at.control} --report pretty --report json=${file}`;
  const env = { TESTCONTAINERS_RYUK_DISABLED: '' };
  const { code, stdout } = await new Running([...words, ...about], { env }).ended;
  expectNothingRed(reportIn(file));
  expect(stdout).toContain('CONFORMANT');
  expect(code).toBe(0);
  const verified = await muster('verify', certificate, '--key', `${key}.pub`);
  expect(verified.stdout).toMatch(
    /^CONFORMANT: full, \S+ · \d+ of \d+ checks .*\nsimulated-agent 0.1.0 with the Device API, valid until [\d-]+\n/,
  );
  expect(verified.stdout).toMatch(/the digest\s+sha256:/);
  expect(verified.code).toBe(0);
});

test('a control socket outside the folder of the agent’s socket is a usage error', async (context) => {
  needsDocker(context);
  const refused = await refusal(typed`check device --image ${IMAGE} --control /run/other/c.sock`);
  expect(refused).toContain('--control /run/other/c.sock: must be in the folder of the image');
});
