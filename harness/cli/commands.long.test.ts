import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ended, muster, Running, refusal, shownText } from './testing/muster.ts';

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
    ['check', 'client'],
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
  const listing =
    `import{registerHooks}from'node:module';const ` +
    'seen=[];registerHooks({load(url,context,next){seen.push(url);return ' +
    `next(url,context)}});process.on('exit',()=>process.stderr.write(seen.join('\\n')))`;
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
