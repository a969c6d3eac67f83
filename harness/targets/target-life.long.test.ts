import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { HttpClient } from '../client/http.ts';
import { exchange } from '../client/raw.ts';
import { Redactor } from '../common/redact.ts';
import { closedPort } from '../common/testing/servers.ts';
import { poll } from '../common/waiting.ts';
import { suite } from '../runner/define.ts';
import { makePlan } from '../runner/plan.ts';
import { runSuite } from '../runner/run.ts';
import { declared } from '../runner/testing/checks.ts';
import type { Api, Check, CheckContext, Level, Report } from '../runner/types.ts';
import { Violation } from '../runner/violation.ts';
import { openDeviceTarget } from './open-device.ts';
import { openPlatformTarget } from './open-platform.ts';
import { temporaryFolder } from './testing/places.ts';
import { accepts } from './transports/index.ts';

const folder = temporaryFolder();

/** Answers everything after 30 ms, and exits on some requests. */
const server = (place: string, listen = `'${place}'`): string => `
  const busy = new Set();
  require('node:fs').rmSync('${place}', { force: true });
  require('node:http').createServer((q, r) => {
    const parts = [];
    busy.add(q);
    if (q.url.endsWith('/pair') && [...busy].filter((one) => one.url.endsWith('/pair')).length > 1) process.exit(9);
    q.on('data', (part) => parts.push(part)).on('end', () => {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
      const depth = (value) => (Array.isArray(value) ? 1 + Math.max(0, ...value.map(depth)) : 0);
      if (text !== '' && depth(JSON.parse(text)) > 50) process.exit(5);
      if (q.url.endsWith('/later')) setTimeout(() => process.exit(7), 50);
      setTimeout(() => { busy.delete(q); r.end('{}'); }, q.url.endsWith('/later') ? 0 : 30);
    });
  }).on('clientError', ({ code }) => code.startsWith('HPE_') && process.exit(6)).listen(${listen});`;

type Context = { http: HttpClient } & CheckContext;
type Body = (http: HttpClient) => Promise<unknown>;

const checkOf =
  (api: Api) =>
  (name: string, body: Body, level: Level = 'MUST', options = {}) =>
    declared(`${api}.${name}`, options, async (t) => void (await body((t as Context).http)), level);
const check = checkOf('device');

const asking: Body = async (http) => {
  for (let round = 0; round < 10; round += 1) await http.get('/ok');
};
const deep: Body = (http) =>
  http.request({ method: 'POST', path: '/deep', body: `${'['.repeat(99)}${']'.repeat(99)}` });
const ENDING: Record<string, [body: Body, code: number, request: RegExp]> = {
  'a null byte in a header': [
    (http) =>
      exchange(http, ['GET / HTTP/1.1\r\nhost: x\r\nx: a\0b\r\n\r\n'], { within: 5000 }).then(() => http.get('/')),
    6,
    /it ended after a raw GET \/ of \w+\.ends: /,
  ],
  'a body of JSON that is deep': [deep, 5, /it ended after POST \/\w.*\/deep of \w+\.ends: /],
};

type Run = (list: readonly Check<{ http: HttpClient }>[], place: Place) => Promise<Report>;
interface Place {
  address: string;
  command?: string;
  patienceMs?: number;
}

const device: Run = async (list, { address, ...more }) => {
  const redactor = new Redactor();
  await using target = await openDeviceTarget({ socket: address, ...more, env: process.env, redactor });
  return await runOn('device', list, target, redactor);
};
const platform: Run = async (list, { address, ...more }) => {
  const redactor = new Redactor();
  const options = { url: address, apiKey: 'key_0123456789', ...more, env: process.env, redactor };
  await using target = await openPlatformTarget(options);
  return await runOn('platform', list, target, redactor);
};

async function runOn(
  api: Api,
  list: readonly Check<{ http: HttpClient }>[],
  target: Awaited<ReturnType<typeof openDeviceTarget>> | Awaited<ReturnType<typeof openPlatformTarget>>,
  redactor: Redactor,
): Promise<Report> {
  const all = suite<{ http: HttpClient }>(api, [list]);
  const { capabilities, description, context } = target;
  const plan = makePlan(all, { capabilities });
  const usual = { varied: false, seed: 1, version: '0' };
  return await runSuite(all, { plan, target: description, context, redactor, ...usual });
}

