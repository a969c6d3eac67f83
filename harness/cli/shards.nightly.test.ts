import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../simulators/common/testing/scratch.ts';
import type { FleetResult } from '../../simulators/fleet/result/result.ts';
import { writeResult } from '../../simulators/fleet/result/shards.ts';
import { resultWith } from '../../simulators/fleet/result/testing/result.ts';
import { closedPort } from '../common/testing/servers.ts';
import { type Running, typed, useFleetRuns } from './testing/muster.ts';

const fleets = useFleetRuns();
/** Milliseconds allowed for a test; on a busy machine, a shard takes half a minute to start. */
const slow = { timeout: 300_000 };
/** Exit codes of a run without failures; 98 means that the machine was too busy for valid figures. */
const ENDS = [0, 98];

const ROLLOUT = '  - { do: rollout, over: 200ms }\n';

function shard(index: number, { run = 'monday', phases = ROLLOUT, change = {}, env = {} } = {}): Running {
  const words = fleets.words(phases, { out: fleets.path('results'), ...change });
  return fleets.start([...words, '--shard', `${index}/2`, '--run-id', run], env);
}

const merge = (run: string, ...words: string[]): Running =>
  fleets.start(['merge', fleets.path('results'), '--run-id', run, '--expect', '2', '--watch', ...words]);
const resultOf = (index: number, run = 'monday'): FleetResult =>
  fleets.result(fleets.path('results', run, `shard-${index}-of-2`));

describe('the shards of a run', slow, () => {
  it('begin together after the last is ready, and merge judges thresholds on their sum', async () => {
    const threshold = { threshold: 'rollout.ms.count>=8' };
    const collecting = merge('monday');
    const first = shard(1, { change: threshold });
    await first.said(/^ready: shard 1\/2 of run monday waits for the others$/m);
    for (const { ended } of [first, shard(2, { change: threshold })]) expect(ENDS).toContain((await ended).code);
    const { code, stdout } = await collecting.ended;
    expect(stdout).toMatch(/✓ met|· not judged/);
    expect(ENDS).toContain(code);
    const [one, two] = [resultOf(1), resultOf(2)].map(({ phases_at }) => Date.parse(phases_at ?? ''));
    expect(Math.abs((one ?? 0) - (two ?? Number.NaN))).toBeLessThan(10_000);
    expect(one).toBeGreaterThan(Date.parse(resultOf(2).started_at));
    expect(fleets.result(fleets.path('results', 'monday'))).toMatchObject({ run_id: 'monday', robots: 8, shard: null });
  });

  it('are kept apart from other runs on the same disk', async () => {
    for (const { ended } of [shard(1), shard(2)]) expect(ENDS).toContain((await ended).code);
    expect(ENDS).toContain((await merge('monday').ended).code);

    const none = await merge('tuesday', '--timeout', '1s').ended;
    expect(none.stderr).toContain('tuesday: there is no result.json of a shard; there are runs monday');
    expect(none.code).toBe(2);
    const again = await shard(1).ended;
    expect(again.stderr).toContain('--run-id: monday has a result of shard 1/2 already');
    expect(again.code).toBe(64);
    const merged = await merge('monday').ended;
    expect(merged.stderr).toContain('--run-id: the run monday was merged already');
    expect(merged.code).toBe(64);
  });

  it('end the wait of merge with the reason when one cannot start', async () => {
    const collecting = merge('monday');
    expect((await shard(2, { change: { platform: 'http://127.0.0.1:9/beta' } }).ended).code).toBe(64);
    expect(ENDS).toContain((await shard(1).ended).code);
    const { code, stdout } = await collecting.ended;
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/shard 2\/2 is dead: --api-key: is needed for this platform/);
    expect(code).toBe(2);
    expect(resultOf(1)).toMatchObject({ complete: true, robots: 4 });
  });

  it('end the wait of merge when none can start', async () => {
    const collecting = merge('monday');
    for (const index of [1, 2]) await shard(index, { change: { platform: 'http://127.0.0.1:9/beta' } }).ended;
    const { code, stderr } = await collecting.ended;
    expect(stderr).toMatch(/no shard left a result: shard 1: --api-key: .*; shard 2: --api-key/);
    expect(code).toBe(2);
  });

  it('wait for the others no longer than --start-within', async () => {
    const { code, stdout } = await shard(1, { change: { 'start-within': '1s' } }).ended;
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('shard 2/2 did not come up within 1 s');
    expect(code).toBe(2);
    expect(resultOf(1)).toMatchObject({ complete: false, counters: {} });
  });

  it('take the run id from merge, and end when no merge announces one', async () => {
    const collecting = fleets.start(['merge', fleets.path('results'), '--expect', '2', '--watch', '--run-id', 'auto']);
    for (const { ended } of [shard(1, { run: 'auto' }), shard(2, { run: 'auto' })])
      expect(ENDS).toContain((await ended).code);
    const { code, stdout } = await collecting.ended;
    expect(ENDS, stdout).toContain(code);
    expect(existsSync(fleets.path('results', 'run.json'))).toBe(false);

    const alone = await shard(1, { run: 'auto', change: { 'start-within': '1s' } }).ended;
    expect(alone.stderr).toMatch(/nobody announced a run in .*results for 1 s; is 'muster merge .*' running\?/);
    expect(alone.code).toBe(2);
  });

  it('can be restarted by the same job, with a note, but not by another', async () => {
    const env = { MUSTER_JOB_UID: 'job-1' };
    const first = shard(1, { env, phases: '  - { do: hold, for: 1h }\n' });
    expect(ENDS).toContain((await shard(2, { env }).ended).code);
    await first.stop('SIGKILL');
    const again = await shard(1, { env }).ended;
    expect(ENDS).toContain(again.code);
    expect(resultOf(1).notes.join()).toContain('Shard 1/2 was started again');
    expect((await shard(2, { env: { MUSTER_JOB_UID: 'job-2' } }).ended).code).toBe(64);
    expect(existsSync(fleets.path('results', 'monday', 'shard-2-of-2', 'failed.json'))).toBe(false);
  });
});

