/**
 * `npm run soak -- mixed`: simulators and harness under mixed load, each in processes of its own; nothing may grow, and
 * nothing be lost.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { type EventStream, openEvents } from '../../client/sse.ts';
import { defined } from '../../common/defined.ts';
import { readableDuration } from '../../common/durations.ts';
import type { Report } from '../../runner/types.ts';
import {
  API_KEY,
  onPlatform,
  onPlatformControl,
  onSocket,
  platformWords,
  type Server,
  startServer,
} from '../fuzz/servers.ts';
import { childrenOf, startMuster } from '../measure/process.ts';
import { judgeSeries, pageOf, Sampler, tableOf } from '../measure/series.ts';
import { amount, toolOptions } from '../options.ts';

/** Timeouts in the words of the client, which checks and fleets pass on. */
const WAITED = /no (?:(?:whole )?answer|connection) within \d|timed out after \d/;

const PAUSE_MS = 100;

/** Counts of the work, its problems, and timeouts, which a busy machine explains. */
export class Tally {
  readonly done = new Map<string, number>();
  readonly problems: string[] = [];
  readonly slow: string[] = [];
  /** Aborts when the time is up. */
  readonly signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  count(what: string, times = 1): void {
    this.done.set(what, (this.done.get(what) ?? 0) + times);
  }

  /** Counts as slow when every reason is a timeout, else as a problem. */
  note(what: string, reasons: readonly string[]): void {
    const slow = reasons.length > 0 && reasons.every((reason) => WAITED.test(reason));
    (slow ? this.slow : this.problems).push(`${what}: ${reasons.join('; ')}`);
  }

  /** Rejects when the time is up before. */
  async pause(ms = PAUSE_MS): Promise<void> {
    await delay(ms, undefined, { signal: this.signal });
  }

  /** Repeats the work until the time is up; an error is a problem or a timeout, and it goes on after a pause. */
  async repeat(what: string, work: (round: number) => Promise<void>): Promise<void> {
    for (let round = 1; !this.signal.aborted; round += 1) {
      try {
        await work(round);
      } catch (error) {
        if (this.signal.aborted) return;
        this.note(what, [error instanceof Error ? error.message : String(error)]);
        await this.pause().catch(() => {});
      }
    }
  }
}

/** Client without a growing recorder. */
const fresh = (http: HttpClient): HttpClient => http.with({ recorder: new Recorder() });

/** Publishes a few events at a time, and sometimes compacts. `latest` is the last acknowledged id. */
export const keepPublishing = (tally: Tally, control: HttpClient, state: { latest: number }): Promise<void> =>
  tally.repeat('publish', async (round) => {
    const { status, json } = await fresh(control).post('/events', { count: 1 + (round % 20) });
    // While it restarts, the agent says that it is down.
    if (status === 200) {
      state.latest = (json as { last_id: number }).last_id;
      tally.count('events published', 1 + (round % 20));
    } else if (status !== 409 && status !== 503) throw new Error(`answered ${status}`);
    if (round % 200 === 0) {
      await fresh(control).post('/compact');
      tally.count('compactions');
    }
    await tally.pause();
  });

/** Follows the stream, and reconnects with its cursor, after a pause. No id may be missing or come twice. */
export function keepFollowing(tally: Tally, http: HttpClient, pauseMs = 0): Promise<void> {
  let last: number | undefined;
  return tally.repeat('subscribe', async (round) => {
    let stream: EventStream;
    try {
      stream = await openEvents(fresh(http).with({ signal: tally.signal }), last === undefined ? {} : { after: last });
    } catch {
      await tally.pause();
      return;
    }
    tally.count('streams opened');
    if (stream.status === 410) {
      last = undefined;
      tally.count('cursors expired');
    }
    try {
      for (let frames = 0; stream.status === 200 && frames < 500 * (1 + (round % 5)); frames += 1) {
        const frame = await stream.next({ within: 3_600_000, for: 'an event' });
        const id = Number(frame.id);
        if (last !== undefined && id !== last + 1) tally.problems.push(`subscribe: event ${id} came after ${last}`);
        last = id;
        tally.count('events received');
      }
    } catch {
      // The agent restarts.
    } finally {
      await stream.close();
    }
    await tally.pause(pauseMs);
  });
}

