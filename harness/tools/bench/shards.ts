/** Measures the requests that 1 to 8 shards of `muster fleet` send together, each limited to a tenth of a core. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { Running } from '../../cli/testing/muster.ts';
import { type Figure, figureAgainstFloor } from '../measure/figure.ts';
import { startMuster, wordsOf } from '../measure/process.ts';
import { arrivalServer } from './lateness.ts';

/** Wanted requests per second of a shard, above what a tenth of a core can send. */
const RATE = 4000;
const SECONDS = 10;
const PERIOD_US = 50_000;
const V1 = '/sys/fs/cgroup/cpu';
const LIMIT: readonly [file: string, text: string] = existsSync(V1)
  ? [join(V1, 'NAME/cpu.cfs_quota_us'), String(PERIOD_US / 10)]
  : ['/sys/fs/cgroup/NAME/cpu.max', `${PERIOD_US / 10} ${PERIOD_US}`];

export async function benchShards(): Promise<Figure[]> {
  const figures: Figure[] = [];
  let one = Number.NaN;
  for (const count of [1, 2, 4, 8]) {
    const { perSecond, arrived, merged, why } = await throughput(count).catch(({ message }: Error) => ({
      ...{ perSecond: Number.NaN, arrived: 0, merged: 0 },
      why: `not measured: ${message}`,
    }));
    if (count === 1) one = perSecond;
    const name = `muster fleet: ${count} shards with a tenth of a core each, floor one × ${count}`;
    const figure = figureAgainstFloor(name, perSecond, one * count, 0.9, 'requests/s');
    const goal = `${figure.goal} (of ${arrived} requests, the merged result has ${merged})`;
    figures.push({ ...figure, goal, met: figure.met && merged === arrived, why });
  }
  return figures;
}

/** `perSecond`: at the server, in the middle half of the time between the first request and the last. */
async function throughput(count: number) {
  using home = scratch();
  const scenario = join(home.path, 'scenario.yaml');
  const hold = `  - { do: hold, for: ${SECONDS}s, lists: ${RATE * count}/s, arrivals: constant }\n`;
  const head = 'name: shards\nuplink: polling\npoll_every: 1h\nsubscribers: 0\n';
  writeFileSync(scenario, `${head}phases:\n  - { do: ramp, over: 0s, measure: false }\n${hold}`);
  await using server = arrivalServer();
  const platform = `http://127.0.0.1:${await server.call('listen', undefined)}/beta`;
  const run = { robots: count, workers: 1, platform, 'api-key': 'bench', scenario, out: home.path, 'run-id': 'bench' };
  const ended = Array.from({ length: count }, async (_, index) => {
    using group = limitedGroup(index);
    const own = {
      ...run,
      shard: `${index + 1}/${count}`,
      state: join(home.path, `state${index}`),
      'start-within': '2m',
    };
    const under = ['sh', '-c', 'echo $$ > "$0" && exec "$@"', group.processes];
    const { code, stderr } = await new Running(['fleet', ...wordsOf(own)], { under, detached: false }).ended;
    // 98: the shard could not keep up, as intended.
    if (code !== 0 && code !== 98) throw new Error(`a shard ended with exit code ${code}: ${stderr}`);
  });
  const failed = (await Promise.allSettled(ended)).find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const arrivals = await server.call('arrivals');
  const [first = Number.NaN, last = Number.NaN] = [arrivals[0], arrivals.at(-1)];
  const quarter = (last - first) / 4;
  const middle = arrivals.filter((at) => at >= first + quarter && at < last - quarter);
  const perSecond = middle.length / ((2 * quarter) / 1000);
  await startMuster(['merge', home.path, '--run-id', 'bench']).ended;
  const result = JSON.parse(readFileSync(join(home.path, 'bench', 'result.json'), 'utf8')) as FleetResult;
  const merged = result.metrics['schedule.lateness.ms']?.count ?? 0;
  return { perSecond, arrived: arrivals.length, merged, why: '' };
}

/** Control group of version 1 or 2; throws without the right to make it. */
function limitedGroup(index: number): Disposable & { processes: string } {
  const [file, text] = LIMIT;
  const limit = file.replace('NAME', `muster-bench-${process.pid}-${index}`);
  const folder = join(limit, '..');
  mkdirSync(folder);
  try {
    if (existsSync(V1)) writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US));
    writeFileSync(limit, text);
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return { processes: join(folder, 'cgroup.procs'), [Symbol.dispose]: () => rmdirSync(folder) };
}