describe('merge', slow, () => {
  const RESULT = () => readFileSync(fleets.path('results', 'shard-1', 'result.json'), 'utf8');
  const torn: readonly [file: string, what: string, text: () => string][] = [
    ['result.json', 'half of it', () => RESULT().slice(0, RESULT().length >> 1)],
    ['result.json', 'zeros, as after a power loss', () => '\0'.repeat(4096)],
    ['failed.json', 'half of it', () => '{"shard":{"ind'],
    ['failed.json', 'null', () => 'null'],
  ];
  it.each(torn)('refuses a damaged %s (%s) and writes nothing', async (file, _, text) => {
    for (const index of [1, 2]) fleets.leave(index, 2);
    const folder = fleets.path('results', 'shard-2');
    if (file !== 'result.json') rmSync(join(folder, 'result.json'));
    writeFileSync(join(folder, file), text());
    const { code, stderr } = await fleets.run(['merge', fleets.path('results')]);
    expect(stderr).toContain(join(folder, file));
    expect(stderr).not.toMatch(/^ +at /m);
    expect(code).toBe(64);
    expect(readdirSync(fleets.path('results')).toSorted()).toEqual(['shard-1', 'shard-2']);
  });

  it.each(['{"shard":', 'null', '{}'])('reports a shard with the sign of life %s as missing', async (text) => {
    fleets.leave(1, 2);
    mkdirSync(fleets.path('results', 'shard-2'), { recursive: true });
    writeFileSync(fleets.path('results', 'shard-2', 'alive.json'), text);
    const { code, stdout } = await fleets.run(typed`merge ${fleets.path('results')} --expect 2 --watch --timeout 1s`);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('shard 2/2 is missing: it left no result');
    expect(code).toBe(2);
    expect(fleets.result(fleets.path('results'))).toMatchObject({ complete: false, robots: 5 });
  });

  it('writes a partial result when stopped, and completes it when restarted', async () => {
    const left = (index: number): void =>
      writeResult(
        fleets.path('results', 'monday', `shard-${index}-of-2`),
        resultWith({ shard: { index, count: 2 }, robots: 5, run_id: 'monday' }),
      );
    left(1);
    const first = merge('monday');
    await first.said(/^1 of 2 shards are done/m);
    expect((await first.stop()).code).toBe(143);
    expect(fleets.result(fleets.path('results', 'monday'))).toMatchObject({ robots: 5, complete: false });
    const again = merge('monday');
    left(2);
    expect(ENDS).toContain((await again.ended).code);
    expect(fleets.result(fleets.path('results', 'monday'))).toMatchObject({ robots: 10, complete: true });
  });

  it('ends by its signal before the first shard is done', async () => {
    const collecting = merge('monday');
    await collecting.said(/^0 of 2 shards are done/m);
    expect((await collecting.stop()).code).toBe(143);
  });

  it('leaves a whole result or none when killed, and completes on a second run', async () => {
    for (const index of [1, 2]) fleets.leave(index, 2);
    // A killed merge may leave hidden temporary files.
    const written = () => readdirSync(fleets.path('results')).filter((name) => !/^(shard-|\.muster-)/.test(name));
    let kills = 0;
    for (let at = 1; at <= 8; at += 1) {
      const run = fleets.start(['merge', fleets.path('results')]);
      let changes = 0;
      const watcher = watch(fleets.path('results'), () => {
        changes += 1;
        if (changes === at) kills += run.child.kill('SIGKILL') ? 1 : 0;
      });
      await run.ended;
      watcher.close();
      if (written().includes('result.json')) fleets.result(fleets.path('results'));
    }
    expect(kills).toBeGreaterThan(2);
    const { code } = await fleets.run(['merge', fleets.path('results')]);
    expect(ENDS).toContain(code);
    expect(fleets.result(fleets.path('results'))).toMatchObject({ robots: 10 });
    expect(written().toSorted()).toEqual(['report.html', 'result.json']);
  });
});

