import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { reportIn } from '../../cli/testing/muster.ts';
import type { HttpClient } from '../../client/http.ts';
import { defined } from '../../common/defined.ts';
import { API_KEY, onPlatform, onPlatformControl, onSocket, platformWords, type Server } from '../fuzz/servers.ts';
import { childrenOf, startMuster } from '../measure/process.ts';
import {
  client,
  keepFollowing,
  keepPublishing,
  keepRestarting,
  type Tally,
  underLoad,
  withNewRecorder,
} from './load.ts';

const USAGE = `npm run soak -- [mixed] [options]

Memory, descriptors, timers and disk use are sampled. After a third of the time as warm-up, a series grows when the \
95 % interval of its Theil-Sen slope (over medians of 20 blocks) lies above 0 and the gain is more than noise (10 %, \
and 5 MiB or 4 descriptors; 3 % and 1 MiB of what a full collection leaves of the heap), and its least value has risen \
too. RSS and PSS come in steps, so they must grow in each half of the time as well. A wait that was too long is told; \
it fails the run only when a server still does not answer once the load has ended.`;

const DEVICES = ['steady', 'restarted', 'checked'] as const;

export const mixed = {
  about: 'simulators and harness under mixed load, 30 minutes long',
  run: underLoad(USAGE, async ({ at, simulate }) => {
    const servers: [name: string, server: Server][] = [];
    for (const name of DEVICES) {
      const places = ['--socket', at(`${name}.s`), '--control', at(`${name}.c`), '--dir', at(name)];
      servers.push([`${name} device`, await simulate('device', ...places, '--heartbeat', '1s')]);
    }
    const called = await simulate(...platformWords(50, '--db', at('called.db')));
    const checked = await simulate(...platformWords(50, '--db', at('checked.db'), '--control', '0'));
    servers.push(['called platform', called], ['checked platform', checked]);
    const steady = servers[0]?.[1].pid ?? 0;
    return {
      sample(sampler) {
        for (const [name, { pid }] of servers) sampler.process(name, pid);
        for (const pid of childrenOf(steady).slice(0, 1)) sampler.process('agent of the steady device', pid);
        for (const name of DEVICES) sampler.folder(`${name} device`, at(name));
        sampler.process('this harness', process.pid);
      },
      work: (tally) => workOn(tally, at, called, checked),
      least: ['streams opened', 'events received', 'events published', 'calls'],
      async end(tally) {
        for (const name of DEVICES)
          await answersStill(tally, `${name} device`, client(onSocket(at(`${name}.s`), '/v0.2')), '/health');
        await answersStill(tally, 'called platform', client(onPlatform(called.ready)), '/devices');
        await answersStill(tally, 'checked platform', client(onPlatform(checked.ready)), '/devices');
        for (const [, { trouble }] of servers) if (trouble !== undefined) tally.problems.push(trouble);
      },
    };
  }),
};

function workOn(tally: Tally, at: (name: string) => string, called: Server, checked: Server): Promise<void>[] {
  const device = (name: string) => client(onSocket(at(`${name}.s`), '/v0.2'));
  const control = (name: string) => client(onSocket(at(`${name}.c`)));
  const reset = client(onPlatformControl(checked.ready));
  const [steady, restarted] = [{ latest: 0 }, { latest: 0 }];
  const place = ['--socket', at('checked.s'), '--control', at('checked.c')];
  const address = ['--url', String(checked.ready['url']), '--api-key', API_KEY];
  return [
    ...[1, 2, 3, 4].map(() => keepFollowing(tally, device('steady'))),
    ...[1, 2].map(() => keepFollowing(tally, device('restarted'))),
    keepPublishing(tally, control('steady'), steady),
    keepPublishing(tally, control('restarted'), restarted),
    keepRestarting(tally, control('restarted'), restarted),
    keepCalling(tally, client(onPlatform(called.ready))),
    keepChecking(tally, ['check', 'device', ...place], at('device.json')),
    keepChecking(tally, ['check', 'platform', ...address], at('platform.json'), () => reset.post('/reset')),
    keepRunningFleets(tally, at('.')),
  ];
}

