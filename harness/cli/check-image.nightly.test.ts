import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { buildImage } from '../../fixtures/container/build.ts';
import { Redactor } from '../common/redact.ts';
import type { Report } from '../runner/types.ts';
import { HttpControl } from '../targets/control/ends.ts';
import { startImage } from '../targets/launch/container.ts';
import { openDeviceTarget } from '../targets/open-device.ts';
import { TRANSPORTS } from '../targets/transports/index.ts';
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
const options = () => ({ redactor: new Redactor(), startMs: 60_000 });

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
  await using target = await openDeviceTarget({ ...options(), image });
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

test('a restarted image serves both sockets, and its files stay readable meanwhile', async (context) => {
  needsDocker(context);
  const notified: string[] = [];
  const start = {
    env: {},
    timeoutMs: 120_000,
    transports: TRANSPORTS,
    notify: (text: string) => void notified.push(text),
  };
  for (const dir of ['/run/muster/robot', '/tmp/robot']) {
    const started = await startImage(start, { ...asHost, control: at.control, args: keepingFilesIn(dir) });
    onTestFinished(() => started.close());
    const { restart, files, control: address = '' } = started;
    if (restart === undefined || files === undefined) throw new Error('an image on a socket has both');
    const control = new HttpControl(address);
    const { event_log: log = '', config_root: root = '' } = await control.info();
    const content = '{"of":"the first run"}';
    const { id } = await control.deploy({ config_instances: [{ filepath: '/etc/a.json', content }] });
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await restart.stop(signal);
      await expect(control.info()).rejects.toThrow();
      const inside = (await files.list(root, { deep: true })).find(({ path }) => path.endsWith('/etc/a.json'));
      expect((await files.read(inside?.path ?? ''))?.toString()).toBe(content);
      const before = (await files.stat(log))?.size ?? 0;
      await files.append(log, Buffer.from('{"torn'));
      expect(await files.stat(log)).toMatchObject({ kind: 'file', size: before + 6 });
      await restart.start();
      expect(restart.endedByItself?.()).toBeUndefined();
      expect((await control.info()).event_log).toBe(log);
    }
    expect((await files.read(log))?.toString()).toContain(id);
    expect(await files.stat(`${dir}/none`)).toBeUndefined();
    expect(await files.list(`${dir}/none`)).toEqual([]);
    await expect(files.append(`${dir}/none`, Buffer.from('x'))).rejects.toThrow(/there is no file/);
  }
});

test('a control socket outside the folder of the agent’s socket is a usage error', async (context) => {
  needsDocker(context);
  const refused = await refusal(typed`check device --image ${IMAGE} --control /run/other/c.sock`);
  expect(refused).toContain('--control /run/other/c.sock: must be in the folder of the image');
});
