import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../simulators/common/testing/eventually.ts';
import { type FleetResult, fleetResult } from '../../simulators/fleet/result/result.ts';
import { writeAlive, writeResult } from '../../simulators/fleet/result/shards.ts';
import { resultWith } from '../../simulators/fleet/result/testing/result.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { shardFrom } from './fleet-options.ts';
import { refusal } from './testing/in-process.ts';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/muster', import.meta.url));
const CLI = fileURLToPath(new URL('./main.ts', import.meta.url));
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-fc-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Everything a run leaves for a time lies below `dir`, so that nothing else on the machine is looked at. */
const start = (
  args: string[],
  env: Record<string, string> = {},
): { child: ChildProcess; ended: Promise<Ended>; err(): string } => {
  mkdirSync(join(dir, 'tmp'), { recursive: true });
  const child = spawn(process.execPath, [CLI, ...args], {
    // Code that Node compiled once is kept on purpose, so it is no leftover.
    env: { ...process.env, MUSTER_API_KEY: '', TMPDIR: join(dir, 'tmp'), NODE_COMPILE_CACHE: CACHE, ...env },
    cwd: dir,
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  child.stderr.on('data', (bytes) => {
    err += bytes;
  });
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, out, err })));
  return { child, ended, err: () => err };
};
const run = (args: string[], env?: Record<string, string>): Promise<Ended> => start(args, env).ended;
const scenario = (text: string): string => {
  writeFileSync(
    join(dir, 's.yaml'),
    `name: test\nkey_bits: 1024\nphases:\n  - { do: ramp, over: 200ms, measure: false }\n${text}`,
  );
  return join(dir, 's.yaml');
};
/** On a machine that is busy with something else a run may end invalid, which comes before thresholds. */
const unlessSaturated = (code: number, { verdict }: FleetResult): number => (verdict === 'invalid' ? 98 : code);
const resultIn = (place: string): FleetResult => {
  const value: unknown = JSON.parse(readFileSync(join(place, 'result.json'), 'utf8'));
  expect(fleetResult.problems(value)).toEqual([]);
  return value as FleetResult;
};
const fleet = (text: string, change: Record<string, string | undefined> = {}): string[] => {
  const options: Record<string, string | undefined> = {
    scenario: scenario(text),
    platform: 'embedded',
    workers: '1',
    robots: '8',
    out: join(dir, 'out'),
    state: join(dir, 'state'),
    dir: join(dir, 'tmp'),
    ...change,
  };
  return [
    'fleet',
    ...Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
  ];
};
describe('muster fleet', { timeout: 60_000 }, () => {
  it('runs a scenario, writes result, report and rows, and exits 0', async () => {
    const { code, out } = await run(fleet('  - { do: rollout, over: 200ms }\n', { threshold: 'rollout.ms.count==8' }));
    expect(out).toMatch(/✓ met {5}rollout\.ms\.count==8 +8\n/);
    const result = resultIn(join(dir, 'out'));
    expect(code).toBe(unlessSaturated(0, result));
    expect(result).toMatchObject({
      robots: 8,
      workers: 1,
      seed: 1,
      key_bits: 1024,
      platform: 'embedded',
      complete: true,
    });
    expect(result.metrics['rollout.ms']).toMatchObject({ count: 8, unit: 'ms' });
    expect(result.notes.join()).toContain('1024-bit keys');
    expect(
      readFileSync(join(dir, 'out', 'rollouts.jsonl'), 'utf8')
        .trim()
        .split('\n'),
    ).toHaveLength(8);
    expect(readFileSync(join(dir, 'out', 'report.html'), 'utf8')).toContain('</html>');
    expect(readdirSync(join(dir, 'tmp'))).toEqual([]);
  });

  it('exits 99 when a threshold is missed', async () => {
    const { code, out } = await run(fleet('  - { do: rollout, over: 100ms }\n', { threshold: 'rollout.ms.p50<1us' }));
    expect(out).toMatch(/✗ missed {2}rollout\.ms\.p50<1us/);
    expect(code).toBe(unlessSaturated(99, resultIn(join(dir, 'out'))));
  });

  it('exits 98 when the generator could not keep up', async () => {
    const { code, out } = await run(fleet('  - { do: hold, for: 100ms, lists: 200000/s, arrivals: constant }\n'));
    expect(out).toMatch(/verdict: invalid .*\n.*started late.*--workers/);
    expect(code).toBe(98);
  });

  it('ends at once on an interrupt, keeps what it measured, and leaves no process, socket or file', async () => {
    const { child, ended, err } = start(fleet('  - { do: hold, for: 1h, ping: 10/s }\n', { workers: '2' }));
    const { promise: holding, resolve } = Promise.withResolvers<void>();
    child.stderr?.on('data', () => /phase 2\/2 hold · robots online 8/.test(err()) && resolve());
    await Promise.race([holding, ended]);
    const workers = childrenOf(child.pid ?? 0);
    expect(workers).toHaveLength(3);
    child.kill('SIGINT');
    const { code, out } = await ended;
    expect(code).toBe(130);
    expect(out).toContain('the run was interrupted');
    expect(out).toContain('exit 130: interrupted');
    expect(out).not.toContain('✓ met');
    expect(resultIn(join(dir, 'out'))).toMatchObject({ complete: false });
    expect(workers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    expect(readdirSync(join(dir, 'tmp'))).toEqual([]);
  });

  it('leaves no process, socket or file when it is killed', async () => {
    const { child, ended, err } = start(fleet('  - { do: hold, for: 1h }\n', { workers: '2' }));
    const { promise: holding, resolve } = Promise.withResolvers<void>();
    child.stderr?.on('data', () => /phase 2\/2 hold · robots online 8/.test(err()) && resolve());
    await Promise.race([holding, ended]);
    const others = childrenOf(child.pid ?? 0);
    child.kill('SIGKILL');
    await eventually(() => expect(others.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]));
    expect(readdirSync(join(dir, 'tmp'))).toEqual([]);
  });

  it('exits 1 and names robot and ids when one robot of many delivers its events in the wrong order', async () => {
    const { code, out } = await run(
      fleet('  - { do: rollout, over: 200ms }\n  - { do: rollout, over: 200ms }\n', {
        robots: '40',
        workers: '2',
        defect: 'batch-reversed@17',
      }),
    );
    expect(out).toMatch(/the stream of robot-000017 was not whole: reorder: id 2 came after id 3/);
    expect(out).toContain('robot-000017 has a planted defect: batch-reversed');
    expect(out).toContain('exit 1: an event stream was not whole');
    expect(code).toBe(1);
    const { violations } = resultIn(join(dir, 'out'));
    expect(new Set(violations.map(({ robot }) => robot))).toEqual(new Set([17]));
  });

  it('ends incomplete when no robot comes online, and does not go on without them', async () => {
    const key = 'key-without-the-scope';
    const keys = [{ key, scopes: ['devices:read', 'devices:write'] }];
    await using platform = await simulatePlatform({ mqtt: false, keys });
    const args = fleet('  - { do: hold, for: 1h, ping: 10/s }\n', { platform: platform.url, uplink: 'polling' });
    const { code, out } = await run(args, { MUSTER_API_KEY: key });
    expect(out).toMatch(/✗ incomplete .*\n +- the canary robot-000000 did not come online/);
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(/no other robot would: HTTP 403 [^·]*\(GET \/deployments\)/);
    expect(out).toContain('exit 2: the run is not complete');
    expect(code).toBe(2);
  });

  it('says at once that a platform cannot be reached, or does not take the key', async () => {
    const unreachable = fleet('', { platform: 'http://127.0.0.1:1/beta' });
    const first = await run(unreachable, { MUSTER_API_KEY: 'k' });
    expect(first.err).toMatch(/\nmuster: the platform cannot be reached at http:.*: GET \/devices.*ECONNREFUSED.*\n$/);
    expect(first.code).toBe(2);
    await using platform = await simulatePlatform({ mqtt: false });
    const second = await run(fleet('', { platform: platform.url }), { MUSTER_API_KEY: 'some-other-key' });
    expect(second.err).toMatch(/--api-key: the platform rejects it: HTTP 401 .*\(GET \/devices\)/);
    expect(second.err).not.toContain('some-other-key');
    expect(second.code).toBe(64);
    expect(readdirSync(join(dir, 'tmp'))).toEqual([]);
  });

  it('leaves nothing when interrupted while it makes keys', async () => {
    const { child, ended } = start(fleet('', { robots: '500', 'key-bits': '4096' }));
    child.stderr?.once('data', () => child.kill('SIGINT'));
    expect((await ended).code).toBe(130);
    expect(readdirSync(join(dir, 'tmp'))).toEqual([]);
  });

  it('says what this machine holds, and refuses more', async () => {
    const { code, err } = await run(fleet('', { robots: '1000000' }));
    expect(err).toMatch(/preflight: 1 worker holds at most [\d,]+ \(descriptors\)/);
    expect(err).toMatch(/1,000,000 robots do not fit: .*--workers \d+/);
    expect(code).toBe(64);
  });

  it('keeps the API key out of everything it writes, and out of arguments and environments of its processes', async () => {
    const secret = 'key-that-nobody-may-see';
    await using platform = await simulatePlatform({ minKeyBits: 1024, keys: [{ key: secret, scopes: 'all' }] });
    const args = fleet('  - { do: rollout, over: 1ms }\n  - { do: hold, for: 1h }\n', {
      platform: platform.url,
      mqtt: platform.mqttUrl,
    });
    const { child, ended, err } = start(args, { MUSTER_API_KEY: secret });
    const { promise: holding, resolve } = Promise.withResolvers<void>();
    child.stderr?.on('data', () => /phase 3\/3 hold/.test(err()) && resolve());
    await Promise.race([holding, ended]);
    const [worker] = childrenOf(child.pid ?? 0);
    const seen = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${worker}/${name}`, 'utf8'));
    child.kill('SIGTERM');
    const { out } = await ended;
    expect(resultIn(join(dir, 'out')).counters['rollout.attempts']).toBe(8);
    const written = readdirSync(join(dir, 'out')).map((name) => readFileSync(join(dir, 'out', name), 'utf8'));
    expect([...seen, ...written, out, err()].filter((text) => text.includes(secret))).toEqual([]);
  });

  it('ends within seconds, and names the option, when every robot would be refused', async () => {
    await using strict = await simulatePlatform();
    const args = fleet('', { platform: strict.url, robots: '200', 'metrics-port': '0' });
    const { code, out, err } = await run(args, { MUSTER_API_KEY: strict.apiKey });
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(/at least 2048 are required .*--key-bits 2048/);
    expect(out).toContain('exit 2: the run is not complete');
    expect(err).not.toContain('ramp');
    expect(code).toBe(2);
    expect(resultIn(join(dir, 'out')).incomplete_reasons).toHaveLength(1);
    expect(readdirSync(join(dir, 'tmp'))).toEqual([]);
  });

  it('names the option whose port or folder cannot be used, before anything starts', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const port = String((taken.address() as AddressInfo).port);
    try {
      const refused = [
        await refusal(fleet('', { 'metrics-port': port })),
        await refusal(fleet('', { dir: '/proc/x' })),
        await refusal(fleet('', { state: '/proc/x' })),
        await refusal(fleet('', { out: '/proc/x' })),
      ];
      expect(refused[0]).toBe(`--metrics-port: cannot listen on 127.0.0.1:${port} (EADDRINUSE); 0 takes any free port`);
      for (const [index, option] of ['dir', 'state', 'out'].entries()) {
        expect(refused[index + 1]).toMatch(new RegExp(`^--${option}: cannot write to /proc/x \\(ENOENT\\)`));
      }
      expect(existsSync(join(dir, 'out'))).toBe(false);
      expect(existsSync(join(dir, 'state'))).toBe(false);
    } finally {
      taken.close();
    }
  });

  it.each([
    [{ platform: 'ftp://x' }, /--platform: 'ftp:\/\/x' is no address; accepted: http:/],
    [{ platform: 'http://127.0.0.1:1/beta' }, /--api-key: is needed/],
    [{ platform: undefined }, /--platform: is needed/],
    [{ robots: '0' }, /--robots: must be a whole number from 1/],
    [{ workers: '1.5' }, /--workers: must be a whole number from 0/],
    [{ shard: '3/2' }, /--shard: '3\/2' is not accepted; accepted: I\/N/],
    [{ threshold: 'p99<5s' }, /--threshold: threshold 'p99<5s': it must read/],
    [{ threshold: 'rolout.ms.p99<5s' }, /there is no metric 'rolout\.ms'; did you mean rollout\.ms\?/],
    [{ scenario: 'nope' }, /--scenario: cannot read nope .*rollout, steady, storm/],
    [{ 'key-bits': '512' }, /--key-bits: must be a whole number from 1024 to 8192/],
    [{ 'name-prefix': 'a b' }, /--name-prefix: must be 1 to 40/],
    [
      { defect: 'seam-gap@8' },
      /--defect: 'seam-gap@8' is not accepted; accepted: NAME@INDEX with an index from 0 to 7/,
    ],
    [{ defect: 'nonsense@1' }, /--defect nonsense: there is none of that name; accepted are/],
    [{ 'metrics-port': '70000' }, /--metrics-port: must be a whole number from 0 to 65535/],
  ])('refuses %j and leaves nothing', async (change, message) => {
    expect(await refusal(fleet('', change))).toMatch(message);
    expect(existsSync(join(dir, 'out'))).toBe(false);
  });

  it('refuses a bad scenario with line and column', async () => {
    expect(await refusal(fleet('  - { do: hold, for: soon }\n'))).toMatch(/s\.yaml:5:\d+: 'for' is "soon"/);
  });
});

describe('muster merge', { timeout: 60_000 }, () => {
  const leave = (index: number, count: number): void =>
    writeResult(join(dir, 'results', `shard-${index}`), resultWith({ shard: { index, count }, robots: 5 }));

  it('joins shards', async () => {
    leave(1, 2);
    leave(2, 2);
    const { code, out } = await run(['merge', join(dir, 'results'), '--out', join(dir, 'all')]);
    expect(out).toContain('verdict: valid');
    expect(code).toBe(0);
    expect(resultIn(join(dir, 'all'))).toMatchObject({ robots: 10, complete: true });
  });

  it('never writes over a shard', async () => {
    leave(1, 2);
    leave(2, 2);
    const places = [1, 2].map((index) => join(dir, 'results', `shard-${index}`));
    const texts = (): string[] => places.map((place) => readFileSync(join(place, 'result.json'), 'utf8'));
    const before = texts();
    const { code, out } = await run(['merge', ...places]);
    expect(code).toBe(0);
    expect(out).toContain('report: muster-report/fleet/report.html');
    expect(resultIn(join(dir, 'muster-report', 'fleet')).merged_from).toEqual(places);
    symlinkSync(places[0] ?? '', join(dir, 'link'));
    for (const into of [places[1] ?? '', join(dir, 'link')]) {
      expect(await refusal(['merge', ...places, '--out', into])).toBe(
        `--out: ${into} is the folder of a shard, whose result would be replaced; accepted: any other folder`,
      );
    }
    expect(texts()).toEqual(before);
    expect(readdirSync(places[0] ?? '')).toEqual(['result.json']);
  });

  it('leaves the result among its parts, and may do so again', async () => {
    leave(1, 1);
    for (let time = 0; time < 2; time += 1) expect((await run(['merge', join(dir, 'results')])).code).toBe(0);
    expect(resultIn(join(dir, 'results')).merged_from).toEqual([join(dir, 'results', 'shard-1')]);
  });

  it('names missing and dead shards and exits 2', async () => {
    leave(1, 3);
    writeAlive(join(dir, 'results', 'shard-2'), { shard: { index: 2, count: 3 }, beat: 1, phase: 'hold' });
    const { code, out } = await run(['merge', join(dir, 'results')]);
    expect(out).toMatch(/shard 2\/3 is dead: .*sign of life/);
    expect(out).toContain('shard 3/3 is missing');
    expect(code).toBe(2);
  });

  it('waits for shards that still run', async () => {
    leave(1, 2);
    const { child, ended } = start(['merge', join(dir, 'results'), '--expect', '2', '--watch']);
    child.stderr?.once('data', () => leave(2, 2));
    const { code, err } = await ended;
    expect(err).toContain('1 of 2 shards are done');
    expect(code).toBe(0);
  });

  it.each([
    [['/nowhere'], /nowhere: there is no result\.json/],
    [['.', '--watch'], /--watch: needs --expect/],
    [['.', '--timeout', 'soon', '--watch', '--expect', '1'], /--timeout: 'soon' is no duration/],
  ])('refuses %j', async (args, message) => {
    expect(await refusal(['merge', ...args])).toMatch(message);
  });
});

describe('--shard auto', () => {
  it('takes index and count from the job', () => {
    expect(shardFrom('auto', { JOB_COMPLETION_INDEX: '0', MUSTER_SHARDS: '3' })).toEqual({ index: 1, count: 3 });
    expect(shardFrom('2/8', {})).toEqual({ index: 2, count: 8 });
    expect(shardFrom(undefined, {})).toBeUndefined();
  });

  it.each([{}, { JOB_COMPLETION_INDEX: '3', MUSTER_SHARDS: '3' }, { JOB_COMPLETION_INDEX: '0' }])(
    'refuses %j',
    (env) => {
      expect(() => shardFrom('auto', env)).toThrow(/needs JOB_COMPLETION_INDEX from 0 and MUSTER_SHARDS above it/);
    },
  );
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}
