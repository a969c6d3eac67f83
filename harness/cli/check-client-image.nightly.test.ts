import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { importTree, nodeTree } from '../../fixtures/container/build.ts';
import { eventually } from '../../simulators/common/testing/scratch.ts';
import { findClientImage } from '../targets/client/client-run.ts';
import { hasDocker, muster, needsDocker, Running, reportIn, typed, useFolder } from './testing/muster.ts';

// Allows minutes, because Docker without overlayfs copies each layer.
vi.setConfig({ testTimeout: 900_000 });
const ROOT = join(import.meta.dirname, '../..');
const at = useFolder();
const IMAGES = {
  reference: 'muster-test-client:reference',
  endsAtOnce: 'muster-test-client:ends-at-once',
  noProgram: 'muster-test-client:no-program',
};

const SIMULATORS = ['client', 'common', 'defects'].map((name) => `simulators/${name}`);
const PARTS = ['harness/common', 'harness/contract', 'package.json', ...SIMULATORS];
const CLIENT = 'harness/cli/testing/client.ts';
const USER = 'USER 47110:47110';

beforeAll(() => {
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  if (!hasDocker()) return;
  const tree = nodeTree(at());
  const tests = (file: string): boolean => !/\.test\.ts$|\/testing$/.test(file);
  for (const part of PARTS) cpSync(join(ROOT, part), join(tree, 'opt', part), { recursive: true, filter: tests });
  cpSync(join(ROOT, CLIENT), join(tree, 'opt', CLIENT));
  cpSync(join(ROOT, 'node_modules/typebox'), join(tree, 'opt/node_modules/typebox'), { recursive: true });
  importTree(tree, IMAGES.reference, [`ENTRYPOINT ${JSON.stringify(['node', `/opt/${CLIENT}`])}`, USER]);
  importTree(tree, IMAGES.endsAtOnce, ['ENTRYPOINT ["node", "-e", "console.error(\'no config\'); process.exit(7)"]']);
  importTree(tree, IMAGES.noProgram, ['ENTRYPOINT ["/bin/my-client"]']);
}, 900_000);
afterAll(() => void spawnSync('docker', ['rmi', '--force', ...Object.values(IMAGES)], { stdio: 'ignore' }));

const check = (image: string, ...words: string[]) => muster('check', 'client', '--image', image, ...words);
const containersOf = (image: string): string =>
  execFileSync('docker', ['ps', '--all', '--quiet', '--filter', `ancestor=${image}`], { encoding: 'utf8' });

test.for(['url', 'socket', 'discovery'])('the reference client conforms over %s', async (place, context) => {
  needsDocker(context);
  const json = at(`${place}.json`);
  const words = typed`--capability follow,current,list,${place} --report json=${json} --report pretty`;
  const only = ['client.stream.dispatch', 'client.delivery.cursor', 'client.loopback.*', 'client.current.shown'];
  const { code, stdout, stderr } = await check(IMAGES.reference, ...words, '--only', ...only, 'client.pages.items');
  expect(code, stdout + stderr).toBe(0);
  const { target, summary } = reportIn(json);
  expect(target).toMatchObject({ kind: 'image', address: IMAGES.reference, digest_of: 'image' });
  expect(target.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(summary, stdout).toMatchObject({ fail: 0, warn: 0, blocked: 0 });
  expect(summary.pass).toBeGreaterThanOrEqual(place === 'discovery' ? 9 : 4);
  expect(containersOf(IMAGES.reference)).toBe('');
});

test('an interrupted check leaves no container', async (context) => {
  needsDocker(context);
  await using run = new Running(typed`check client --image ${IMAGES.reference} --capability follow,url`);
  await eventually(() => expect(containersOf(IMAGES.reference)).not.toBe(''));
  const { code, stdout, stderr } = await run.stop('SIGINT');
  expect(stdout).toContain('INTERRUPTED');
  expect(code, stdout + stderr).toBe(130);
  expect(containersOf(IMAGES.reference)).toBe('');
});

test('a container that is removed before it runs leaves no connection to Docker', async (context) => {
  needsDocker(context);
  const image = await findClientImage(IMAGES.reference, () => {});
  const pipes = (): number => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
  const before = pipes();
  const ears = { line: () => {}, ended: () => {} };
  const runs = Array.from({ length: 8 }, () => image.start({ variables: {}, folder: undefined }, ears));
  await Promise.all(runs.map((run) => run.stop()));
  await eventually(() => expect(pipes()).toBeLessThanOrEqual(before));
  expect(containersOf(IMAGES.reference)).toBe('');
});

test.for<[string, string, RegExp]>([
  ['that ends at once', IMAGES.endsAtOnce, /asked with MUSTER_JOB=describe .*ended with exit code 7.*no config/s],
  ['without its program', IMAGES.noProgram, /could not be started \(.*\/bin\/my-client/s],
])('check client --image reports an image %s and exits with 2', async ([, image, why], context) => {
  needsDocker(context);
  const { code, stdout, stderr } = await check(image);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(why);
  expect(code, stdout + stderr).toBe(2);
  expect(containersOf(image)).toBe('');
});