const ALONE = { sharing: 'exclusive' } as const;
const atTheEnd = new DisposableStack();
afterAll(() => atTheEnd.dispose());

const newSocket = (): string => join(folder, `${randomUUID().slice(0, 8)}.sock`);
const commandFor = (...place: Parameters<typeof server>): string =>
  `exec "${process.execPath}" -e "${server(...place)}"`;

async function places(api: Api): Promise<[Run, Place]> {
  if (api === 'device') {
    const address = newSocket();
    return [device, { address, command: commandFor(address) }];
  }
  const port = await closedPort();
  return [platform, { address: `http://127.0.0.1:${port}/beta`, command: commandFor('port', `${port}, '127.0.0.1'`) }];
}

const LAST = check('last', asking, 'MUST', ALONE);
const outcomes = ({ checks: results }: Report) => results.map(({ outcome }) => outcome);

test.concurrent.each(
  Object.entries(ENDING).flatMap(([name, given]) =>
    (['device', 'platform'] as const).map((api) => [api, name, given] as const),
  ),
)('%s: %s that ends the server fails one MUST, and the other checks run', async (api, _, [body, code, request]) => {
  const [run, place] = await places(api);
  const checkIn = checkOf(api);
  const report = await run(
    [
      checkIn('first', asking),
      checkIn('ends', body, 'SHOULD'),
      checkIn('second', asking),
      checkIn('last', asking, 'MUST', { sharing: 'disruptive' }),
    ],
    place,
  );
  expect(outcomes(report)).toEqual(['pass', 'fail', 'pass', 'pass']);
  const finding = report.checks[1];
  expect(finding).toMatchObject({ level: 'MUST', expected: 'a target that goes on serving' });
  expect(finding?.actual).toMatch(request);
  expect(finding?.actual).toMatch(new RegExp(`ended with exit code ${code}`));
  expect(finding?.exchanges?.at(-1)?.request_body ?? '').not.toBe('');
  expect(report.exit_code).toBe(1);
});

test.concurrent('a finding shows the request that ends the server, among simultaneous requests', async () => {
  const [run, place] = await places('device');
  const together: Body = (http) =>
    Promise.all([http.get('/a'), http.request({ method: 'POST', path: '/b', body: '[{' }), http.get('/c')]);
  const report = await run([check('ends', together)], place);
  expect(report.checks[0]).toMatchObject({ outcome: 'fail' });
  expect(report.checks[0]?.actual).toMatch(/^it ended after POST \/v0\.2\/b of device\.ends: /);
  expect(report.checks[0]?.exchanges?.at(-1)?.url).toMatch(/\/b$/);
});

test.concurrent('an end caused by two checks together names both', async () => {
  const [run, place] = await places('device');
  const pair: Body = async (http) => {
    for (let round = 0; round < 20; round += 1) await http.get('/pair');
  };
  const report = await run([check('one', pair), check('other', pair)], place);
  expect(outcomes(report).toSorted()).toEqual(['fail', 'pass']);
  const actual = report.checks.find(({ outcome }) => outcome === 'fail')?.actual;
  expect(actual).toMatch(
    /^GET \/v0\.2\/pair of device\.\w+, GET \/v0\.2\/pair of device\.\w+: it ended beside these, and .*exit code 9/,
  );
});

test.concurrent('an end after a check is reported with the last request of that check', async () => {
  const [run, place] = await places('device');
  const gone: Body = async (http) => {
    await http.get('/later');
    const refused = () =>
      http.connect().then(
        (socket) => void socket.destroy(),
        () => true,
      );
    await poll('the server to end', refused, { timeoutMs: 30_000 });
  };
  const report = await run(
    [
      check('first', gone, 'MUST', { ...ALONE, turn: 'first' }),
      check('second', asking, 'MUST', ALONE),
      check('third', asking, 'MUST', { ...ALONE, turn: 'last' }),
    ],
    place,
  );
  expect(outcomes(report)).toEqual(['pass', 'fail', 'pass']);
  expect(report.checks[1]?.actual).toMatch(/^it ended after GET \/v0\.2\/later of device\.first: .*exit code 7/);
});

