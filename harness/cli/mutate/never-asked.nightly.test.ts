/**
 * What is told as never asked cannot show: whatever it changes, the tests pass on it. A rule that is too narrow would
 * hide a survivor, or a defect that is killed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { type Found, type MutateOptions, mutate } from '../../mutate/run.ts';
import type { World } from '../../mutate/subject.ts';
import type { Suite } from '../../runner/types.ts';
import { deviceWorld } from './device.ts';
import { platformWorld } from './platform.ts';
import { requirementsOf } from './subjects.ts';

const FOLDER = join(import.meta.dirname, '../../../fixtures/mutate');
const requirements = (suite: unknown) => requirementsOf([suite as Suite<never>]);
const SILENT: MutateOptions['listener'] = { onSecrets() {}, onBegin() {}, onResult() {}, onLeftBehind() {} };

const run = (world: World, line: string): Promise<Found> =>
  mutate(world, {
    line,
    env: process.env,
    jobs: 2,
    // Far more than they take, so that a busy machine kills nothing.
    testTimeoutMs: 120_000,
    firstTimeoutMs: 120_000,
    signal: new AbortController().signal,
    choose: (subjects) => [...subjects],
    listener: SILENT,
  });

/** The same world, in which everything may show. */
const sighted = (world: World, subjects: World['subjects']): World => ({
  subjects,
  async faithful(signal) {
    const server = await world.faithful(signal);
    return { ...server, traffic: { asked: server.traffic.asked, unseen: () => undefined } };
  },
});

const aDevice = () => deviceWorld({ heartbeatMs: 200, seed: 7, dialect: 'spec' }, requirements(deviceSuite));
const aPlatform = () =>
  platformWorld({ seed: 7, devices: 30, seedFile: undefined, dialect: 'spec' }, requirements(platformSuite), undefined);

test.each<[name: string, holes: string, world: () => World | Promise<World>]>([
  ['device-tests.mjs', 'heartbeat', aDevice],
  ['platform-tests.mjs', '', aPlatform],
])(
  'of %s',
  async (name, holes, made) => {
    const world = await made();
    const line = `LEAVE_OUT=${holes} '${process.execPath}' '${join(FOLDER, name)}'`;
    const quick = await run({ ...world, subjects: world.subjects.slice(0, 1) }, line);
    const unseen = world.subjects.filter((subject) => quick.traffic.unseen(subject) !== undefined);
    expect(unseen.length).toBeGreaterThan(30);
    const { subjects } = await run(sighted(world, unseen), line);
    const shown = subjects.filter(({ state }) => state !== 'survived' && state !== 'accepted');
    expect(shown.map(({ name: which, state, how }) => `${state} ${which}: ${how}`)).toEqual([]);
  },
  300_000,
);

/** What every program below begins with. */
const HEAD = `import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import net from 'node:net';
const { MUSTER_URL: url, MUSTER_PLATFORM_KEY: key = '', MUSTER_PLATFORM_VERSION: version = '' } = process.env;
const signal = AbortSignal.timeout(20_000);
const ask = async (path, method = 'GET', body = undefined) => {
  const headers = { 'x-api-key': key, 'service-version': version, 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body), signal });
  return { status: answer.status, body: path.startsWith('/events') ? '' : await answer.json() };
};
`;
const SEES_NO_TRAFFIC = "assert.equal((await ask('/health')).status, 200);";
const LOG = `const control = process.env.MUSTER_CONTROL_URL + '/';
const headers = { authorization: 'Bearer ' + process.env.MUSTER_CONTROL_TOKEN };
const { event_log: log } = await (await fetch(control, { headers })).json();
for (const line of readFileSync(log, 'utf8').trim().split('\\n')) JSON.parse(line);`;
const isRoot = process.getuid?.() === 0;

