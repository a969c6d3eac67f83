import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../runner/types.ts';
import { HttpControl } from '../targets/control/http-control.ts';
import { refusal, shownText } from './testing/in-process.ts';
import { type Ended, muster, Running } from './testing/muster.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('usage errors', () => {
  it.each([
    [['check', 'device', '--socket', 'x', '--only', 'device.events.fram'], 'did you mean device.events.frame?'],
    [['check', 'device', '--socket', 'x', '--section', '42'], 'has the sections 2.1'],
    [
      ['check', 'device', '--socket', 'x', '--requirements', '2020-01-01'],
      'there is no such requirement set; accepted: 20',
    ],
    [['list', '--requirements', '2020-01-01'], 'there is no such requirement set; accepted: 20'],
    [['check', 'device', '--socket', 'x', '--report', 'pdf'], 'junit'],
    [['check', 'device'], '--socket PATH'],
    [['check', 'platform', '--url', 'http://127.0.0.1:1'], 'MUSTER_API_KEY'],
    [['replay', 'no-such-file.json'], 'no-such-file.json'],
    [['replay', join(import.meta.dirname, '../../package.json')], 'is not a report of `muster check`'],
    [['explain', 'device.events.replay.sean'], 'device.events.replay.seam'],
  ])('says what is accepted: %j', async (words, said) => {
    expect(await refusal(words)).toContain(said);
  });

  it('a report without options cannot be replayed, and says so', async () => {
    const file = join(folder, 'old.json');
    writeFileSync(file, JSON.stringify({ api: 'device', arguments: ['check', 'device'], checks: [] }));
    expect(await refusal(['replay', file])).toContain('contains no options to run its checks with');
  });
});

describe('help', () => {
  it.each([
    ['check', 'device'],
    ['check', 'platform'],
    ['check', 'system'],
    ['simulate', 'device'],
    ['simulate', 'platform'],
    ['fleet'],
  ])('of %s %s shows an example', async (...words) => {
    expect(await shownText([...words, '--help'])).toContain('Examples:');
  });

  it('is printed by the process, which ends with 0', async () => {
    const { code, stdout } = await muster('check', 'device', '--help');
    expect(stdout).toContain('Examples:');
    expect(code).toBe(0);
  });
});

it('help loads no command, so that it comes at once', async () => {
  const listing = `import{registerHooks}from'node:module';const seen=[];registerHooks({load(url,context,next){seen.push(url);return next(url,context)}});process.on('exit',()=>process.stderr.write(seen.join('\\n')))`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(listing)}` };
  const { stderr, code } = await new Running(['--help'], { env }).ended;
  const loaded = stderr.split('\n').filter((url) => url.startsWith('file:'));
  expect(code).toBe(0);
  expect(loaded.some((url) => url.endsWith('/harness/cli/main.ts'))).toBe(true);
  const parts = /\/(suites|simulators|harness\/(runner|client|targets|reports)|cli\/commands)\//;
  // The classes of errors load nothing else.
  expect(loaded.filter((url) => parts.test(url) && !url.endsWith('/harness/client/errors.ts'))).toEqual([]);
});

it('an error that nobody awaits is a failure of Muster, not of the target', async () => {
  const stray = `process.once('beforeExit',()=>void Promise.reject(new Error('stray')))`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(stray)}` };
  const { stderr, code } = await new Running(['--version'], { env }).ended;
  expect(stderr).toContain('muster: Error: stray');
  expect(code).toBe(3);
});

it.each([
  [['check', 'device', '--so'], '--socket'],
  [['check', ''], 'platform'],
  [['fleet', '--ro'], '--robots'],
  [[''], 'simulate'],
])('completes %j', async (words, completion) => {
  const text = await shownText(['--get-yargs-completions', 'muster', ...words]);
  expect(text.split('\n')).toContain(completion);
});

it('completes in a shell, with exit code 0', async () => {
  const { stdout, code } = await muster('--get-yargs-completions', 'muster', 'check', 'device', '--so');
  expect(stdout.split('\n')).toContain('--socket');
  expect(code).toBe(0);
});

describe('a dead socket', () => {
  it('exits 2 and says so, with what to try', async () => {
    const { code, stdout } = await muster('check', 'device', '--socket', join(folder, 'nobody.sock'), '--fast');
    expect(stdout).toContain('no such socket');
    expect(stdout).toContain('curl --unix-socket');
    expect(code).toBe(2);
  });
});

