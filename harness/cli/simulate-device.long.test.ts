import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { startPlatform } from '../../simulators/platform/testing/kit.ts';
import { poll } from '../common/waiting.ts';
import { ask, printed, type Running, refusal, typed, useHome } from './testing/muster.ts';

const home = useHome();
const simulate = (...options: string[]): Running => home.start(['simulate', 'device', ...options]);

describe('muster simulate device', () => {
  test.for(['SIGTERM', 'SIGINT'] as const)('serves until %s, and leaves only the robot’s folder', async (signal) => {
    const run = simulate(...typed`--socket a.sock --loopback --discovery a.json --dir robot --seed 1`);
    expect(await run.ready()).toEqual({
      ready: true,
      socket: join(home.path, 'a.sock'),
      discovery: join(home.path, 'a.json'),
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      device_id: expect.stringMatching(/^dvc_/),
    });
    expect((await ask(join(home.path, 'a.sock'), '/v0.2/health')).text).toBe('{"status":"ok"}');
    const { token } = JSON.parse(readFileSync(join(home.path, 'a.json'), 'utf8')) as { token: string };
    expect((await run.stop(signal)).code).toBe(0);
    expect(existsSync(join(home.path, 'a.sock'))).toBe(false);
    expect(existsSync(join(home.path, 'a.json'))).toBe(false);
    expect(run.stdout.trim().split('\n')).toHaveLength(1);
    for (const line of run.stderr.trim().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number) });
    expect(run.stderr).not.toContain(token);
  });

  test('kills and starts its agent process through --control, and finally removes both sockets', async () => {
    const run = simulate(...typed`--socket a.sock --dir robot --control c.sock --heartbeat 2s --retain 50`);
    expect(await run.ready()).toMatchObject({ socket: join(home.path, 'a.sock'), control: join(home.path, 'c.sock') });
    const control = (path: string, body?: string) =>
      ask(join(home.path, 'c.sock'), path, body === undefined ? 'GET' : 'POST', body);
    expect(JSON.parse((await control('/')).text)).toMatchObject({ retention: 50, heartbeat_seconds: 2 });
    await control('/events', '{"count":3}');
    expect((await control('/stop', '{"signal":"SIGKILL"}')).status).toBe(204);
    await expect(ask(join(home.path, 'a.sock'), '/v0.2/health')).rejects.toThrow(/ECONNREFUSED/);
    expect((await control('/start', '')).status).toBe(204);
    expect((await control('/events', '{"count":1}')).text).toBe('{"first_id":4,"last_id":4}');
    expect((await run.stop()).code).toBe(0);
    expect(existsSync(join(home.path, 'a.sock'))).toBe(false);
    expect(existsSync(join(home.path, 'c.sock'))).toBe(false);
  });

  test('prints the device id of its platform, or --device-id while the platform is unreachable', async () => {
    await using platform = await startPlatform({ mqtt: {} });
    const { token } = await platform.create('/provisioning_tokens', {});
    const way = ['--mqtt', platform.mqttUrl ?? '', '--token', String(token)];
    const enrolled = (dir: string, url: string) =>
      typed`--socket ${dir}.sock --dir ${dir} --uplink agent --platform ${url} ${way}`;
    const { device_id } = await simulate(...enrolled('robot', platform.agentUrl)).ready();
    expect((await platform.get(`/devices/${String(device_id)}`)).status).toBe(200);
    const away = await simulate(...enrolled('lost', 'http://127.0.0.1:9'), '--device-id', 'dvc_own').ready();
    expect(away['device_id']).toBe('dvc_own');
  });

  test('ends its agent process when the supervisor is killed', async () => {
    const run = simulate('--socket', 'a.sock', '--dir', 'robot', '--control', '0');
    expect((await run.ready())['control']).toBeGreaterThan(0);
    await run.stop('SIGKILL');
    await poll('the socket to go', () => !existsSync(join(home.path, 'a.sock')) || undefined, {
      timeoutMs: Number.POSITIVE_INFINITY,
    });
  });

  test('misbehaves as --defect names, also with --variant and --fault', async () => {
    const wrong = typed`--defect version-prefix-optional --defect bad-method-fails --variant slow-answers`;
    const run = simulate(...typed`--socket a.sock --dir robot --fault latency=1ms`, ...wrong);
    await run.ready();
    const at = join(home.path, 'a.sock');
    expect((await ask(at, '/health')).status).toBe(200);
    expect((await ask(at, '/v0.2/health', 'DELETE')).status).toBe(500);
  });

  test('lists defects and variants by section without other options', async () => {
    const { code, text } = await printed(typed`simulate device --defect list --variant list`);
    expect(code).toBe(0);
    expect(text).toMatch(/^2 deployments\n {2}\S+ +[A-Z]/);
    expect(text).toMatch(/\n\n6\.1 frames\n(?: {2}\S+ +[A-Z].*\n)* {2}frame-without-id +Sends/);
    expect(text).toMatch(/\n\nslowness\n(?: {2}.*\n)* {2}byte-by-byte +Writes/);
  });

  test('reports a socket or folder in use in one line, even with --log-level silent', async () => {
    await simulate('--socket', 'a.sock', '--dir', 'robot').ready();
    for (const [options, message] of [
      [['--socket', 'a.sock', '--dir', 'other'], /^muster: --socket: .*a\.sock is in use: another agent answers/],
      [['--socket', 'b.sock', '--dir', 'robot'], /^muster: --dir: .*robot is in use by process \d+; give each/],
      [['--socket', 'b.sock', '--dir', 'robot', '--control', 'c.sock'], /^muster: --dir: .*robot is in use by process/],
      [['--socket', 'b.sock', '--dir', 'other', '--control', 'a.sock'], /^muster: --control: .*a\.sock is in use/],
    ] as const) {
      const second = simulate(...options, '--log-level', 'silent');
      expect((await second.ended).code).toBe(64);
      expect(second.stderr).toMatch(message);
      expect(second.stderr.trim().split('\n')).toHaveLength(2);
      expect(second.stdout).toBe('');
    }
  });

  test('reports an unusable socket, folder or port in one line', async () => {
    writeFileSync(join(home.path, 'file'), '');
    const run = simulate(...typed`--socket a --dir file`);
    expect((await run.ended).code).toBe(64);
    expect(run.stderr).toMatch(/^muster: --dir: .*file is a file, and must be/);
    expect(run.stderr).not.toContain('{');
    await using other = await listenAt(createServer(), { port: 0 });
    const port = other.port ?? 0;
    const [socket, dir] = [join(home.path, 'a'), join(home.path, 'r')];
    for (const [options, message] of [
      [typed`--socket ${socket} --dir ${home.path}/file/x`, /^--dir: .*file\/x is no directory, or lies below/],
      [typed`--socket ${socket + 'a'.repeat(110)} --dir ${dir}`, /^--socket: .* at most 107 are possible/],
      [typed`--loopback --discovery ${home.path} --dir ${dir}`, /^--discovery: cannot write the discovery file/],
      [typed`--socket ${socket} --dir ${dir} --control ${port}`, `--control: port ${port} is in use; name another`],
    ] as const)
      expect(await refusal(['simulate', 'device', ...options])).toMatch(message);
  });
});

