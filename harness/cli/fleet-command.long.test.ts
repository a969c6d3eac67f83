import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { listenAt } from '../../simulators/defects/null.ts';
import { sweep } from '../common/owner.ts';
import { shardFrom } from './fleet-options.ts';
import { Running, refusal, unlessSaturated, useFleetRuns } from './testing/muster.ts';

const fleets = useFleetRuns();
const ROLLOUT = '  - { do: rollout, over: 200ms }\n';

describe('muster fleet', { timeout: 60_000 }, () => {
  it('runs a scenario, writes result, report and rows, and exits 0', async () => {
    const { code, stdout } = await fleets.run(fleets.words(ROLLOUT, { threshold: 'rollout.ms.count==8' }));
    const result = fleets.result();
    expect(code).toBe(unlessSaturated(0, result));
    expect(stdout).toMatch(
      code === 0 ? /✓ met {5}rollout\.ms\.count==8 +8\n/ : /· not judged {2}rollout\.ms\.count==8 +8\n/,
    );
    const asked = { robots: 8, workers: 1, seed: 1, key_bits: 1024, platform: 'embedded' };
    expect(result).toMatchObject({ ...asked, complete: true });
    expect(result.metrics['rollout.ms']).toMatchObject({ count: 8, unit: 'ms' });
    expect(result.notes.join()).toContain('1024-bit keys');
    expect(readFileSync(fleets.path('out', 'rollouts.jsonl'), 'utf8').trim().split('\n')).toHaveLength(8);
    expect(readFileSync(fleets.path('out', 'report.html'), 'utf8')).toContain('</html>');
    expect(readdirSync(fleets.path('tmp'))).toEqual([]);
  });

  it('keeps the files of robots, also from the sweep of a later run', async () => {
    await fleets.run([...fleets.words(''), '--keep']);
    sweep(fleets.path('tmp'));
    const kept = readdirSync(fleets.path('tmp'), { recursive: true }).map(String);
    expect(kept.filter((name) => name.endsWith('private-key.pem'))).toHaveLength(8);
  });

  it.skipIf(!existsSync('/dev/full'))('keeps its result when standard error cannot be written', async () => {
    const under = ['sh', '-c', 'exec "$0" "$@" 2> /dev/full'];
    const { code, stdout } = await new Running(fleets.words(ROLLOUT), { under }).ended;
    expect(stdout).toMatch(/rollout\.ms +8 /);
    expect(fleets.result().metrics['rollout.ms']).toMatchObject({ count: 8 });
    expect(code).toBe(unlessSaturated(3, fleets.result()));
  });

  it('prints the machine’s limit of robots, and refuses more', async () => {
    const { code, stderr } = await fleets.run(fleets.words('', { robots: '1000000' }));
    expect(stderr).toMatch(/preflight: 1 worker holds at most [\d,]+ \(descriptors\)/);
    expect(stderr).toMatch(/1,000,000 robots do not fit: .*--workers \d+/);
    expect(code).toBe(64);
  });

  it('names the option of an unusable port or folder before it starts', async () => {
    await using taken = await listenAt(createServer(), { port: 0 });
    expect(await refusal(fleets.words('', { 'metrics-port': String(taken.port) }))).toBe(
      `--metrics-port: cannot listen on 127.0.0.1:${taken.port} (EADDRINUSE); 0 takes any free port`,
    );
    for (const option of ['dir', 'state', 'out']) {
      const refused = await refusal(fleets.words('', { [option]: '/proc/x' }));
      expect(refused.startsWith(`--${option}: cannot write to /proc/x (ENOENT)`), refused).toBe(true);
    }
    expect(existsSync(fleets.path('out'))).toBe(false);
    expect(existsSync(fleets.path('state'))).toBe(false);
  });

  it.each([
    [{ platform: 'ftp://x' }, /--platform: 'ftp:\/\/x' is no address; accepted: http:/],
    [{ platform: 'http://127.0.0.1:1/beta' }, /--api-key: is needed/],
    [{ platform: undefined }, /--platform: is needed/],
    [{ robots: '0' }, /--robots: must be a whole number from 1/],
    [{ shard: '3/2' }, /--shard: '3\/2' is not accepted; accepted: I\/N/],
    [{ threshold: 'p99<5s' }, /--threshold: threshold 'p99<5s': it must read/],
    [{ 'abort-on': 'p99<5s' }, /--abort-on: threshold 'p99<5s': it must read/],
    [{ threshold: 'rolout.ms.p99<5s' }, /there is no metric 'rolout\.ms'; did you mean rollout\.ms\?/],
    [{ scenario: 'nope' }, /--scenario: cannot read nope .*rollout, steady, storm/],
    [{ 'name-prefix': 'a b' }, /--name-prefix: must be 1 to 40/],
    [{ defect: 'seam-gap@8' }, /--defect: 'seam-gap@8' is not accepted; accepted: NAME@INDEX .* from 0 to 7/],
    [{ defect: 'nonsense@1' }, /--defect nonsense: unknown name\nmuster simulate device --defect list prints/],
    [{ devices: 'ids.txt' }, /--devices: needs robots that stand for them; accepted: --uplink polling or calls/],
  ])('refuses %j and writes nothing', async (change, message) => {
    expect(await refusal(fleets.words('', change))).toMatch(message);
    expect(existsSync(fleets.path('out'))).toBe(false);
  });

  it('refuses a bad scenario with line and column', async () => {
    expect(await refusal(fleets.words('  - { do: hold, for: soon }\n'))).toMatch(/s\.yaml:5:\d+: 'for' is "soon"/);
  });
});

it('--shard auto takes index and count from the job', () => {
  expect(shardFrom('auto', { JOB_COMPLETION_INDEX: '0', MUSTER_SHARDS: '3' })).toEqual({ index: 1, count: 3 });
  expect(shardFrom('2/8', {})).toEqual({ index: 2, count: 8 });
  expect(shardFrom(undefined, {})).toBeUndefined();
});

const beyond = { JOB_COMPLETION_INDEX: '3', MUSTER_SHARDS: '3' };
it.each<NodeJS.ProcessEnv>([{}, beyond, { JOB_COMPLETION_INDEX: '0' }])('--shard auto refuses %j', (env) => {
  expect(() => shardFrom('auto', env)).toThrow(/needs JOB_COMPLETION_INDEX from 0 and MUSTER_SHARDS above it/);
});
