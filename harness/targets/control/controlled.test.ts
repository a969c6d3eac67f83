/** Whose doing it is when a check that drives the agent goes wrong. */
import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { Redactor } from '../../client/redact.ts';
import { poll } from '../../common/waiting.ts';
import { checks, requirement, suite } from '../../runner/define.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { CheckContext, CheckResult, Level } from '../../runner/types.ts';
import type { DeviceTargetOptions } from '../fields.ts';
import { openDeviceTarget } from '../open-device.ts';
import type { DeviceContext } from '../opened.ts';
import { listening, temporaryFolder } from '../testing/places.ts';
import { TcpProxy } from './controlled-agent.ts';

const folder = temporaryFolder();

type Device = DeviceContext & CheckContext;
const define = checks<DeviceContext>();
const sharing = 'exclusive' as const;
const check = (name: string, run: (t: Device) => Promise<unknown>, level: Level = 'MUST') =>
  define(
    requirement({ id: `device.${name}`, level, section: '6', since: '2026-11-21', text: name }),
    { sharing },
    async (t: Device) => void (await run(t)),
  );

async function run(
  place: Partial<DeviceTargetOptions>,
  list: readonly ReturnType<typeof check>[],
  maxTimeMs = 60_000,
): Promise<CheckResult[]> {
  const redactor = new Redactor();
  await using target = await openDeviceTarget({ ...place, env: process.env, redactor });
  const one = suite<DeviceContext>('device', [list]);
  const { capabilities, description, context } = target;
  const plan = makePlan(one, { capabilities });
  const options = { plan, target: description, context, redactor, seed: 1, version: '0', maxTimeMs };
  return (await runSuite(one, options)).checks;
}

test('a check past its limit leaves no control call behind', async () => {
  const calls: string[] = [];
  let pending = 0;
  const server = http.createServer((request, response) => {
    if (request.method === 'GET') return void response.end('{"capabilities":["drive"]}');
    calls.push(request.url ?? '');
    if (request.url === '/compact') return void response.end('{"earliest_id":1,"latest_id":1}');
    pending += 1;
    response.once('close', () => {
      pending -= 1;
    });
  });
  const path = join(folder, 'hanging.sock');
  await listening(server, path);
  const [dir, socket] = [join(folder, 'device'), join(folder, 'device.sock')];
  await using _ = await simulateDevice({ dir, socket });
  let atNext: string[] = [];
  let after: Promise<unknown> | undefined;
  const results = await run(
    { socket, control: path },
    [
      check('hangs', async (t) => {
        after = t.control.publish(1).catch(() => t.control.deploy().catch((error: Error) => error.message));
        await after;
      }),
      check('next', async (t) => {
        await poll('the call to be cut off', () => (pending === 0 ? true : undefined), { timeoutMs: 30_000 });
        atNext = [...calls];
        await t.control.compact();
      }),
    ],
    2000,
  );
  expect(results.map(({ outcome }) => outcome)).toEqual(['blocked', 'pass']);
  expect(atNext).toEqual(['/events']);
  expect(await after).toMatch(/the check is over/);
});

test('an agent that ends between two checks fails the next MUST', async () => {
  const socket = join(folder, 'quiet.sock');
  const agent = `const http = require('node:http');
    http.createServer((q, r) => { r.end('{}'); if (q.url === '/v0.2/end') setTimeout(() => process.exit(7), 50); }).listen('${socket}');`;
  const list = [
    check('first', async (t) => {
      await t.http.get('/end');
      await poll(
        'the agent to end',
        () =>
          t.http.get('/').then(
            () => undefined,
            () => true,
          ),
        { timeoutMs: 30_000 },
      );
    }),
    check('info', (t) => t.http.get('/'), 'INFO'),
    check('second', (t) => t.http.get('/')),
    check('third', (t) => t.http.get('/')),
  ];
  const results = await run({ socket, command: `exec node -e "${agent}"` }, list);
  expect(results.map(({ outcome }) => outcome)).toEqual(['pass', 'blocked', 'fail', 'blocked']);
  expect(results[2]).toMatchObject({ expected: 'an agent that goes on serving' });
  expect(results[2]?.actual).toMatch(/ended with exit code 7/);
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
  again.destroy();
  echo.close();
});