/** Calls that add no records, so that growth of memory shows a leak. */
function keepCalling(tally: Tally, http: HttpClient): Promise<void> {
  const expect = async (wanted: readonly number[], method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await withNewRecorder(http).request({ method, path, ...defined({ body }) });
    if (!wanted.includes(answer.status))
      throw new Error(`${method} ${path} is answered ${answer.status} ${answer.text}`);
    tally.count('calls');
    return answer.json;
  };
  let id = '';
  return tally.repeat('call', async (round) => {
    const list = await expect([200], 'GET', '/devices?limit=20&expand=current_deployment');
    const { data } = list as { data: { id: string }[] };
    id = data[round % data.length]?.id ?? id;
    await expect([200], 'GET', `/devices/${id}`);
    await expect([200], 'GET', '/deployments?limit=50&expand=release');
    // 409: an archived device cannot get a new name.
    await expect([200, 409], 'PATCH', `/devices/${id}`, { name: `${id}-${round % 7}` });
    await expect([400], 'POST', '/devices', { name: '' });
    await expect([404], 'GET', '/devices/dvc_none');
    await tally.pause();
  });
}

async function command(words: readonly string[], { signal }: Tally): Promise<number> {
  const running = startMuster(words);
  const stop = (): void => void running.child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  // An interrupted check first restarts the agent that it stopped.
  const { code } = await running.ended.finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  return code ?? -1;
}

function keepChecking(
  tally: Tally,
  words: readonly string[],
  file: string,
  after?: () => Promise<unknown>,
): Promise<void> {
  const what = words.slice(0, 2).join(' ');
  return tally.repeat(what, async () => {
    const code = await command([...words, '--fast', '--report', `json=${file}`], tally);
    if (code === 0) tally.count(what);
    else if (code === 2) tally.note(`${what} ended with 2`, badIn(file));
    else tally.problems.push(`${what} ended with ${code}: ${badIn(file).join('; ')}`);
    await after?.();
  });
}

function badIn(file: string): string[] {
  return reportIn(file)
    .checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked')
    .map(
      ({ id, outcome, expected, actual, reason }) =>
        `${id} ${outcome}: ${reason ?? `${actual} (expected ${expected})`}`,
    );
}

function keepRunningFleets(tally: Tally, folder: string): Promise<void> {
  const [scenario, out] = [join(folder, 'soak.yaml'), join(folder, 'fleet')];
  writeFileSync(scenario, SCENARIO);
  const words = ['fleet', '--robots', '20', '--platform', 'embedded', '--scenario', scenario, '--out', out];
  return tally.repeat('fleet', async () => {
    const code = await command(words, tally);
    // 98: the machine was too busy for valid figures; losses have other codes.
    if (code === 0 || code === 98) return tally.count('fleets of 20 robots');
    const result = JSON.parse(readFileSync(join(out, 'result.json'), 'utf8')) as FleetResult;
    if (code === 2) tally.note('fleet ended with 2', result.incomplete_reasons);
    else tally.problems.push(`fleet ended with ${code}, ${result.outcome}`);
  });
}

const SCENARIO = `name: soak
thresholds: [rollout.missed.count==0]
phases:
  - { do: ramp, over: 5s, measure: false }
  - { do: rollout, share: 50%, over: 5s }
  - { do: rollout, share: 100%, over: 10s }
`;

async function answersStill(tally: Tally, what: string, http: HttpClient, path: string): Promise<void> {
  try {
    const { status } = await withNewRecorder(http).get(path);
    if (status !== 200) tally.problems.push(`${what}: at the end GET ${path} is answered ${status}`);
  } catch (error) {
    tally.problems.push(`${what} hangs: ${(error as Error).message}`);
  }
}
