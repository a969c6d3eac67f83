import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test, vi } from 'vitest';
import { eventually, useScratch } from '../../simulators/common/testing/scratch.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import type { MutationReport, MutationState } from '../reports/mutation/report.ts';
import { jsonProblems } from '../reports/testing/schemas.ts';
import { MAIN, Running, typed } from './testing/muster.ts';

const folder = useScratch();
const ROOT = join(import.meta.dirname, '../..');
const program = (name: string): string => `'${process.execPath}' '${join(ROOT, 'fixtures/mutate', name)}'`;
vi.setConfig({ testTimeout: 180_000 });
const DEVICE = program('device-tests.mjs');
const PLATFORM = program('platform-tests.mjs');

async function mutate(words: readonly string[], env: Record<string, string> = {}, side = 'client') {
  const all = ['mutate', side, '--seed', '7', '--report', 'json', ...words];
  const { code, stdout, stderr } = await new Running(all, { env }).ended;
  expect(stdout, stderr).not.toBe('');
  expect(jsonProblems('mutation.schema.json', stdout)).toEqual([]);
  const report = JSON.parse(stdout) as MutationReport;
  const named = (state: MutationState) => report.subjects.filter((one) => one.state === state).map(({ name }) => name);
  return { code, stderr, report, in: (state: MutationState) => named(state).sort() };
}

const device = (command: string, names: readonly string[], ...more: string[]): string[] =>
  typed`--api device --command ${command} --only ${names} --heartbeat 200ms ${more}`;
const platform = (command: string, names: readonly string[], ...more: string[]): string[] =>
  typed`--api platform --command ${command} --only ${names} ${more}`;

const DEVICE_DEFECTS = [
  ...['deployment-wrapped', 'replay-inclusive', 'heartbeat-none', 'ids-restart-at-one', 'malformed-is-none'],
  ...['frame-without-id', 'replay-never-ends-live', 'retains-1', 'ids-start-high'],
];

test.each<[holes: string, survived: string[], neverAsked: string[]]>([
  ['', [], []],
  ['live', ['replay-never-ends-live'], []],
  ['restart,shape', ['ids-restart-at-one'], ['deployment-wrapped']],
  ['cursor,live,heartbeat', [], ['frame-without-id', 'heartbeat-none', 'replay-inclusive', 'replay-never-ends-live']],
])('mutate client --api device reports the exact defects of holes %j', async (holes, survived, neverAsked) => {
  const { code, report, ...run } = await mutate(device(DEVICE, DEVICE_DEFECTS), { LEAVE_OUT: holes });
  expect(run.in('survived')).toEqual(survived);
  expect(run.in('never_asked')).toEqual(neverAsked);
  expect(run.in('accepted')).toEqual(['ids-start-high', 'retains-1']);
  expect(report.subjects.find(({ name }) => name === 'retains-1')?.section).toBe('6.2');
  expect(code).toBe(survived.length > 0 ? 1 : 0);
  expect(report.summary.killed + report.summary.timed_out).toBe(7 - survived.length - neverAsked.length);
});

const PLATFORM_DEFECTS = [
  ...['has-more-never', 'offset-ignored', 'total-count-absent', 'ping-never-succeeds', 'key-unchecked'],
  ...['limit-high-refused', 'version-omitted-fails', 'group-rename-lost', 'unauthorized-403', 'created-201'],
];
/** Defects that survive every run, because no test covers them. */
const ALWAYS = ['group-rename-lost', 'limit-high-refused', 'version-omitted-fails'];

test.each<[holes: string, survived: string[], neverAsked: string[]]>([
  ['', [], []],
  ['pages', ['has-more-never', 'offset-ignored'], []],
  ['ping,created', [], ['created-201', 'ping-never-succeeds']],
])('mutate client --api platform reports the exact defects of holes %j', async (holes, survived, neverAsked) => {
  const { code, ...run } = await mutate(platform(PLATFORM, PLATFORM_DEFECTS), { LEAVE_OUT: holes });
  expect(run.in('survived')).toEqual([...survived, ...ALWAYS].sort());
  expect(run.in('never_asked')).toEqual(neverAsked);
  expect(run.in('brittle')).toEqual(['unauthorized-403']);
  expect(code).toBe(1);
});

const SHAPE = 'curl -sS --max-time 5 "$MUSTER_URL/deployments/current" | grep -q \'^{"object"\'';

const commandOf = (pid: string): string =>
  existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';

test('tests that hang are ended with their child processes and count as timed out', async () => {
  const pid = join(folder.path, 'pid');
  const line = `sleep 600 & echo $! > '${pid}'; ${SHAPE} || sleep 600`;
  const run = await mutate(device(line, ['deployment-wrapped'], '--test-timeout', '5s'));
  expect(run.in('timed_out')).toEqual(['deployment-wrapped']);
  expect(commandOf(readFileSync(pid, 'utf8').trim())).not.toContain('sleep');
});