test.each<[what: string, world: () => World | Promise<World>, program: string, killed: string[]]>([
  [
    'many connections',
    aDevice,
    `const { hostname, port } = new URL(url);
    const opened = () =>
      new Promise((resolve) => net.connect(port, hostname).on('error', resolve).once('connect', resolve));
    for (let at = 0; at < 20; at += 1) await opened();
    ${SEES_NO_TRAFFIC}`,
    ['few-connections'],
  ],
  [
    'the discovery file',
    aDevice,
    `const { port, token } = JSON.parse(readFileSync(process.env.MUSTER_DISCOVERY_FILE, 'utf8'));
    assert.equal(typeof port + typeof token, 'numberstring');
    const authorization = 'Bearer ' + token;
    const answer = await fetch('http://127.0.0.1:' + port + '/v0.2/health', { headers: { authorization }, signal });
    assert.equal(answer.status, 200);`,
    ['discovery-other-names', 'discovery-port-as-text', 'discovery-without-token'],
  ],
  [
    'the owner of the socket',
    aDevice,
    `const { request } = await import('node:http');
    const socketPath = process.env.MUSTER_SOCKET;
    assert.equal(statSync(socketPath).uid, process.getuid());
    await new Promise((resolve, reject) => {
      request({ socketPath, path: '/v0.2/health', agent: false }, (answer) => answer.resume().on('end', resolve))
        .on('error', reject)
        .end();
    });`,
    // Nobody else can give a file away.
    isRoot ? ['socket-given-away'] : [],
  ],
  [
    'a cursor beyond the newest event',
    aDevice,
    "assert.equal((await ask('/events?after=99999')).status, 200);",
    ['future-cursor-expired'],
  ],
  [
    'the files of a deployment',
    aDevice,
    `const headers = { authorization: 'Bearer ' + process.env.MUSTER_CONTROL_TOKEN };
    const control = process.env.MUSTER_CONTROL_URL;
    const { config_root: root } = await (await fetch(control, { headers })).json();
    const config_instances = [{ filepath: '/a/x', content: 'é' }];
    const more = { headers: { ...headers, 'content-type': 'application/json' }, method: 'POST' };
    await fetch(control + '/deployments', { ...more, body: JSON.stringify({ config_instances }) });
    assert.equal(readFileSync(root + '/a/x', 'utf8'), 'é');
    ${SEES_NO_TRAFFIC}`,
    ['files-ascii-only', 'files-flat'],
  ],
  ['the log', aDevice, `${LOG} ${SEES_NO_TRAFFIC}`, ['log-with-comments']],
  [
    'the new name of a device',
    aPlatform,
    `const { body: { id } } = await ask('/devices', 'POST', { name: 'one' });
    await ask('/devices/' + id, 'PATCH', { name: 'two' });
    assert.equal((await ask('/devices/' + id)).body.name, 'two');`,
    ['device-rename-lost'],
  ],
  [
    'a group that is no field of a device',
    aPlatform,
    `const { status } = await ask('/devices/' + process.env.MUSTER_DEVICE_ID, 'PATCH', { group_id: 'grp_1' });
    assert.ok(status >= 400 && status < 500, String(status));`,
    ['membership-fails', 'membership-written'],
  ],
  [
    'a deployment in the list and alone',
    aPlatform,
    `const [listed] = (await ask('/deployments')).body.data;
    const { body: alone } = await ask('/deployments/' + listed.id);
    assert.deepEqual([alone.release_id, alone.created_at], [listed.release_id, listed.created_at]);`,
    ['created-when-read', 'release-wrong-singly'],
  ],
  [
    'what nobody asked to be expanded',
    aPlatform,
    "for (const each of (await ask('/deployments')).body.data) assert.ok(!('release' in each));",
    ['expansions-unasked'],
  ],
])('tests that look at %s kill what shows there', async (_, made, program, killed) => {
  using folder = scratch();
  const file = join(folder.path, 'look.mjs');
  writeFileSync(file, `${HEAD}${program}\nprocess.exit(0);\n`);
  const world = await made();
  const subjects = world.subjects.filter(({ name }) => killed.includes(name));
  const found = await run({ ...world, subjects }, `'${process.execPath}' '${file}'`);
  expect(found.first).toMatchObject({ outcome: 'passed' });
  const states = found.subjects.map(({ name, state, reason = '' }) => `${name} ${state} ${reason}`.trim());
  expect(states.sort()).toEqual(killed.map((name) => `${name} killed`));
});

test('comments in the log and files of a deployment show to nobody who was not told where they are', async () => {
  const world = aDevice();
  const subjects = world.subjects.filter(({ name }) => name === 'log-with-comments' || name.startsWith('files-'));
  const found = await run({ ...world, subjects }, 'curl -sS -m 1 "$MUSTER_URL/events"; true');
  expect(found.subjects.map(({ state }) => state)).toEqual(['never_asked', 'never_asked', 'never_asked']);
});
