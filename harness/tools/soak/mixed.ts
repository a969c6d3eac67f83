/** `npm run soak -- mixed`: simulators and harness under mixed load, each in processes of its own; nothing may grow, and nothing be lost. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { readableDuration } from '../../common/durations.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { API_KEY, Server } from '../fuzz/servers.ts';
import { refuse, toolOptions } from '../options.ts';
import { answersStill, call, check, clientFor, fleet, publish, restart, subscribe, type Tally } from './load.ts';
import { judge, page, table } from './plot.ts';
import { childrenOf, Sampler } from './samples.ts';

const HELP = `npm run soak -- [mixed] [options]
  --minutes N   how long (30), or --hours N
  --every S     seconds between samples (5)
  --out FOLDER  samples, plot and summary (muster-soak)

Memory, descriptors, timers and disk use are sampled. After a third of the time as warm-up, a series grows when the 95 % interval of its
Theil-Sen slope (over medians of 20 blocks) lies above 0 and the gain is more than noise (10 %, and 5 MiB or 4 descriptors; 3 % and
1 MiB of what a full collection leaves of the heap), and its least value has risen too. RSS and PSS come in steps, so they must grow in each half of the time as well.
A wait that was too long is told and counted; it fails the run only when a server still does not answer once the load has ended.
`;
const PROBE = fileURLToPath(new URL('probe.ts', import.meta.url));

/** Resolves with whether nothing grew and nothing was lost. */
export async function runMixed(words: readonly string[]): Promise<boolean> {
  const values = toolOptions(
    HELP,
    {
      minutes: { type: 'string' },
      hours: { type: 'string' },
      every: { type: 'string', default: '5' },
      out: { type: 'string', default: 'muster-soak' },
    },
    words,
  );
  const ms = 60_000 * (values.hours === undefined ? Number(values.minutes ?? 30) : 60 * Number(values.hours));
  const everyMs = 1_000 * Number(values.every);
  if (!(ms > 0 && everyMs > 0)) refuse('--minutes, --hours and --every take numbers above 0', HELP);
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const started = performance.now();
  const { sampler, tally } = await soak(ms, everyMs);
  const judged = judge(sampler.series.values());
  const took = readableDuration(performance.now() - started);
  const done = [...tally.done].map(([what, times]) => `${times.toLocaleString('en')} ${what}`).join(', ');
  const growing = judged.filter(({ slope }) => slope?.grows ?? false);
  const summary = `${took}: ${done}; ${growing.length} series grow, ${tally.problems.length} problems, ${tally.slow.length} times too slow`;
  writeFileSync(join(out, 'soak.html'), page(`Soak of ${took}`, judged));
  writeFileSync(
    join(out, 'soak.json'),
    JSON.stringify({ summary, problems: tally.problems, slow: tally.slow, series: judged }),
  );
  process.stdout.write(table(judged));
  for (const problem of new Set(tally.problems)) process.stdout.write(`✗ ${problem}\n`);
  for (const slow of new Set(tally.slow)) process.stdout.write(`· ${slow}\n`);
  process.stdout.write(`${summary}\n${join(out, 'soak.html')}\n`);
  return growing.length === 0 && tally.problems.length === 0;
}

