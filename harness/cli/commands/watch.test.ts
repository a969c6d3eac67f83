import { chmodSync, chownSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import process from 'node:process';
import { Agent, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../simulators/common/testing/scratch.ts';
import { listenAt } from '../../../simulators/defects/null.ts';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { simulatePlatform } from '../../../simulators/platform/index.ts';
import { localhostTls } from '../../common/testing/localhost-tls.ts';
import { LONGEST_SOCKET_PATH } from '../../common/user-files.ts';
import { DEPLOYMENT } from '../../contract/client.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { jsonProblems } from '../../reports/testing/schemas.ts';
import { ask, printed, refusal, reportIn, typed, useHome } from '../testing/muster.ts';

const home = useHome();
const at = (name: string): string => join(home.path, name);
const CURRENT = '/v0.2/deployments/current';
const KEY = 'mk_0123456789abcdef';
const HEADERS = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION };

async function watchedPlatform(limit: unknown, words: string[], start = home.start) {
  const answer = JSON.stringify({ object: 'list', limit, offset: 0, has_more: false, data: [] });
  const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(answer));
  const { address, close } = await listenAt(server, { port: 0 });
  onTestFinished(close);
  const url = `${address}/beta`;
  const run = start(['watch', 'platform', '--url', url, '--listen', '0', '--report', 'json=r.json', ...words]);
  return { run, near: (await run.ready<{ url: string }>()).url };
}

describe('muster watch device', () => {
  const words = ['watch', 'device', '--socket', 'a.sock', '--listen', 'w.sock', '--report', 'json=r.json'];
  const modeOf = (socket: string): number => statSync(at(socket)).mode & 0o777;

  test('copies the agent’s socket mode, and ends once on two signals with a report', async () => {
    await using _ = await simulateDevice({ dir: at('robot'), socket: at('a.sock') });
    const run = home.start(words);
    expect(await run.ready()).toEqual({ ready: true, socket: at('w.sock') });
    expect(modeOf('w.sock')).toBe(modeOf('a.sock'));
    expect((await ask(at('w.sock'), CURRENT)).status).toBe((await ask(at('a.sock'), CURRENT)).status);
    // Stops the process, so that both signals come at once.
    for (const signal of ['SIGSTOP', 'SIGTERM', 'SIGINT'] as const) run.child.kill(signal);
    expect(await run.stop('SIGCONT')).toMatchObject({ code: 0 });
    expect(existsSync(at('w.sock'))).toBe(false);
    expect(jsonProblems('report.schema.json', readFileSync(at('r.json'), 'utf8'))).toEqual([]);
    expect(reportIn(at('r.json')).watched).toMatchObject({ connections: 1, exchanges: 1, gaps: [] });
  });

  test('follows an agent through a late start and a restart in one report', async () => {
    const run = home.start(words);
    await run.ready();
    expect(modeOf('w.sock')).toBe(0o600);
    for (const mode of [0o666, 0o660]) {
      await expect(ask(at('w.sock'), CURRENT)).rejects.toThrow();
      await using _ = await simulateDevice({ dir: at('robot'), socket: at('a.sock') });
      chmodSync(at('a.sock'), mode);
      await eventually(() => expect(modeOf('w.sock')).toBe(mode));
      await ask(at('w.sock'), CURRENT);
    }
    const { code, stderr } = await run.stop();
    expect(code).toBe(0);
    expect(stderr.match(/the server cannot be reached: .*\n.*the server is back/g)).toHaveLength(2);
    expect(reportIn(at('r.json')).watched).toMatchObject({ exchanges: 2 });
  });

  test('serves loopback clients by a discovery file of its own with the agent’s token', async () => {
    const discovery = { path: at('agent.json') };
    await using device = await simulateDevice({ dir: at('robot'), loopback: { discovery: discovery.path } });
    chmodSync(discovery.path, 0o666);
    if (process.getuid?.() === 0) chownSync(discovery.path, 65_534, 65_534);
    const run = home.start(['watch', 'device', '--discovery', 'agent.json', '--listen', 'w.json']);
    const { discovery: file, port } = await run.ready<{ discovery: string; port: number }>();
    expect(file).toBe(at('w.json'));
    const [copied, real] = [file, discovery.path].map((path) => {
      const { mode, uid, gid } = statSync(path);
      return { mode, uid, gid };
    });
    expect(copied).toEqual(real);
    const own = JSON.parse(readFileSync(discovery.path, 'utf8')) as { port: number; token: string };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ...own, port });
    expect(own.port).not.toBe(port);
    const answer = await fetch(`http://127.0.0.1:${port}${CURRENT}`, {
      headers: { authorization: `Bearer ${own.token}` },
    });
    expect(answer.status).not.toBe(401);
    expect(device.running).toBe(true);
  });
});