describe('a simulated device', () => {
  const socket = join(folder, 'robot.sock');
  const control = join(folder, 'control.sock');
  let device: Running;
  beforeAll(async () => {
    device = new Running([
      'simulate',
      'device',
      '--socket',
      socket,
      '--control',
      control,
      '--dir',
      join(folder, 'robot'),
    ]);
    await device.ready();
  });
  afterAll(() => device[Symbol.asyncDispose]());

  const check = (...words: string[]): Promise<Ended> =>
    muster('check', 'device', '--socket', socket, '--control', control, ...words);

  // The long tests run all that is fast.
  it('is conformant, black box or driven', async () => {
    const some = ['--fast', '--only', 'device.deployment.*', 'device.version.*'];
    const driven = await check(...some, '--report', 'pretty');
    expect(driven.stdout).toMatch(/\d+ passed/);
    expect(driven.stdout).not.toMatch(/\d (failed|blocked|warned)/);
    expect(driven.code).toBe(0);
    const blackBox = await muster('check', 'device', '--socket', socket, ...some);
    expect(blackBox.stdout).toContain('needs drive');
    expect(blackBox.code).toBe(0);
  });

  it('writes a JSON report as the contract says', async () => {
    const { stdout, code } = await check('--only', 'device.deployment.merge', '--report', 'json', '--seed', '7');
    expect(JSON.parse(stdout)).toMatchObject({
      seed: 7,
      exit_code: 0,
      complete: false,
      narrowed_by: ['--only device.deployment.merge'],
      summary: { fail: 0 },
      checks: expect.arrayContaining([
        expect.objectContaining({ id: 'device.deployment.merge', level: 'MUST', section: '2.2' }),
      ]),
    });
    expect(code).toBe(0);
  });
});

async function publish(control: string, count: number): Promise<void> {
  const client = new HttpControl(control);
  await client.publish(count);
  await client.close();
}

/** Two defects that have nothing to do with each other. */
const BOTH = ['replay-inclusive', 'malformed-crashes'];

describe('a replay', () => {
  it('runs exactly what failed, with its counterexample', async () => {
    const socket = join(folder, 'inclusive.sock');
    const control = join(folder, 'inclusive-control.sock');
    const dir = join(folder, 'inclusive');
    const at = ['--socket', socket, '--control', control];
    await using device = new Running(['simulate', 'device', ...at, '--dir', dir, '--defect', ...BOTH]);
    await device.ready();
    const file = join(folder, 'run.json');
    await publish(control, 30);
    // Black-box checks that publish nothing, so that neither depends on what the other does meanwhile.
    const id = 'device.events.replay.exclusive.retained';
    const other = 'device.events.cursor.malformed';
    const first = await muster('check', 'device', ...at, '--only', id, other, '--report', `json=${file}`);
    expect(first.code).toBe(1);
    const failed = (JSON.parse(readFileSync(file, 'utf8')) as Report).checks.filter(
      ({ outcome }) => outcome === 'fail' || outcome === 'warn',
    );
    expect(failed).toHaveLength(2);
    const { code, stdout } = await muster('replay', file);
    expect(stdout.match(/HAPPENED AGAIN/g)).toHaveLength(1);
    expect(stdout).toContain(`${failed.length} of ${failed.length} findings happened again\n`);
    expect(stdout).toContain(`✗ ${id}  MUST`);
    // What it says to copy leads to the report that still exists.
    expect(stdout).toContain(`again      muster replay ${file} --only ${id}\n`);
    expect(code).toBe(1);
    // Mended: every check is named once more, and what became of it.
    const mended = ['simulate', 'device', '--socket', `${socket}.mended`, '--dir', `${dir}.mended`];
    await using mendedDevice = new Running([...mended, '--control', `${control}.mended`]);
    await mendedDevice.ready();
    await publish(`${control}.mended`, 30);
    const instead = ['--socket', `${socket}.mended`, '--control', `${control}.mended`];
    const now = await muster('replay', file, '--', ...instead);
    expect(now.stdout).toMatch(/DID NOT HAPPEN AGAIN {2}\d passed/);
    expect(now.stdout).toContain(`0 of ${failed.length} findings happened again; not again: `);
    expect(now.code).toBe(0);
    expect((await muster('replay', file, '--only', 'device.version.prefix')).code).toBe(64);
  });
});

describe('an interrupt', () => {
  it('still writes the report, names what is undecided, and exits 2', async () => {
    const socket = join(folder, 'silent.sock');
    await using device = new Running([
      'simulate',
      'device',
      '--socket',
      socket,
      '--dir',
      join(folder, 'silent'),
      '--heartbeat',
      '300s',
    ]);
    await device.ready();
    const report = join(folder, 'interrupted.json');
    const running = new Running([
      'check',
      'device',
      '--socket',
      socket,
      '--only',
      'device.events.heartbeat',
      '--report',
      'pretty',
      '--report',
      `json=${report}`,
    ]);
    await running.line((line) => line.startsWith('check device'));
    running.child.kill('SIGINT');
    const { code, stdout } = await running.ended;
    expect(stdout).toContain('interrupted');
    expect(code).toBe(2);
  });
});
