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
import { NEWEST_VERSION } from '../../contract/versions.ts';
import type { Report } from '../../runner/types.ts';
import { API_KEY, Server } from '../fuzz/servers.ts';
import { childrenOf, muster } from '../measure/process.ts';
import { judge, page, Sampler, table } from '../measure/series.ts';
import { refuse, toolOptions } from '../options.ts';

/**
 * What the work did, by name, what it found wrong, and what took longer than it waits, which a busy machine explains.
 */
interface Tally {
  done: Map<string, number>;
  problems: string[];
  slow: string[];
}

/** How the client says that it waited in vain; checks and fleets pass it on. */
const WAITED = /no (?:(?:whole )?answer|connection) within \d|timed out after \d/;

const PAUSE_MS = 100;

const count = ({ done }: Tally, what: string, times = 1): void => void done.set(what, (done.get(what) ?? 0) + times);

/** Repeats the work until the signal aborts; what it throws is a problem, or slow, and it goes on after a pause. */
async function repeat(tally: Tally, what: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      if (signal.aborted) return;
      note(tally, what, [error instanceof Error ? error.message : String(error)]);
      await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }
}

/** Slow when every reason is a wait that was too long, else a problem. */
function note(tally: Tally, what: string, reasons: readonly string[]): void {
  const slow = reasons.length > 0 && reasons.every((reason) => WAITED.test(reason));
  (slow ? tally.slow : tally.problems).push(`${what}: ${reasons.join('; ')}`);
}

/** A client without a record that grows. */
const fresh = (http: HttpClient): HttpClient => http.with({ recorder: new Recorder() });

/** Publishes a few events at a time, and compacts now and then. `latest` is the last acknowledged id. */
function publish(tally: Tally, control: HttpClient, state: { latest: number }, signal: AbortSignal): Promise<void> {
  let rounds = 0;
  return repeat(tally, 'publish', signal, async () => {
    rounds += 1;
    const { status, json } = await fresh(control).post('/events', { count: 1 + (rounds % 20) });
    // While it restarts, the agent says that it is down.
    if (status === 200) {
      state.latest = (json as { last_id: number }).last_id;
      count(tally, 'events published', 1 + (rounds % 20));
    } else if (status !== 409 && status !== 503) throw new Error(`answered ${status}`);
    if (rounds % 200 === 0) {
      await fresh(control).post('/compact');
      count(tally, 'compactions');
    }
    await delay(PAUSE_MS, undefined, { signal });
  });
}

/** Follows the stream, and comes back with its cursor. No id may be missing or come twice. */
function subscribe(tally: Tally, http: HttpClient, signal: AbortSignal): Promise<void> {
  let last: number | undefined;
  let connections = 0;
  return repeat(tally, 'subscribe', signal, async () => {
    let stream: EventStream;
    try {
      stream = await openEvents(fresh(http).with({ signal }), last === undefined ? {} : { after: last });
    } catch {
      await delay(PAUSE_MS, undefined, { signal });
      return;
    }
    connections += 1;
    count(tally, 'streams opened');
    if (stream.status === 410) last = undefined;
    try {
      for (let frames = 0; stream.status === 200 && frames < 500 * (1 + (connections % 5)); frames += 1) {
        const frame = await stream.next({ within: 3_600_000, for: 'an event' });
        const id = Number(frame.id);
        if (last !== undefined && id !== last + 1) tally.problems.push(`subscribe: event ${id} came after ${last}`);
        last = id;
        count(tally, 'events received');
      }
    } catch {
      // The agent restarts.
    } finally {
      await stream.close();
    }
  });
}

/** Stops and starts the agent, with either signal; nothing acknowledged may be gone. */
function restart(tally: Tally, control: HttpClient, state: { latest: number }, signal: AbortSignal): Promise<void> {
  let rounds = 0;
  return repeat(tally, 'restart', signal, async () => {
    await delay(20_000, undefined, { signal });
    rounds += 1;
    await fresh(control).post('/stop', { signal: rounds % 2 === 0 ? 'SIGTERM' : 'SIGKILL' });
    const acknowledged = state.latest;
    const { status, text } = await fresh(control).post('/start');
    if (status !== 204) throw new Error(`start is answered ${status} ${text}`);
    const { json } = await fresh(control).post('/events', { count: 1 });
    const { first_id: next = 0 } = (json ?? {}) as { first_id?: number };
    if (next <= acknowledged) throw new Error(`event ${next} was assigned after ${acknowledged} was acknowledged`);
    count(tally, 'restarts');
  });
}

