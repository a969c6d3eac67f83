/** Whose doing it is when a check that drives the agent goes wrong. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { UNWILLING_CONTROLS, unwillingControl } from '../../../simulators/defects/controls.ts';
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

const folder = mkdtempSync(join(tmpdir(), 'muster-controlled-'));
afterAll(() => rmSync(folder, { recursive: true }));

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

/** The simulated device with one of the unwilling controls in front of its own. */
async function unwilling(name: string): Promise<{ socket: string; control: string }> {
  const place = (file: string): string => join(mkdtempSync(join(folder, 'd-')), file);
  const [socket, behind, front] = [place('a.sock'), place('c.sock'), place('f.sock')];
  const device = await simulateDevice({ dir: join(folder, name), socket, control: { path: behind }, seed: 1 });
  const found = UNWILLING_CONTROLS.find((one) => one.name === name);
  if (found === undefined) throw new RangeError(name);
  const server = await unwillingControl(found, behind, { path: front });
  onTestFinished(async () => {
    await server.close();
    await device[Symbol.asyncDispose]();
  });
  return { socket, control: front };
}

const expectEvent = async (t: Device): Promise<void> => {
  const { last_id: last } = await t.control.publish(2);
  const { status } = await t.http.get('/deployments/current');
  t.must(status === 0, { expected: `event ${last}`, actual: 'none' });
};

describe('a violation after a drive', () => {
  test('is blocked, with the lie, when the device shows no trace of the drive', async () => {
    const place = await unwilling('lies-about-publish');
    const [first, second] = await run(place, [check('first', expectEvent), check('second', expectEvent)]);
    expect(first).toMatchObject({ outcome: 'blocked' });
    expect(first?.reason).toMatch(
      /^control said that it had published the events 1 to 2, and the device shows no trace/,
    );
    expect(second?.reason).toMatch(/^control publish: not called again: control said/);
  });

  test('stands when the device shows one, whatever control is asked for afterwards', async () => {
    const [published, deployed] = await run(await unwilling('lies-about-remove'), [
      check('published', expectEvent),
      check('deployed', async (t: Device) => {
        const { id } = await t.control.deploy();
        t.must(false, { expected: `no ${id}`, actual: id });
      }),
    ]);
    expect([published?.outcome, deployed?.outcome]).toEqual(['fail', 'fail']);
  });
});

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
  server.listen(path);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { socket } = await unwilling('slow');
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

test('an agent that ends by itself fails one MUST and blocks the rest', async () => {
  const socket = join(folder, 'mortal.sock');
  const agent = `const http = require('node:http');
    http.createServer((q, r) => { r.end('{}', () => process.exit(7)); }).listen('${socket}');`;
  const look = (t: Device) => t.http.get('/deployments/current');
  const list = [check('first', look), check('info', look, 'INFO'), check('second', look), check('third', look)];
  const results = await run({ socket, command: `exec node -e "${agent}"` }, list);
  expect(results.map(({ outcome }) => outcome)).toEqual(['fail', 'blocked', 'blocked', 'blocked']);
  expect(results.at(-1)?.reason).toMatch(/^the agent has ended by itself: .*ended with exit code 7/s);
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