const DRIVEN = '*.deployment.current';

test('a check needs the device’s control token, from a file or from the environment', async () => {
  const port = ['--control', '0'];
  const shown = await simulate('--socket', 'shown.sock', '--dir', 'shown', ...port).ready();
  const file = join(home.path, 'control.token');
  const kept = await simulate('--socket', 'a.sock', '--dir', 'robot', ...port, '--control-token', file).ready();
  expect(kept).not.toHaveProperty('control_token');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const check = async (told: Record<string, unknown>, options: string[], env: Record<string, string> = {}) => {
    const socket = resolve(home.path, String(told['socket']));
    const words = ['--socket', socket, '--control', String(told['control']), '--only', DRIVEN, ...options];
    const { code, stdout, stderr } = await home.start(['check', 'device', ...words], { env }).ended;
    return { code, said: stdout + stderr };
  };
  const byFile = await check(kept, ['--control-token', file]);
  expect(byFile.code, byFile.said).toBe(0);
  const byVariable = await check(shown, [], { MUSTER_CONTROL_TOKEN: String(shown['control_token']) });
  expect(byVariable.code, byVariable.said).toBe(0);
  expect(byVariable.said).not.toContain(String(shown['control_token']));
  const without = await check(shown, []);
  expect(without.code).toBe(2);
  expect(without.said).toMatch(/answered 401.*MUSTER_CONTROL_TOKEN, or from the file of --control-token/s);
});

/** Timers of a second or more never end, so that only the signal can end the wait for an answer. */
const NO_SECOND_PASSES = `data:text/javascript,${encodeURIComponent(
  'const usual = setTimeout; ' +
    'globalThis.setTimeout = (act, ms, ...more) => usual(act, ms < 1000 ? ms : 2 ** 30, ...more);',
)}`;

test.each<[string, string[]]>([
  ['alone', []],
  ['with a control API', ['--control', 'c.sock']],
])('simulate device (%s) ends on SIGTERM while its platform never answers', async (_, more) => {
  const server = createServer();
  await using silent = await listenAt(server, { port: 0 });
  const platform = ['--uplink', 'polling', '--platform', silent.address, '--token', 'key'];
  const words = ['simulate', 'device', '--socket', 'a.sock', '--dir', 'robot', ...platform, ...more];
  const run = home.start(words, { env: { NODE_OPTIONS: `--import=${NO_SECOND_PASSES}` } });
  await once(server, 'connection');
  expect((await run.stop()).code, run.stderr).toBe(0);
  for (const name of ['a.sock', 'c.sock']) expect(existsSync(join(home.path, name)), name).toBe(false);
});
