import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { eventually } from '../../simulators/common/testing/scratch.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { refusal, useFleetRuns } from './testing/muster.ts';

const fleets = useFleetRuns();

it.each([
  ['the command alone gets', 1],
  ['every process of it gets, as in a terminal,', -1],
])('muster fleet on an interrupt that %s writes its result and leaves no process or file', async (_, who) => {
  const running = fleets.start(fleets.words('  - { do: hold, for: 1h, ping: 10/s }\n', { workers: '2' }));
  await running.said(/phase 2\/2 hold · robots online 8/);
  const workers = childrenOf(running.child.pid ?? 0);
  expect(workers).toHaveLength(3);
  process.kill(who * (running.child.pid ?? Number.NaN), 'SIGINT');
  const { code, stdout } = await running.ended;
  expect(code).toBe(130);
  expect(stdout).toContain('the run was interrupted');
  expect(stdout).toContain('exit 130: interrupted');
  expect(stdout).not.toContain('✓ met');
  expect(fleets.result()).toMatchObject({ complete: false });
  expect(workers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  expect(readdirSync(fleets.path('tmp'))).toEqual([]);
});

it('muster fleet leaves no process, socket or file when it is killed', async () => {
  const running = fleets.start(fleets.words('  - { do: hold, for: 1h }\n', { workers: '2' }));
  await running.said(/phase 2\/2 hold · robots online 8/);
  const others = childrenOf(running.child.pid ?? 0);
  running.child.kill('SIGKILL');
  await eventually(() => expect(others.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]));
  expect(readdirSync(fleets.path('tmp'))).toEqual([]);
});

it('muster fleet exits with 1 and names robot and ids of events out of order', async () => {
  const change = { robots: '40', workers: '2', defect: 'batch-reversed@17' };
  const { code, stdout } = await fleets.run(fleets.words('  - { do: rollout, over: 200ms }\n'.repeat(2), change));
  expect(stdout).toMatch(/the stream of robot-000017 was not whole: reorder: id 2 came after id 3/);
  expect(stdout).toContain('robot-000017 has a planted defect: batch-reversed');
  expect(stdout).toContain('exit 1: an event stream was not whole');
  expect(code).toBe(1);
  const { violations, costs } = fleets.result();
  const { parent, workers, platform, whole } = costs?.parts ?? {};
  expect([parent, workers, platform, whole].map((part) => part?.processes)).toEqual([1, 2, 1, 4]);
  expect(stdout).toMatch(/processes +\d+ MiB (PSS|RSS) \(parent \d+, workers \d+, platform \d+\) · .*\d CPU s/);
  expect(costs?.robots).toBe(40);
  expect(new Set(violations.map(({ robot }) => robot))).toEqual(new Set([17]));
});

it('muster fleet ends at once if the platform is unreachable or rejects the key, which stays unprinted', async () => {
  await using platform = await simulatePlatform({ mqtt: false });
  for (const [url, code, said] of [
    ['http://127.0.0.1:1/beta', 2, /\nmuster: the platform cannot be reached at .*: GET \/devices.*ECONNREFUSED/],
    [platform.url, 64, /--api-key: the platform rejects it: HTTP 401 .*\(GET \/devices\)/],
  ] as const) {
    const ended = await fleets.run(fleets.words('', { platform: url }), { MUSTER_API_KEY: 'some-other-key' });
    expect(ended.stderr).toMatch(said);
    expect(ended.stderr).not.toContain('some-other-key');
    expect(ended.code).toBe(code);
  }
  expect(readdirSync(fleets.path('tmp'))).toEqual([]);
});

it('muster fleet leaves no files when interrupted while it makes keys', async () => {
  const { child, ended } = fleets.start(fleets.words('', { robots: '500', 'key-bits': '4096' }));
  child.stderr?.once('data', () => child.kill('SIGINT'));
  expect((await ended).code).toBe(130);
  expect(readdirSync(fleets.path('tmp'))).toEqual([]);
});

it('muster fleet keeps the API key out of files, output and the workers’ arguments and environment', async () => {
  const secret = 'key-that-nobody-may-see';
  await using platform = await simulatePlatform({ minKeyBits: 1024, keys: [{ key: secret, scopes: 'all' }] });
  const args = fleets.words('  - { do: rollout, over: 1ms }\n  - { do: hold, for: 1h }\n', {
    platform: platform.url,
    mqtt: platform.mqttUrl,
  });
  const running = fleets.start(args, { MUSTER_API_KEY: secret });
  await running.said(/phase 3\/3 hold/);
  const [worker] = childrenOf(running.child.pid ?? 0);
  const seen = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${worker}/${name}`, 'utf8'));
  const { stdout, stderr } = await running.stop();
  expect(fleets.result().counters['rollout.attempts']).toBe(8);
  const written = readdirSync(fleets.path('out')).map((name) => readFileSync(fleets.path('out', name), 'utf8'));
  expect([...seen, ...written, stdout, stderr].filter((text) => text.includes(secret))).toEqual([]);
});

it('merge joins shards, and refuses the folder of a shard as its output', { timeout: 60_000 }, async () => {
  fleets.leave(1, 2);
  fleets.leave(2, 2);
  const places = [1, 2].map((index) => fleets.path('results', `shard-${index}`));
  const texts = (): string[] => places.map((place) => readFileSync(join(place, 'result.json'), 'utf8'));
  const before = texts();
  const { code, stdout } = await fleets.run(['merge', ...places]);
  expect(code).toBe(0);
  expect(stdout).toContain('load generator: valid');
  expect(stdout).toContain('report: muster-report/fleet/report.html');
  const merged = fleets.result(fleets.path('muster-report', 'fleet'));
  expect(merged).toMatchObject({ merged_from: places, robots: 10, complete: true });
  symlinkSync(places[0] ?? '', fleets.path('link'));
  for (const into of [places[1] ?? '', fleets.path('link')]) {
    expect(await refusal(['merge', ...places, '--out', into])).toBe(
      `--out: ${into} is the folder of a shard, whose result would be replaced; accepted: any other folder`,
    );
  }
  expect(texts()).toEqual(before);
  expect(readdirSync(places[0] ?? '')).toEqual(['result.json']);
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}