test('a run prepares each server with --setup through the control API, and masks the control token', async () => {
  const setup = 'curl -fsS --unix-socket "$MUSTER_CONTROL_SOCKET" http://x/events -d \'{"count":30}\' > /dev/null';
  const caught = '{ echo "caught by $MUSTER_CONTROL_TOKEN"; false; }';
  const line = `curl -s -m 2 "$MUSTER_URL/events?after=0" | grep -q "^id: 36" || ${caught}`;
  const run = await mutate(device(line, ['replay-limited'], '--setup', setup));
  expect(run.report.first_run.passed).toBe(true);
  expect(run.in('killed')).toEqual(['replay-limited']);
  expect(run.report.subjects[0]?.wrote).toBe('caught by ***');
});

test('a run that fails leaves the baseline unchanged and masks every secret', async () => {
  const [baseline, file] = [join(folder.path, 'baseline.yaml'), join(folder.path, 'r.json')];
  const line = 'env | grep -e _TOKEN= -e ^MUSTER; exit 1';
  const more = ['--baseline', baseline, '--update-baseline', '--report', `mutation=${file}`];
  const env = { DEPLOY_TOKEN: 'k7Q2-xW9z_Bf4vN8', MUSTER_SOCKET: '/other/agent.sock' };
  const { report, stderr } = await mutate(platform(line, ['key-*'], ...more), env);
  expect(stderr).toContain('is left as it was');
  expect(existsSync(baseline)).toBe(false);
  for (const name of ['DEPLOY_TOKEN', 'MUSTER_PLATFORM_KEY']) expect(report.first_run.wrote).toContain(`${name}=***`);
  expect(report.first_run.wrote).not.toContain('MUSTER_SOCKET');
  for (const text of [JSON.stringify(report), readFileSync(file, 'utf8')]) expect(text).not.toContain('key_mutate_');
});

const SYSTEM = program('system-tests.mjs');
const system = (words: readonly string[], env: Record<string, string>) => mutate(words, env, 'system');

test.each([
  ['', [], ['deaf-after-reconnect']],
  ['ping,failed', ['pings-slowly', 'pings-unanswered'], ['deaf-after-reconnect', 'failure-as-success']],
])(
  'mutate system judges tests of a platform by robots with defects, without the tests %j',
  async (holes, neverAsked, survived) => {
    await using platform = await simulatePlatform({ devices: 2 });
    const at = ['--url', platform.url, '--agent-url', platform.agentUrl, '--mqtt', platform.mqttUrl ?? ''];
    const env = { MUSTER_API_KEY: platform.apiKey, LEAVE_OUT: holes };
    const { report, ...run } = await system(['--api', 'agent', ...at, '--command', SYSTEM], env);
    expect(report).toMatchObject({ side: 'system', api: 'agent', first_run: { passed: true } });
    expect(run.in('survived')).toEqual(survived);
    expect(run.in('never_asked')).toEqual(neverAsked);
    expect(run.in('brittle')).toEqual(holes === '' ? ['retries-for-ever'] : []);
    expect(JSON.stringify(report)).not.toContain(platform.apiKey);
  },
);

test('mutate system judges tests that start an agent by a platform with defects', async () => {
  const agent = `'${process.execPath}' '${MAIN}' simulate device --socket "$D/s" --dir "$D/r" --uplink agent`;
  const line = [
    `D=$(mktemp -d); trap 'kill $!; rm -rf "$D"' EXIT`,
    `${agent} --platform "$MUSTER_PLATFORM_URL" --mqtt "$MUSTER_MQTT_URL" > "$D/ready" 2> /dev/null &`,
    `for i in $(seq 100); do`,
    `  ID=$(curl -s --unix-socket "$D/s" http://x/v0.2/device | grep -o 'dvc_[a-z0-9]*' | head -1)`,
    `  curl -s -H "x-api-key: $MUSTER_PLATFORM_KEY" -H "service-version: $MUSTER_PLATFORM_VERSION" \\`,
    `    "$MUSTER_URL/devices/$ID" | grep -q '"status":"online"' && break; sleep 0.2; done`,
    `MUSTER_PLATFORM_URL=$MUSTER_URL MUSTER_DEVICE_ID=$ID LEAVE_OUT=failed ${SYSTEM}`,
  ].join('\n');
  const names = ['sync-not-requested', 'reports-dropped', 'replaced-stays-deployed', 'drift-when-deployed'];
  // Allows 60 s, because the tests must end for a defect to count as killed, and they await a missing report for 8 s.
  const words = ['--api', 'platform', '--command', line, '--only', ...names, '--test-timeout', '60s'];
  const { report, ...run } = await system(words, {});
  expect(report.first_run, report.first_run.wrote).toMatchObject({ passed: true });
  expect(run.in('killed')).toEqual(['reports-dropped', 'sync-not-requested']);
  expect(run.in('brittle')).toEqual([]);
});

test('mutate system ends on an interrupt while a robot cannot enrol, and leaves no files', async () => {
  await using platform = await simulatePlatform({ devices: 1 });
  const words = typed`mutate system --api agent --url ${platform.url} --agent-url http://127.0.0.1:1 --command true`;
  await using running = new Running(words, { env: { MUSTER_API_KEY: platform.apiKey, TMPDIR: folder.path } });
  const sockets = () => readdirSync(folder.path).filter((name) => existsSync(join(folder.path, name, 'agent.sock')));
  await eventually(() => expect(sockets()).not.toEqual([]));
  const { code, stderr } = await running.stop('SIGINT');
  expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining('interrupted before') });
  expect(readdirSync(folder.path)).toEqual([]);
});