describe('shards without a shared disk', slow, () => {
  const env = { MUSTER_RESULTS_TOKEN: 'a-token-of-twenty-c.' };
  const collect = ({ run = 'auto', port = '0' } = {}): Running =>
    fleets.start(['merge', fleets.path('merged'), ...typed`--run-id ${run} --expect 2 --watch --serve ${port}`], env);
  const apart = (index: number, url: string, { pod = index, phases = ROLLOUT, change = {} } = {}): Running => {
    const words = fleets.words(phases, { out: fleets.path(`pod-${pod}`), state: fleets.path(`state-${pod}`) });
    return fleets.start([...words, ...typed`--shard ${index}/2 --run-id auto --results ${url}`], { ...env, ...change });
  };
  const urlOf = async (collecting: Running) => (await collecting.said(/^results: (\S+)$/m))[1] ?? '';

  it('end on a wrong token, and report an unreachable address while they wait', async () => {
    const url = await urlOf(collect());
    const stranger = await apart(1, url, { change: { MUSTER_RESULTS_TOKEN: 'another-token-of-it.' } }).ended;
    const said = /--results: GET \S+:\d+\/run: 401, the token is not that of the merge.*; accepted: the MUSTER_RESULTS/;
    expect(stranger.stderr).toMatch(said);
    expect(stranger.code).toBe(64);
    const nowhere = `http://127.0.0.1:${await closedPort()}/there`;
    const lost = apart(2, nowhere);
    await lost.said(new RegExp(`waiting for the merge at ${nowhere} to announce a run`));
    const trouble = `--results: GET ${nowhere}/run: connect ECONNREFUSED`;
    await lost.said(new RegExp(`^${trouble}.*; tried again every second$`, 'm'));
    const { code, stderr } = await lost.stop();
    expect(stderr).toMatch(new RegExp(`stopped before the fleet was up.*; ${trouble}`));
    expect(code).toBe(143);
  });

  it.each([
    ['all of them', undefined],
    ['and one that was killed while it delivered and started again', 2],
  ])('deliver each result once to a merge that was killed and restarted, %s', async (_, killed) => {
    const first = collect();
    const url = await urlOf(first);
    const phases = `  - { do: hold, for: 5s }\n${ROLLOUT}`;
    const shards = [apart(1, url, { phases }), apart(2, url, { phases })];
    const alive = (index: number) => fleets.path('merged', run, `shard-${index}-of-2`, 'alive.json');
    let run = '';
    await eventually(() => {
      run = readdirSync(fleets.path('merged')).find((name) => name !== 'run.json') ?? '';
      for (const index of [1, 2])
        expect(JSON.parse(readFileSync(alive(index), 'utf8'))).toMatchObject({ phase: 'hold' });
    });
    first.child.kill('SIGKILL');
    await Promise.all(shards.map((one) => one.said(/^--results: delivering the result, .*ECONNREFUSED/m)));
    if (killed !== undefined) {
      shards[killed - 1]?.child.kill('SIGKILL');
      shards[killed - 1] = apart(killed, url, { pod: 3, phases });
    }
    const again = collect({ run, port: new URL(url).port });
    for (const { ended } of shards) expect(ENDS).toContain((await ended).code);
    // The restarted shard may come too late on a busy machine, which makes the run incomplete.
    expect(killed === undefined ? ENDS : [...ENDS, 2]).toContain((await again.ended).code);
    const result = fleets.result(fleets.path('merged', run));
    expect(result).toMatchObject({ robots: 8, metrics: { 'rollout.ms': { count: 8 } } });
    expect(result.merged_from).toHaveLength(2);
    expect(/Shard 2\/2 was started again/.test(result.notes.join())).toBe(killed !== undefined);
  });

  it('report the reason to merge when they cannot start', async () => {
    const collecting = collect();
    const url = await urlOf(collecting);
    const well = apart(1, url);
    const words = typed`--shard 2/2 --run-id auto --results ${url} --out ${fleets.path('pod-2')} --robots 8`;
    const broken = fleets.start(['fleet', ...words, '--platform', 'http://127.0.0.1:1'], {
      ...env,
      MUSTER_API_KEY: 'k',
    });
    expect((await broken.ended).code).toBe(2);
    await well.ended;
    const { code, stdout } = await collecting.ended;
    expect(code).toBe(2);
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/shard 2\/2 is dead: .*127\.0\.0\.1:1/);
  });
});