test('muster watch platform ends at a finding with --bail, and a replay of its recording fails too', async () => {
  const { run, near } = await watchedPlatform('1', ['--bail', '1', '--record', 'day.jsonl']);
  expect((await fetch(`${near}/devices?limit=1`, { headers: HEADERS })).status).toBe(200);
  const { code, stderr } = await run.ended;
  expect(code).toBe(1);
  expect(stderr).toContain('✗ platform.list.envelope.everywhere');
  const [finding] = reportIn(at('r.json')).checks.filter(({ outcome }) => outcome === 'fail');
  expect(finding).toMatchObject({
    replay_command: `muster watch platform --replay ${at('day.jsonl')} --only platform.list.envelope.everywhere`,
    curl: expect.stringContaining('"x-api-key: $MUSTER_API_KEY"'),
  });
  for (const file of ['day.jsonl', 'r.json']) expect(readFileSync(at(file), 'utf8')).not.toContain(KEY);
  expect((await printed(['watch', 'platform', '--replay', at('day.jsonl')])).code).toBe(1);
});

test('muster watch platform offers no replay command for a finding about a secret', async () => {
  const { run, near } = await watchedPlatform(1, ['--record', 'day.jsonl']);
  expect((await fetch(`${near}/devices?limit=1&name=${KEY}`, { headers: HEADERS })).status).toBe(200);
  expect((await run.stop()).code).toBe(1);
  const finding = reportIn(at('r.json')).checks.find(({ id }) => id === 'client.key.address.watched');
  expect(finding?.outcome).toBe('warn');
  expect(finding).not.toHaveProperty('replay_command');
  expect(readFileSync(at('day.jsonl'), 'utf8')).not.toContain(KEY);
});

test('muster watch platform speaks TLS to clients and to the platform', async () => {
  const [cert, key] = [at('cert.pem'), at('key.pem')];
  writeFileSync(cert, localhostTls.cert);
  writeFileSync(key, localhostTls.key);
  await using far = await simulatePlatform({ mqtt: false, tls: localhostTls, keys: [{ key: KEY, scopes: 'all' }] });
  const secure = ['--ca', cert, '--tls-cert', cert, '--tls-key', key, '--report', 'json=r.json'];
  const run = home.start(['watch', 'platform', '--url', far.url, '--listen', '0', ...secure]);
  const { url } = await run.ready<{ url: string }>();
  const agent = new Agent({ connect: { ca: localhostTls.cert } });
  const { statusCode, body } = await request(`${url}/devices`, { headers: HEADERS, dispatcher: agent });
  expect({ statusCode, list: await body.json() }).toMatchObject({ statusCode: 200, list: { object: 'list' } });
  await agent.close();
  expect(await run.stop()).toMatchObject({ code: 0 });
  expect(reportIn(at('r.json')).watched).toMatchObject({ exchanges: 1, gaps: [] });
});

const FULL = '/dev/full';

test.skipIf(!existsSync(FULL))('a watch with no room for standard error and a report relays all traffic', async () => {
  const under = ['sh', '-c', `exec "$0" "$@" 2> ${FULL}`];
  const { run, near } = await watchedPlatform('1', ['--report', `json=${FULL}`], (words) =>
    home.start(words, { under }),
  );
  // The first finding takes fewer than ten requests.
  for (let request = 0; request < 300; request += 1)
    expect((await fetch(`${near}/devices?limit=1`, { headers: HEADERS })).status).toBe(200);
  expect((await run.stop()).code).toBe(1);
});

