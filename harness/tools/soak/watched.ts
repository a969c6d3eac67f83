/**
 * `npm run soak -- watch`: correct servers and correct clients with `muster watch` between them, each in a process of
 * its own. Any finding is wrong, and nothing may grow.
 */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { type Running, reportIn } from '../../cli/testing/muster.ts';
import { called } from '../../cli/testing/watched.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { SseParser } from '../../client/sse-parser.ts';
import { readableDuration } from '../../common/durations.ts';
import type { ClientValues } from '../../contract/client.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { API_KEY, onPlatform, onSocket, platformWords, startServer } from '../fuzz/servers.ts';
import { PROBE, startMuster } from '../measure/process.ts';
import { judgeSeries, Sampler, tableOf } from '../measure/series.ts';
import { amount, toolOptions } from '../options.ts';
import { keepFollowing, keepPublishing, keepRestarting, Tally } from './mixed.ts';

const USAGE = `npm run soak -- watch [options]

A device that restarts, breaks connections off and keeps few events, with clients that follow, sleep until their \
cursor has expired, and read slowly; and a platform that answers 429 and 503, with clients that page and ping. All of \
it goes through muster watch. Any finding fails the run, and so does memory of a watch that grows.`;

/** Few events, so that a client that sleeps comes back with an expired cursor. */
const RETAIN = '300';
const SLEEP_MS = 25_000;
/** Events come twice as fast. */
const SLOW_MS = 200;
const BETWEEN_CALLS_MS = 500;

interface Watch {
  running: Running;
  report: string;
}

/** Resolves with whether nothing was found and nothing grows. */
export async function runWatched(words: readonly string[]): Promise<boolean> {
  const { minutes } = toolOptions(USAGE, { minutes: amount('how long', 30) }, { words });
  await using all = new AsyncDisposableStack();
  const { path } = all.use(scratch());
  const at = (name: string): string => join(path, name);
  mkdirSync(at('probes'));
  const env = { MUSTER_SOAK: at('probes') };
  const socket = ['--socket', at('a.sock'), '--control', at('c.sock'), '--dir', at('robot')];
  const faults = ['--fault', 'reset=2000..60000', '--retain', RETAIN, '--heartbeat', '1s'];
  const start = async (of: readonly string[]) => all.use(await startServer(of, path, env));
  await start(['device', ...socket, ...faults]);
  const platform = await start(platformWords(230, '--fault', '429=1@0.03', '--fault', '5xx@0.02'));
  const watch = async (api: string, place: readonly string[]): Promise<Watch & { ready: Record<string, unknown> }> => {
    const report = at(`${api}.json`);
    const loaded = { TMPDIR: path, NODE_OPTIONS: `--import=${PROBE}`, ...env };
    const running = all.use(startMuster(['watch', api, ...place, '--report', `json=${report}`], loaded));
    return { running, report, ready: await running.ready() };
  };
  const device = await watch('device', ['--socket', at('a.sock'), '--listen', at('w.sock')]);
  const calls = await watch('platform', ['--url', String(platform.ready['url']), '--listen', '0']);
  const sampler = new Sampler(at('probes'));
  const over = new AbortController();
  const tally = new Tally(over.signal);
  const work = [...onDevice(tally, at), ...onThePlatform(tally, String(calls.ready['url']))];
  const end = performance.now() + 60_000 * minutes;
  while (performance.now() < end) {
    sampler.process('watch device', device.running.child.pid ?? 0);
    sampler.process('watch platform', calls.running.child.pid ?? 0);
    await delay(Math.min(5000, Math.max(0, end - performance.now())));
  }
  over.abort();
  await Promise.all(work);
  return await endWatches({ device, calls }, tally, sampler, minutes);
}

const named = (options: HttpClientOptions, agent: string): HttpClient =>
  new HttpClient({ ...options, timeoutMs: 60_000, headers: { ...options.headers, 'user-agent': agent } });

/** Each client that follows has a name of its own, so that it is judged by itself. */
function onDevice(tally: Tally, at: (name: string) => string): Promise<void>[] {
  const near = onSocket(at('w.sock'), '/v0.2');
  const control = new HttpClient({ ...onSocket(at('c.sock')), timeoutMs: 60_000 });
  const values = { socket: at('w.sock'), deviceUrl: 'http://localhost/v0.2' };
  const state = { latest: 0 };
  return [
    keepPublishing(tally, control, state),
    keepRestarting(tally, control, state),
    ...['one', 'two', 'three'].map((name) => keepFollowing(tally, named(near, name))),
    keepFollowing(tally, named(near, 'sleeper'), SLEEP_MS),
    follower(tally, values),
    slowReader(tally, at('w.sock')),
    calling(tally, { job: 'current', ...values }),
  ];
}

/** It goes on whatever its server does. */
async function follower(tally: Tally, values: ClientValues): Promise<void> {
  const code = await called({ job: 'follow', ...values }, undefined, tally.signal);
  if (!tally.signal.aborted) tally.problems.push(`follow ended with ${code} before its time`);
}

