/** Whose doing it is when a check that drives the agent goes wrong. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Redactor } from '../../client/redact.ts';
import { poll } from '../../common/waiting.ts';
import { checks, requirement, suite } from '../../runner/define.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { CheckContext, Level } from '../../runner/types.ts';
import { openDeviceTarget } from '../open-device.ts';
import type { DeviceContext } from '../opened.ts';
import { temporaryFolder } from '../testing/places.ts';
import { TcpProxy } from './controlled-agent.ts';

const folder = temporaryFolder();

type Device = DeviceContext & CheckContext;
const define = checks<DeviceContext>();
const check = (name: string, run: (t: Device) => Promise<unknown>, level: Level = 'MUST') =>
  define(
    requirement({ id: `device.${name}`, level, section: '6', since: '2026-11-21', text: name }),
    { sharing: 'exclusive' },
    async (t: Device) => void (await run(t)),
  );

test('an agent that ends between two checks fails the next MUST', async () => {
  const socket = join(folder, 'quiet.sock');
  const agent = `const http = require('node:http');
    http.createServer((q, r) => {
      r.end('{}');
      if (q.url === '/v0.2/end') setTimeout(() => process.exit(7), 50);
    }).listen('${socket}');`;
  const ask = (t: Device) => t.http.get('/');
  const until = async (t: Device) => {
    await t.http.get('/end');
    const gone = () =>
      ask(t)
        .then(() => undefined)
        .catch(() => true);
    await poll('the agent to end', gone, { timeoutMs: 30_000 });
  };
  const all = suite<DeviceContext>('device', [
    [check('first', until), check('info', ask, 'INFO'), check('second', ask), check('third', ask)],
  ]);
  const redactor = new Redactor();
  const command = `exec node -e "${agent}"`;
  await using target = await openDeviceTarget({ socket, command, env: process.env, redactor });
  const { capabilities, description, context } = target;
  const plan = makePlan(all, { capabilities });
  const report = await runSuite(all, { plan, target: description, context, redactor, seed: 1, version: '0' });
  expect(report.checks.map(({ outcome }) => outcome)).toEqual(['pass', 'blocked', 'fail', 'blocked']);
  expect(report.checks[2]).toMatchObject({ expected: 'an agent that goes on serving' });
  expect(report.checks[2]?.actual).toMatch(/ended with exit code 7/);
  expect(report.checks[3]?.reason).toMatch(/^the agent has ended by itself: .*ended with exit code 7/s);
});

test('a TCP proxy carries bytes both ways until it is cut, and again once restored', async () => {
  const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const { port } = echo.address() as AddressInfo;
  await using proxy = await TcpProxy.to(`http://127.0.0.1:${port}`);
  expect(proxy.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const open = () => connect(Number(new URL(proxy.url).port), '127.0.0.1').on('error', () => {});

  const first = open();
  first.write('hello');
  expect(String((await once(first, 'data'))[0])).toBe('hello');
  const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));
  const ended = closed(first);
  proxy.cut();
  await ended;

  const refused = open();
  await closed(refused);

  proxy.restore();
  const again = open();
  again.write('back');
  expect(String((await once(again, 'data'))[0])).toBe('back');
  await expect(TcpProxy.to('http://robot', Number(new URL(proxy.url).port))).rejects.toThrow('EADDRINUSE');
  again.resetAndDestroy();
  // Once its connections have ended too.
  await new Promise((resolve) => echo.close(resolve));
  for (const path of ['/', '/beta', '/beta/']) {
    await using below = await TcpProxy.to(`https://robot${path}`);
    expect(below.url.replace(/^https:\/\/127\.0\.0\.1:\d+/, '')).toBe(path);
  }
});