/** Calls that leave the platform as it is: lists, resources, pings, changes of a name, and refused ones. */
function call(tally: Tally, http: HttpClient, signal: AbortSignal): Promise<void> {
  let rounds = 0;
  let id = '';
  return repeat(tally, 'call', signal, async () => {
    rounds += 1;
    const expect = async (
      wanted: number | readonly number[],
      method: string,
      path: string,
      body?: object,
    ): Promise<unknown> => {
      const answer = await fresh(http).request({ method, path, ...defined({ body }) });
      if (![wanted].flat().includes(answer.status))
        throw new Error(`${method} ${path} is answered ${answer.status} ${answer.text}`);
      count(tally, 'calls');
      return answer.json;
    };
    const list = (await expect(200, 'GET', '/devices?limit=20&expand=current_deployment')) as {
      data: { id: string }[];
    };
    id = list.data[rounds % list.data.length]?.id ?? id;
    await expect(200, 'GET', `/devices/${id}`);
    await expect(200, 'GET', '/deployments?limit=50&expand=release');
    // An archived device keeps its name.
    await expect([200, 409], 'PATCH', `/devices/${id}`, { name: `${id}-${rounds % 7}` });
    await expect(400, 'POST', '/devices', { name: '' });
    await expect(404, 'GET', '/devices/dvc_none');
    await delay(PAUSE_MS, undefined, { signal });
  });
}

/**
 * Runs a command of Muster to its end, which the signal asks for. Resolves with its exit code; rejects when the signal
 * aborted.
 */
async function command(words: readonly string[], signal: AbortSignal): Promise<number> {
  const running = muster(words);
  const stop = (): void => void running.child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    // An interrupted check still starts the agent again that it had stopped.
    const { code } = await running.ended;
    signal.throwIfAborted();
    return code ?? -1;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * The harness itself: its command, again and again, each time before a simulator that is as it was at first. `file`:
 * its report.
 */
function check(
  tally: Tally,
  words: readonly string[],
  { file, after, signal }: { file: string; after(): Promise<void>; signal: AbortSignal },
): Promise<void> {
  const what = words.slice(0, 2).join(' ');
  return repeat(tally, what, signal, async () => {
    const code = await command([...words, '--fast', '--report', `json=${file}`], signal);
    if (code === 0) count(tally, what);
    else if (code === 2) note(tally, `${what} ended with 2`, badIn(file));
    else tally.problems.push(`${what} ended with ${code}: ${badIn(file).join('; ')}`);
    await after();
  });
}

/** What a report found, a sentence for each. */
function badIn(file: string): string[] {
  const { checks } = JSON.parse(readFileSync(file, 'utf8')) as Report;
  return checks
    .filter(({ outcome }) => outcome === 'fail' || outcome === 'blocked')
    .map(
      ({ id, outcome, expected, actual, reason }) =>
        `${id} ${outcome}: ${reason ?? `${actual} (expected ${expected})`}`,
    );
}

/** A small fleet with two roll-outs, from start to end. */
function fleet(tally: Tally, folder: string, signal: AbortSignal): Promise<void> {
  const scenario = join(folder, 'soak.yaml');
  writeFileSync(scenario, SCENARIO);
  return repeat(tally, 'fleet', signal, async () => {
    const out = join(folder, 'fleet');
    const words = ['fleet', '--robots', '20', '--platform', 'embedded', '--scenario', scenario, '--out', out];
    const code = await command(words, signal);
    // 98: the machine is too busy for the figures. What was lost shows all the same.
    if (code === 0 || code === 98) count(tally, 'fleets of 20 robots');
    else {
      const file = join(out, 'result.json');
      const { outcome, incomplete_reasons: reasons } = JSON.parse(readFileSync(file, 'utf8')) as FleetResult;
      if (code === 2) note(tally, 'fleet ended with 2', reasons);
      else tally.problems.push(`fleet ended with ${code}, ${outcome}`);
    }
  });
}

const SCENARIO = `name: soak
description: A few robots and two roll-outs.
robots: 20
thresholds:
  - rollout.missed.count==0
phases:
  - do: ramp
    over: 5s
    measure: false
  - do: rollout
    share: 50%
    over: 5s
  - do: rollout
    share: 100%
    over: 10s
`;

/** With nothing else to do, a server that answers no more hangs. */
async function answersStill(tally: Tally, what: string, http: HttpClient, path: string): Promise<void> {
  try {
    const { status } = await fresh(http).get(path);
    if (status !== 200) tally.problems.push(`${what}: at the end GET ${path} is answered ${status}`);
  } catch (error) {
    tally.problems.push(`${what} hangs: ${(error as Error).message}`);
  }
}

/** A client for a server. */
const clientFor = (options: HttpClientOptions): HttpClient => new HttpClient({ ...options, timeoutMs: 60_000 });

const HELP = `npm run soak -- [mixed] [options]
  --minutes N   how long (30), or --hours N
  --every S     seconds between samples (5)
  --out FOLDER  samples, plot and summary (muster-soak)

Memory, descriptors, timers and disk use are sampled. After a third of the time as warm-up, a series grows when the 95 % interval of its
Theil-Sen slope (over medians of 20 blocks) lies above 0 and the gain is more than noise (10 %, and 5 MiB or 4 descriptors; 3 % and
1 MiB of what a full collection leaves of the heap), and its least value has risen too. RSS and PSS come in steps, so they must grow in each half of the time as well.
A wait that was too long is told and counted; it fails the run only when a server still does not answer once the load has ended.
`;

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
  const summary =
    `${took}: ${done}; ${growing.length} series grow, ${tally.problems.length} problems, ` +
    `${tally.slow.length} times too slow`;
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
    all.use(await Server.start(words, path, { MUSTER_SOAK: at('probes') }));
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