const IS_GONE = 'it takes no connections any more';

test.concurrent('a server that Muster cannot start fails one check, and blocks the rest', async () => {
  const { address } = await stoppable();
  const report = await device(
    [
      check('ends', deep, 'MUST', { ...ALONE, turn: 'first' }),
      check('next', asking, 'MUST', ALONE),
      check('last', asking, 'SHOULD', ALONE),
    ],
    { address, patienceMs: 500 },
  );
  expect(outcomes(report)).toEqual(['fail', 'blocked', 'blocked']);
  expect(report.checks[0]?.actual).toBe(`it ended after POST /v0.2/deep of device.ends: ${IS_GONE}`);
  expect(report.checks[0]?.exchanges?.at(-1)?.url).toMatch(/\/deep$/);
  const reason = `the target has ended by itself, after POST /v0.2/deep of device.ends: ${IS_GONE}`;
  expect(report.checks.slice(1).map((each) => each.reason)).toEqual([reason, reason]);
});

test.concurrent('a server that cannot be restarted fails one running check, which names all', async () => {
  const { address } = await stoppable();
  const busy: Body = async (http) => {
    for (;;) await http.get('/ok');
  };
  const list = [check('busy', busy), check('ends', deep), check('third', busy)];
  const report = await device(list, { address, patienceMs: 500 });
  expect(outcomes(report).toSorted()).toEqual(['blocked', 'blocked', 'fail']);
  const { actual = '' } = report.checks.find(({ outcome }) => outcome === 'fail') ?? {};
  expect(actual).toMatch(/^it ended after one of these, which were under way: .*: it takes no connections any more$/);
  expect(actual).toContain('POST /v0.2/deep of device.ends');
});

async function supervised({ times, awayMs, breaks }: { times: number; awayMs: number; breaks: boolean }) {
  const address = newSocket();
  let left = times;
  const answering = createServer((request, response) => {
    if (request.url?.endsWith('/ends') !== true || left === 0) {
      setTimeout(() => response.setHeader('connection', 'close').end('{}'), 30);
      return;
    }
    left -= 1;
    if (breaks) answering.closeAllConnections();
    else response.setHeader('connection', 'close').end('{}');
    answering.close();
    setTimeout(() => answering.listen(address), awayMs);
  });
  atTheEnd.defer(() => {
    answering.closeAllConnections();
    answering.close();
  });
  await once(answering.listen(address), 'listening');
  return address;
}

const ends: Body = async (http) => {
  await http.get('/ends');
  await http.get('/ok');
};
const CUT_OFF =
  /GET \/v0\.2\/ends of device\.ends.*: the target broke off its answer and took no connections then, but not again /;

describe.concurrent.each([300, 1500])('a server that returns by itself after %i ms', (awayMs) => {
  test.each(['shared', 'exclusive'])('blocks the check that it cut off once (%s)', async (sharing) => {
    const address = await supervised({ times: 1, awayMs, breaks: true });
    const list = ['first', 'ends', 'last'].map((name) =>
      check(name, name === 'ends' ? ends : asking, 'MUST', { sharing }),
    );
    const report = await device(list, { address });
    expect(outcomes(report).toSorted()).toEqual(['blocked', 'pass', 'pass']);
    expect(report.checks.find(({ outcome }) => outcome === 'blocked')?.reason).toMatch(CUT_OFF);
    expect(report.exit_code).toBe(2);
  });

  test('fails only the check with a request that ends it each time', async () => {
    const address = await supervised({ times: Number.POSITIVE_INFINITY, awayMs, breaks: true });
    const list = [check('first', asking), check('ends', ends, 'SHOULD'), check('last', asking)];
    const report = await device(list, { address });
    expect(outcomes(report)).toEqual(['pass', 'fail', 'pass']);
    expect(report.checks[1]).toMatchObject({
      level: 'MUST',
      actual:
        'it ended after GET /v0.2/ends of device.ends: it took no connections then, as when this check was run before',
    });
  });

  const refused = 'the target took no connections, after GET /v0.2/ends of device.ends';
  test.each([
    ['once is no finding', 1, 'pass', undefined],
    ['each time is undecided', Number.POSITIVE_INFINITY, 'blocked', refused],
  ])('and leaves its answers whole %s', async (_, times, outcome, reason) => {
    const address = await supervised({ times, awayMs, breaks: false });
    const report = await device([check('ends', ends, 'MUST', ALONE), LAST], { address });
    expect(outcomes(report)).toEqual([outcome, 'pass']);
    expect(report.checks[0]?.reason).toBe(reason);
  });
});