/** Stops and starts the agent, with either signal; nothing acknowledged may be gone. */
export const keepRestarting = (tally: Tally, control: HttpClient, state: { latest: number }): Promise<void> =>
  tally.repeat('restart', async (round) => {
    await tally.pause(20_000);
    await fresh(control).post('/stop', { signal: round % 2 === 0 ? 'SIGTERM' : 'SIGKILL' });
    const acknowledged = state.latest;
    const { status, text } = await fresh(control).post('/start');
    if (status !== 204) throw new Error(`start is answered ${status} ${text}`);
    const { json } = await fresh(control).post('/events', { count: 1 });
    const { first_id: next = 0 } = (json ?? {}) as { first_id?: number };
    if (next <= acknowledged) throw new Error(`event ${next} was assigned after ${acknowledged} was acknowledged`);
    tally.count('restarts');
  });

/** Calls that leave the platform as it is: lists, resources, pings, renames, and refused ones. */
function keepCalling(tally: Tally, http: HttpClient): Promise<void> {
  const expect = async (wanted: readonly number[], method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fresh(http).request({ method, path, ...defined({ body }) });
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
    // An archived device keeps its name.
    await expect([200, 409], 'PATCH', `/devices/${id}`, { name: `${id}-${round % 7}` });
    await expect([400], 'POST', '/devices', { name: '' });
    await expect([404], 'GET', '/devices/dvc_none');
    await tally.pause();
  });
}

/**
 * Runs a command of Muster to its end; interrupts it when the time is up. Resolves with its exit code; rejects when the
 * time was up.
 */
async function command(words: readonly string[], { signal }: Tally): Promise<number> {
  const running = startMuster(words);
  const stop = (): void => void running.child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  // An interrupted check still starts the agent again that it had stopped.
  const { code } = await running.ended.finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  return code ?? -1;
}

/** Repeats a check of a simulator, each time in its initial state. `file`: its report. */
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

/** Problems in a report, a sentence for each. */
function badIn(file: string): string[] {
  const { checks } = JSON.parse(readFileSync(file, 'utf8')) as Report;
  return checks
    .filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked')
    .map(
      ({ id, outcome, expected, actual, reason }) =>
        `${id} ${outcome}: ${reason ?? `${actual} (expected ${expected})`}`,
    );
}

