/** What is made of a red run against a client, of the stream and of each job that ends by itself: reports, replay, baseline, comparison. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Report } from '../runner/types.ts';
import { type Ended, muster } from './testing/muster.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const folder = mkdtempSync(join(tmpdir(), 'muster-again-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const SOUND = `'${process.execPath}' '${join(import.meta.dirname, 'testing/client.ts')}'`;
/** A defect of the stream that a property finds, and one of each other job. */
const BROKEN = `${SOUND} text-by-piece pages-grow ping-in-ms status-by-itself deploys-twice`;
const RED = ['client.stream.boundaries', 'client.pages.next', 'client.ping.answer', 'client.current.status'];
const WARNED = ['client.deploy.shown'];
const ONLY = ['--only', ...RED, ...WARNED, 'client.stream.dispatch', 'client.current.shown', 'client.pages.items'];

const check = (command: string, ...words: string[]): Promise<Ended> =>
  muster('check', 'client', '--command', command, ...ONLY, '--patience', '4', ...words);
const outcomes = (name: string, wanted: string): string[] =>
  (JSON.parse(readFileSync(at(name), 'utf8')) as Report).checks
    .filter(({ outcome }) => outcome === wanted)
    .map(({ requirement_id }) => requirement_id)
    .sort();

let red: Ended;
beforeAll(async () => {
  const reports = ['json', 'junit', 'html'].flatMap((format) => ['--report', `${format}=${at(`red.${format}`)}`]);
  red = await check(BROKEN, ...reports, '--report', 'pretty');
});

test('every job is red, in every report', () => {
  expect(red.code, red.stderr).toBe(1);
  expect([...new Set(outcomes('red.json', 'fail'))]).toEqual(RED.toSorted());
  expect(outcomes('red.json', 'warn')).toEqual(WARNED);
  const junit = readFileSync(at('red.junit'), 'utf8');
  expect(junit.match(/<failure /g)).toHaveLength(outcomes('red.json', 'fail').length);
  const html = readFileSync(at('red.html'), 'utf8');
  for (const id of [...RED, ...WARNED]) {
    expect(html).toContain(`data-id="${id}"`);
    expect(junit).toContain(id);
  }
  expect(html.match(/<figure class="timeline">/g)?.length).toBeGreaterThanOrEqual(RED.length);
});

test('a replay finds all of it again, and nothing on a client that is sound', async () => {
  const count = outcomes('red.json', 'fail').length + WARNED.length;
  const again = await muster('replay', at('red.json'));
  expect(again.stdout).toContain(`${count} of ${count} findings happened again`);
  expect(again.code, again.stderr).toBe(1);
  const mended = await muster('replay', at('red.json'), '--', '--command', SOUND);
  expect(mended.stdout).toContain(`0 of ${count} findings happened again`);
  expect(mended.code, mended.stderr).toBe(0);
});

test('a client cannot be kept up, and another way to look at it is named', async () => {
  expect(red.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'play a situation to it for as long as it takes: muster simulate device --scenario NAME',
  );
  const kept = await muster('replay', at('red.json'), '--keep');
  expect(kept.stderr).toMatch(/--keep: a client is started anew for each situation.*--scenario NAME/s);
  expect(kept.code).toBe(64);
});

test('a replay in an image leaves the command out', async () => {
  const image = ['--image', 'muster-test-client:none'];
  const { stdout, code } = await muster('replay', at('red.json'), '--', ...image);
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/--image( muster-test-client:none:| needs Docker)/);
  expect(code).toBe(2);
});

test('a baseline excuses what it names, and is stale when it is mended', async () => {
  const baseline = ['--baseline', at('baseline.yaml')];
  await check(BROKEN, ...baseline, '--update-baseline');
  const excused = await check(BROKEN, ...baseline, '--report', `json=${at('excused.json')}`, '--report', 'pretty');
  expect(excused.code, excused.stdout).toBe(0);
  expect(outcomes('excused.json', 'known')).toEqual(outcomes('red.json', 'fail'));
  const mended = await check(SOUND, ...baseline, '--report', `json=${at('sound.json')}`, '--report', 'pretty');
  expect(mended.stdout).toContain('stale in the baseline');
  expect(mended.code).toBe(2);
  const compared = await muster('compare', at('sound.json'), at('red.json'), '--gate', 'regressions');
  for (const id of RED) expect(compared.stdout).toContain(id);
  expect(compared.code).toBe(1);
});