/** Falls behind until the device ends the stream, and comes back with the last event that it has read. */
function slowReader(tally: Tally, socketPath: string): Promise<void> {
  let last: string | undefined;
  return tally.repeat('slow reader', async () => {
    const path = `/v0.2/events${last === undefined ? '' : `?after=${last}`}`;
    const headers = { accept: 'text/event-stream', 'user-agent': 'slow' };
    const asking = request({ socketPath, path, headers, agent: false, signal: tally.signal }).end();
    asking.on('error', () => {}); // Handled where it is awaited.
    try {
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      if (answer.statusCode === 410) last = undefined;
      const parser = new SseParser({
        frame: ({ id }) => {
          last = id ?? last;
        },
        comment: () => {},
      });
      for await (const piece of answer) {
        parser.push(piece as Buffer, performance.now());
        tally.count('pieces read slowly');
        await tally.pause(SLOW_MS);
      }
    } catch {
      // The device restarts, breaks connections off, and ends the stream of a slow reader.
    }
    await tally.pause(BETWEEN_CALLS_MS);
  });
}

/** Repeats a job of the reference client; its success depends on the faults of its server. */
const calling = (tally: Tally, values: ClientValues): Promise<void> =>
  tally.repeat(String(values.job), async () => {
    await called(values, undefined, tally.signal);
    tally.count(`jobs ${values.job}`);
    await tally.pause(BETWEEN_CALLS_MS);
  });

function onThePlatform(tally: Tally, url: string): Promise<void>[] {
  const values = { platformUrl: url, platformKey: API_KEY, platformVersion: NEWEST_VERSION };
  const http = named(onPlatform({ url }), 'finder');
  const pinging = tally.repeat('ping', async () => {
    const { json } = await http.get('/devices?limit=1');
    const { data } = (json ?? {}) as { data?: { id: string }[] };
    const device = data?.[0]?.id;
    if (device !== undefined) await called({ job: 'ping', device, ...values }, undefined, tally.signal);
    tally.count('jobs ping');
    await tally.pause(BETWEEN_CALLS_MS);
  });
  return [
    calling(tally, { job: 'list', collection: 'devices', ...values }),
    calling(tally, { job: 'list', collection: 'deployments', limit: '40', ...values }),
    pinging,
  ];
}

/** Rules of clients that must have sightings: a watch that recognises no client finds nothing. */
const DECIDED = ['client.delivery.cursor', 'client.expired.goes-on', 'client.pages.next'];

/** Ends both, and reports their findings. */
async function endWatches(
  watches: Record<string, Watch>,
  tally: Tally,
  sampler: Sampler,
  minutes: number,
): Promise<boolean> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const { problems } = tally;
  for (const what of ['restarts', 'cursors expired', 'pieces read slowly', 'jobs list', 'jobs ping'])
    if (!tally.done.has(what)) problems.push(`no ${what} in the whole time`);
  const sums = { connections: 0, exchanges: 0, events: 0 };
  const decided = new Set<string>();
  let isBusy = false;
  for (const [name, { running, report }] of Object.entries(watches)) {
    running.child.kill('SIGTERM');
    const { code, stderr } = await running.ended;
    if (code !== 0) problems.push(`the watch of ${name} ended with ${code}: ${stderr.slice(-2000)}`);
    const { checks, watched } = reportIn(report);
    for (const { id, outcome } of checks) if (outcome === 'pass') decided.add(id);
    for (const { id, outcome, expected, actual } of checks)
      if (outcome === 'fail' || outcome === 'warn') problems.push(`${id}: ${actual} (expected ${expected})`);
    for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += watched?.[key] ?? 0;
    for (const gap of watched?.gaps ?? []) {
      isBusy ||= gap.includes('judged in time');
      say(`· not judged, ${name}: ${gap}`);
    }
    say(`· ${name}: ${checks.filter(({ outcome }) => outcome === 'pass').length} rules decided`);
  }
  // A client that was dropped for lack of time may be anyone from then on.
  for (const rule of DECIDED)
    if (!decided.has(`${rule}.watched`)) (isBusy ? tally.slow : problems).push(`${rule} was never decided`);
  const judged = judgeSeries(sampler.series.values());
  process.stdout.write(tableOf(judged));
  for (const { subject, what, unit, samples } of judged.filter((series) => series.what === 'RSS'))
    say(
      `${subject}: ${what} ${samples[0]?.[1].toFixed(0)} ${unit} at first, ${samples.at(-1)?.[1].toFixed(0)} at last`,
    );
  const growing = judged.filter(({ slope }) => slope?.grows ?? false);
  for (const problem of new Set(problems)) say(`✗ ${problem}`);
  for (const slow of new Set(tally.slow)) say(`· ${slow}`);
  const done = [...tally.done].map(([what, times]) => `${times.toLocaleString('en')} ${what}`).join(', ');
  const seen = Object.entries(sums).map(([what, times]) => `${times.toLocaleString('en')} ${what}`);
  const found = `${problems.length} problems, ${growing.length} series grow`;
  say(`${readableDuration(60_000 * minutes)}: ${seen.join(', ')} (${done}); ${found}`);
  return problems.length === 0 && growing.length === 0;
}