/** Small fleet with two roll-outs, from start to end. */
function keepRunningFleets(tally: Tally, folder: string): Promise<void> {
  const [scenario, out] = [join(folder, 'soak.yaml'), join(folder, 'fleet')];
  writeFileSync(scenario, SCENARIO);
  const words = ['fleet', '--robots', '20', '--platform', 'embedded', '--scenario', scenario, '--out', out];
  return tally.repeat('fleet', async () => {
    const code = await command(words, tally);
    // 98: the machine is too busy for the figures. Losses show all the same.
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

/** A server that answers no more without any load hangs. */
async function answersStill(tally: Tally, what: string, http: HttpClient, path: string): Promise<void> {
  try {
    const { status } = await fresh(http).get(path);
    if (status !== 200) tally.problems.push(`${what}: at the end GET ${path} is answered ${status}`);
  } catch (error) {
    tally.problems.push(`${what} hangs: ${(error as Error).message}`);
  }
}

const USAGE = `npm run soak -- [mixed] [options]

Memory, descriptors, timers and disk use are sampled. After a third of the time as warm-up, a series grows when the \
95 % interval of its
Theil-Sen slope (over medians of 20 blocks) lies above 0 and the gain is more than noise (10 %, and 5 MiB or 4 \
descriptors; 3 % and
1 MiB of what a full collection leaves of the heap), and its least value has risen too. RSS and PSS come in steps, so \
they must grow in each half of the time as well.
A wait that was too long is told and counted; it fails the run only when a server still does not answer once the load \
has ended.`;

/** Resolves with whether nothing grew and nothing was lost. */
export async function runMixed(words: readonly string[]): Promise<boolean> {
  const options = {
    minutes: amount('how long', 30),
    every: amount('seconds between samples', 5),
    out: { type: 'string' as const, describe: 'folder of samples, plot and summary', default: 'muster-soak' },
  };
  const { minutes, every, out } = toolOptions(USAGE, options, { words });
  mkdirSync(out, { recursive: true });
  const started = performance.now();
  const { sampler, tally } = await soak(60_000 * minutes, 1_000 * every);
  const judged = judgeSeries(sampler.series.values());
  const took = readableDuration(performance.now() - started);
  const done = [...tally.done].map(([what, times]) => `${times.toLocaleString('en')} ${what}`).join(', ');
  const growing = judged.filter(({ slope }) => slope?.grows ?? false);
  const { problems, slow } = tally;
  const found = `${growing.length} series grow, ${problems.length} problems, ${slow.length} times too slow`;
  const summary = `${took}: ${done}; ${found}`;
  const plot = resolve(out, 'soak.html');
  writeFileSync(plot, pageOf(`Soak of ${took}`, judged));
  writeFileSync(join(out, 'soak.json'), JSON.stringify({ summary, problems, slow, series: judged }));
  process.stdout.write(tableOf(judged));
  for (const problem of new Set(problems)) process.stdout.write(`✗ ${problem}\n`);
  for (const one of new Set(slow)) process.stdout.write(`· ${one}\n`);
  process.stdout.write(`${summary}\n${plot}\n`);
  return growing.length === 0 && problems.length === 0;
}

const client = (options: HttpClientOptions): HttpClient => new HttpClient({ ...options, timeoutMs: 60_000 });

/** Starts everything, loads it until the time is up, and ends it. */
async function soak(ms: number, everyMs: number): Promise<{ sampler: Sampler; tally: Tally }> {
  await using all = new AsyncDisposableStack();
  const { path } = all.use(scratch());
  const at = (name: string): string => join(path, name);
  mkdirSync(at('probes'));
  const start = async (words: readonly string[]): Promise<Server> =>
    all.use(await startServer(words, path, { MUSTER_SOAK: at('probes') }));
  const device = (name: string): Promise<Server> =>
    start([
      'device',
      '--socket',
      at(`${name}.s`),
      '--control',
      at(`${name}.c`),
      '--dir',
      at(name),
      '--heartbeat',
      '1s',
    ]);
  const devices = {
    steady: await device('steady'),
    restarted: await device('restarted'),
    checked: await device('checked'),
  };
  const called = await start(platformWords(50, '--db', at('called.db')));
  const checked = await start(platformWords(50, '--db', at('checked.db'), '--control', '0'));
  const servers = [
    ...Object.entries(devices).map(([name, server]) => [`${name} device`, server] as const),
    ['called platform', called] as const,
    ['checked platform', checked] as const,
  ];
  const sampler = new Sampler(at('probes'));
  const sample = (): void => {
    for (const [name, { pid }] of servers) sampler.process(name, pid);
    for (const pid of childrenOf(devices.steady.pid).slice(0, 1)) sampler.process('agent of the steady device', pid);
    for (const name of Object.keys(devices)) sampler.folder(`${name} device`, at(name));
    sampler.process('this harness', process.pid);
  };
  const over = new AbortController();
  const tally = new Tally(over.signal);
  const work = workOn({ at, tally, called, checked });
  const end = performance.now() + ms;
  for (sample(); performance.now() < end; sample())
    await delay(Math.min(everyMs, Math.max(0, end - performance.now())));
  over.abort();
  await Promise.all(work);
  for (const name of Object.keys(devices))
    await answersStill(tally, `${name} device`, client(onSocket(at(`${name}.s`), '/v0.2')), '/health');
  await answersStill(tally, 'called platform', client(onPlatform(called.ready)), '/devices');
  await answersStill(tally, 'checked platform', client(onPlatform(checked.ready)), '/devices');
  for (const what of ['streams opened', 'events received', 'events published', 'calls'])
    if (!tally.done.has(what)) tally.problems.push(`no ${what} in the whole time`);
  for (const [, { trouble }] of servers) if (trouble !== undefined) tally.problems.push(trouble);
  return { sampler, tally };
}

interface Work {
  at(name: string): string;
  tally: Tally;
  called: Server;
  checked: Server;
}

function workOn({ at, tally, called, checked }: Work): Promise<void>[] {
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