/** Starts everything, works it until the time is up, and ends it. */
async function soak(ms: number, everyMs: number): Promise<{ sampler: Sampler; tally: Tally }> {
  await using all = new AsyncDisposableStack();
  const { path } = all.use(scratch());
  const at = (name: string): string => join(path, name);
  mkdirSync(at('probes'));
  const start = async (...words: string[]): Promise<Server> =>
    all.use(await Server.start(words, path, { load: PROBE, env: { MUSTER_SOAK: at('probes') } }));
  const device = (name: string): Promise<Server> =>
    start('device', '--socket', at(`${name}.s`), '--control', at(`${name}.c`), '--dir', at(name), '--heartbeat', '1s');
  const platform = (name: string, ...more: string[]): Promise<Server> =>
    start('platform', '--port', '0', '--devices', '50', '--seed', '1', '--api-key', API_KEY, '--db', at(name), ...more);
  const steady = await device('steady');
  const restarted = await device('restarted');
  const checkedDevice = await device('checked');
  const called = await platform('called.db');
  const checkedPlatform = await platform('checked.db', '--control', '0');
  const sampler = new Sampler(at('probes'));
  const sample = (): void => {
    const processes = {
      'steady device': steady,
      'restarted device': restarted,
      'checked device': checkedDevice,
      'called platform': called,
      'checked platform': checkedPlatform,
    };
    for (const [name, { pid }] of Object.entries(processes)) sampler.process(name, pid);
    for (const pid of childrenOf(steady.pid).slice(0, 1)) sampler.process('agent of the steady device', pid);
    for (const name of ['steady', 'restarted', 'checked']) sampler.folder(`${name} device`, at(name));
    sampler.process('this harness', process.pid);
  };
  const tally: Tally = { done: new Map(), problems: [], slow: [] };
  const over = new AbortController();
  const url = String(called.ready['url']);
  const work = workOn({ at, tally, signal: over.signal, url, checked: checkedPlatform.ready });
  const end = performance.now() + ms;
  for (sample(); performance.now() < end; sample())
    await delay(Math.min(everyMs, Math.max(0, end - performance.now())));
  over.abort();
  await Promise.all(work);
  for (const name of ['steady', 'restarted', 'checked'])
    await answersStill(tally, `${name} device`, deviceClient(at(`${name}.s`)), '/health');
  await answersStill(tally, 'called platform', platformClient(url), '/devices');
  await answersStill(tally, 'checked platform', platformClient(String(checkedPlatform.ready['url'])), '/devices');
  for (const what of ['streams opened', 'events received', 'events published', 'calls'])
    if (!tally.done.has(what)) tally.problems.push(`no ${what} in the whole time`);
  for (const server of [steady, restarted, checkedDevice, called, checkedPlatform])
    if (server.trouble !== undefined) tally.problems.push(server.trouble);
  return { sampler, tally };
}

const deviceClient = (socketPath: string) =>
  clientFor({ endpoint: { origin: 'http://localhost', socketPath }, basePath: '/v0.2' });

function platformClient(url: string) {
  const { origin, pathname } = new URL(url);
  const headers = { 'x-api-key': API_KEY, 'service-version': NEWEST_VERSION };
  return clientFor({ endpoint: { origin }, basePath: pathname, headers });
}

interface Work {
  at(name: string): string;
  tally: Tally;
  signal: AbortSignal;
  /** Of the platform that is called. */
  url: string;
  /** Ready line of the platform that is checked. */
  checked: Record<string, unknown>;
}

function workOn({ at, tally, signal, url, checked }: Work): Promise<void>[] {
  const control = (name: string) =>
    clientFor({ endpoint: { origin: 'http://localhost', socketPath: at(`${name}.c`) } });
  const reset = clientFor({
    endpoint: { origin: String(checked['control']) },
    headers: { authorization: `Bearer ${String(checked['control_token'])}` },
  });
  const [steady, restarted] = [{ latest: 0 }, { latest: 0 }];
  const place = ['--socket', at('checked.s'), '--control', at('checked.c')];
  const address = ['--url', String(checked['url']), '--api-key', API_KEY];
  return [
    ...[1, 2, 3, 4].map(() => subscribe(tally, deviceClient(at('steady.s')), signal)),
    ...[1, 2].map(() => subscribe(tally, deviceClient(at('restarted.s')), signal)),
    publish(tally, control('steady'), steady, signal),
    publish(tally, control('restarted'), restarted, signal),
    restart(tally, control('restarted'), restarted, signal),
    call(tally, platformClient(url), signal),
    check(tally, ['check', 'device', ...place], { file: at('device.json'), after: async () => {}, signal }),
    check(tally, ['check', 'platform', ...address], {
      file: at('platform.json'),
      after: async () => void (await reset.post('/reset')),
      signal,
    }),
    fleet(tally, at('.'), signal),
  ];
}