test.concurrent('a finding from whole answers stands, even when connections are refused later', async () => {
  const address = await supervised({ times: 1, awayMs: 300, breaks: false });
  const wrong: Body = async (http) => {
    await http.get('/ends');
    throw new Violation({ expected: 'another answer', actual: '{}' });
  };
  const report = await device([check('wrong', wrong, 'MUST', ALONE), LAST], { address });
  expect(report.checks).toMatchObject([{ outcome: 'fail', actual: '{}' }, { outcome: 'pass' }]);
});

async function stoppable() {
  const address = newSocket();
  const child = spawn(process.execPath, ['-e', server(address)], { stdio: 'ignore' });
  atTheEnd.defer(() => void child.kill('SIGKILL'));
  await poll('it to serve', async () => (await accepts({ path: address })) || undefined, { timeoutMs: 60_000 });
  return { address, child };
}

test('a server that pauses and resumes fails no check, and shortens no wait', async () => {
  const { address, child } = await stoppable();
  const stops = { left: 1 };
  const sleeping: Body = async (http) => {
    if (stops.left-- > 0) child.kill('SIGSTOP');
    await http.get('/ok');
  };
  let late = 0;
  const sleeps = declared('device.sleeps', ALONE, async (t) => {
    const { http, session } = t as Context;
    await Promise.resolve(sleeping(http)).catch((error: unknown) => {
      session.waits.device.timedOut('answer');
      // Ends the pause once Muster has missed the answer, however busy the machine is.
      setTimeout(() => child.kill('SIGCONT'), 1000);
      throw error;
    });
  });
  const waits = declared('device.waits', ALONE, async (t) => {
    const { http, session } = t as Context;
    late = session.waits.device.within('answer', 1500);
    await http.get('/ok');
  });
  const report = await device([sleeps, waits, LAST], { address, patienceMs: 1500 });
  expect(outcomes(report)).toEqual(['pass', 'pass', 'pass']);
  expect(stops.left).toBe(-1);
  expect(late).toBe(1500);
});

test('a server that hangs on every request from then on fails the check', async () => {
  const { address, child } = await stoppable();
  const hangs: Body = async (http) => {
    child.kill('SIGSTOP');
    await http.get('/ok');
  };
  const report = await device([check('hangs', hangs, 'MUST', ALONE)], { address, patienceMs: 500 });
  const actual = expect.stringMatching(/no answer within \d+ ms$/);
  expect(report.checks).toMatchObject([{ outcome: 'fail', actual }]);
});

test.each([
  ['broken off while Muster itself was stopped is asked again', 2200, 'drop', 'pass'],
  ['broken off while Muster ran is a finding', 0, 'drop', 'fail'],
  ['of 408 while Muster itself was stopped is asked again', 2200, '408', 'pass'],
  ['of 408 while Muster ran is a finding', 0, '408', 'fail'],
] as const)('an answer %s', async (_, ms, how, outcome) => {
  let asked = 0;
  const address = newSocket();
  const givesUpFirst = createServer((request, response) => {
    if (request.url?.endsWith('/ok') !== true || ++asked > 1) response.end('{}');
    else if (how === 'drop') request.socket.destroy();
    else response.writeHead(408).end();
  }).listen(address);
  atTheEnd.defer(() => void givesUpFirst.close());
  const held: Body = async (http) => {
    if (asked === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    const { status } = await http.get('/ok');
    if (status !== 200) throw new Violation({ expected: '200', actual: String(status) });
  };
  const report = await device([check('held', held, 'MUST', ALONE)], { address, patienceMs: 500 });
  expect(outcomes(report)).toEqual([outcome]);
});