test('a watch judges a HAR of another tool and names the details it lacks', async () => {
  const request = { method: 'GET', url: `http://robot${CURRENT}`, headers: [] };
  const response = { status: 200, headers: [], content: { text: JSON.stringify({ ...DEPLOYMENT, id: 'x' }) } };
  const entries = [{ startedDateTime: '2026-11-26T10:00:00Z', time: 3, request, response }];
  writeFileSync(at('x.har'), JSON.stringify({ log: { version: '1.2', entries } }));
  // A replay must ignore `ui` in the config file, which is for live traffic.
  writeFileSync(at('muster.yaml'), 'watch: {device: {ui: true}}');
  const { code, stdout } = await home.start(['watch', 'device', '--replay', 'x.har']).ended;
  expect(code).toBe(1);
  expect(stdout).toContain('HAR has no times of single events');
});

test('a HAR of several servers is judged by the paths of the API, with the address of the server', async () => {
  const entry = (url: string, type: string, text: string) => ({
    startedDateTime: '2026-11-26T10:00:00Z',
    connection: '7',
    request: { method: 'GET', url, headers: [] },
    response: { status: 200, headers: [{ name: 'content-type', value: type }], content: { text } },
  });
  const current = `http://robot/robots/7${CURRENT}`;
  const entries = [
    entry(current, 'application/json', JSON.stringify({ ...DEPLOYMENT, id: 'x' })),
    entry('http://robot/ui/updates', 'text/event-stream', 'data: {}\n\n'),
    entry('http://other/', 'text/html', ''),
  ];
  const words = ['--replay', at('x.har'), '--url', 'http://robot'];
  writeFileSync(at('x.har'), JSON.stringify({ log: { version: '1.2', entries } }));
  // A baseline of `muster check` names checks for which a watch has no rule.
  const known = [{ check: 'device.version.prefix', reason: 'old', expires: '9999-01-01' }];
  writeFileSync(at('known.json'), JSON.stringify({ known }));
  const more = ['--report', `json=${at('r.json')}`, '--baseline', at('known.json')];
  expect((await printed(['watch', 'device', ...words, ...more])).code).toBe(1);
  const { checks, summary, watched } = reportIn(at('r.json'));
  expect(summary.fixed).toBe(0);
  expect(checks.flatMap(({ outcome, id, curl }) => (outcome === 'fail' ? [[id, curl]] : []))).toEqual([
    ['device.deployment.shape.everywhere', expect.stringContaining(current)],
  ]);
  const { replay_command: again } = checks.find(({ outcome }) => outcome === 'fail') ?? {};
  expect(again).toBe(`muster watch device ${words.join(' ')} --only device.deployment.shape.everywhere`);
  expect(watched).toMatchObject({ connections: 1, exchanges: 2 });
});

const LONG = `/${'s'.repeat(139)}`;
const TOO_LONG = `${LONG}: is 140 bytes long; at most ${LONGEST_SOCKET_PATH} are possible`;

test.each([
  [['device'], '--socket PATH, --discovery FILE or --url URL says where the server is'],
  [['platform', '--url', 'http://x/beta'], '--listen: missing; it says where clients come: a port, 0 for a free one'],
  [['device', '--socket', 'a', '--url', 'http://x', '--listen', '0'], '--socket and --url: give one of them'],
  [['platform', '--url', 'http://x', '--listen', '99999'], '--listen 99999: must be a port up to 65535'],
  [['platform', '--url', 'http://x', '--listen', '0', '--report', 'json'], 'give it a file: json=FILE'],
  [['device', '--socket', 'a', '--listen', 'a'], 'is the socket of the server itself'],
  [['device', '--socket', LONG, '--listen', 'b'], `--socket ${TOO_LONG}`],
  [['device', '--socket', 'a', '--listen', LONG], `--listen ${TOO_LONG}`],
  [['device', '--url', 'http://localhost:18120', '--listen', '0.0.0.0:18120'], 'is the address of --url itself'],
  [['device', '--socket', 'a', '--listen', 'b', '--record', 'x.har'], 'is written as lines of JSON; name it .jsonl'],
  [typed`device --socket a --listen b --record x --record-size 1 --report json=x`, 'x is taken by --report json=x'],
  [['device', '--ui', '--replay', 'x'], '--ui and --replay: give one of them'],
  ...['--socket', '--discovery', '--listen', '--record', '--max-time', '--bail'].map((option): [string[], string] => [
    ['device', option, '1', '--replay', 'x'],
    `${option} and --replay: give one of them`,
  ]),
])('%j is refused', async (words, why) => {
  expect(await refusal(['watch', ...words])).toContain(why);
});
