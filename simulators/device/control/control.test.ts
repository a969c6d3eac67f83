import { existsSync, statSync } from 'node:fs';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ControlInfo, controlInfo } from '../../../harness/contract/control.ts';
import { send } from '../../common/testing/requests.ts';
import { simulateDevice } from '../index.ts';
import { SupervisedDevice } from '../process/supervisor.ts';
import { robot, useScratch } from '../testing/robot.ts';
import { serveControl } from './server.ts';
import { controlError } from './target.ts';

const home = useScratch();

describe.for(['in this process', 'in a process of its own'] as const)('an agent %s', (kind) => {
  let stack: AsyncDisposableStack;
  const socket = () => `${home.path}/agent.sock`;

  beforeEach(async () => {
    const control = { path: `${home.path}/control.sock` };
    const options = { dir: `${home.path}/robot`, socket: socket(), heartbeatMs: 2_000, retain: 50, seed: 1 };
    stack = new AsyncDisposableStack();
    if (kind === 'in this process') stack.use(await simulateDevice({ ...options, control }));
    else {
      const device = stack.use(new SupervisedDevice({ device: options, logLevel: 'silent' }));
      stack.use(await serveControl(device, control));
      await device.start();
    }
  });

  afterEach(async () => {
    await stack.disposeAsync();
    expect(existsSync(socket())).toBe(false);
    expect(existsSync(`${home.path}/control.sock`)).toBe(false);
  });

  const control = (method: string, path: string, body?: unknown) =>
    send({ socketPath: `${home.path}/control.sock`, method, path }, body);

  test('lists its capabilities, on a socket for its owner only', async () => {
    const { status, json } = await control('GET', '/');
    expect(status).toBe(200);
    expect(controlInfo.problems(json)).toEqual([]);
    const info = json as ControlInfo;
    expect(info).toMatchObject({ retention: 50, heartbeat_seconds: 2 });
    expect(info.capabilities.toSorted()).toEqual(['compact', 'drive', 'files', 'log', 'restart']);
    expect(statSync(`${home.path}/control.sock`).mode & 0o777).toBe(0o600);
  });

  test('refuses invalid control requests with a status and a reason', async () => {
    const refused: [string, string, unknown, number, RegExp][] = [
      ['POST', '/deployments', '{', 400, /not JSON/],
      ['POST', '/deployments', { error_status: 'no' }, 400, /error_status must be one of/],
      ['POST', '/deployments', { release_id: 'x' }, 400, /must begin with rls_/],
      ['POST', '/events', {}, 400, /count/],
      ['POST', '/events', { count: 0 }, 400, /count/],
      ['POST', '/events', { count: 1.5 }, 400, /count/],
      ['POST', '/stop', { signal: 'SIGHUP' }, 400, /signal must be one of/],
      ['POST', '/deployments/dpl_none/remove', undefined, 404, /no deployment/],
      ['POST', '/events', 'x'.repeat(33_554_433), 413, /at most 33554432 bytes/],
      ['GET', '/nonsense', undefined, 404, /no \/nonsense/],
      ['GET', '/events', undefined, 405, /answers POST/],
    ];
    for (const [method, path, body, status, reason] of refused) {
      const answer = await control(method, path, body);
      const request = `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`;
      expect(answer.status, request).toBe(status);
      expect((answer.json as { error: { message: string } }).error.message, request).toMatch(reason);
    }
  });
});

test('an agent process tells the retention of its variant, also while it starts and while it is down', async () => {
  const place = { dir: `${home.path}/robot`, socket: `${home.path}/agent.sock` };
  await using device = new SupervisedDevice({ device: place, variants: ['retains-6'], logLevel: 'silent' });
  await expect(device.info()).rejects.toMatchObject({ code: 'agent_down' });
  const starting = device.start();
  expect(await device.info()).toMatchObject({ retention: 6 });
  await starting;
  await device.stop();
  expect(await device.info()).toMatchObject({ retention: 6 });
});

test('a control port accepts its token only, and refuses requests with a foreign Origin', async () => {
  await using device = await simulateDevice({ dir: `${home.path}/r`, socket: `${home.path}/s`, control: { port: 0 } });
  const address = device.controlAddress;
  const port = address !== undefined && 'port' in address ? address.port : 0;
  const authorized = { authorization: `Bearer ${device.controlToken}` };
  const status = async (headers: Record<string, string>, body?: string): Promise<number> =>
    (await send({ host: '127.0.0.1', port, path: '/stop', method: 'POST', headers }, body)).status;
  expect(await status({ ...authorized, Origin: 'https://evil.example' })).toBe(403);
  expect(await status({})).toBe(401);
  expect(device.running).toBe(true);
  expect(await status({ ...authorized, 'content-type': 'application/json' }, '{}')).toBe(204);
  expect(device.running).toBe(false);
});

test('an agent process that cannot start fails with the system error', async () => {
  const device = new SupervisedDevice({ device: { dir: home.path, socket: `${home.path}/no/s` }, logLevel: 'silent' });
  await expect(device.start()).rejects.toThrow(/ENOENT|EACCES/);
  await device[Symbol.asyncDispose]();
});

test.for(['serving', 'starting'])('an agent process that is %s and does not end is killed', async (state) => {
  const told: string[] = [];
  const device = new SupervisedDevice(
    { device: { dir: `${home.path}/robot`, socket: `${home.path}/agent.sock` }, logLevel: 'silent' },
    { patienceMs: 200, log: { error: (_fields, message) => told.push(message) } },
  );
  const starting = device.start();
  if (state === 'serving') await starting;
  const { pid } = device;
  process.kill(pid ?? 0, 'SIGSTOP');
  await device.stop('SIGTERM');
  expect(() => process.kill(pid ?? 0, 0)).toThrow(/ESRCH/);
  expect(device.pid).toBeUndefined();
  expect(told).toEqual(['the agent did not end within 200 ms of SIGTERM, so it was killed']);
  if (state === 'starting') await expect(starting).rejects.toThrow(/ended \(SIGKILL\) before it served/);
});

test('a failed compaction is answered with 500', async () => {
  await using on = await robot({ faults: ['enospc=10kB'] });
  await on.device.publish(20);
  const failure = await on.device.compact().catch(controlError);
  expect(failure).toMatchObject({ status: 500, code: 'compaction_failed' });
});
