/** Soak test of `muster watch` between correct servers and clients: any finding or growth is a fault. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type Running, reportIn } from '../../cli/testing/muster.ts';
import { called } from '../../cli/testing/watched.ts';
import type { HttpClient, HttpClientOptions } from '../../client/http.ts';
import { SseParser } from '../../client/sse-parser.ts';
import type { ClientValues } from '../../contract/client.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { API_KEY, onPlatform, onSocket, platformWords } from '../fuzz/servers.ts';
import { client, keepFollowing, keepPublishing, keepRestarting, type Tally, underLoad } from './load.ts';

const USAGE = `npm run soak -- watch [options]

A device that restarts, breaks connections off and keeps few events, with clients that follow, sleep until their \
cursor has expired, and read slowly; and a platform that answers 429 and 503, with clients that page and ping. All of \
it goes through muster watch. Any finding fails the run, and so does memory of a watch that grows.`;

const BETWEEN_CALLS_MS = 500;

export const watch = {
  about: 'correct servers and clients with muster watch between them, 30 minutes long',
  run: underLoad(USAGE, async ({ at, simulate, watch: startWatch }, say) => {
    const socket = ['--socket', at('a.sock'), '--control', at('c.sock'), '--dir', at('robot')];
    // Few events, so that the cursor of a sleeping client expires.
    await simulate('device', ...socket, '--fault', 'reset=2000..60000', '--retain', '300', '--heartbeat', '1s');
    const platform = await simulate(...platformWords(230, '--fault', '429=1@0.03', '--fault', '5xx@0.02'));
    const reporting = (api: string) => ['--report', `json=${at(`${api}.json`)}`];
    const device = startWatch('device', '--socket', at('a.sock'), '--listen', at('w.sock'), ...reporting('device'));
    const url = String(platform.ready['url']);
    const calls = startWatch('platform', '--url', url, '--listen', '0', ...reporting('platform'));
    await device.ready();
    const { url: near } = await calls.ready<{ url: string }>();
    const watches = Object.entries({ device, platform: calls });
    return {
      sample(sampler) {
        for (const [api, { child }] of watches) sampler.process(`watch ${api}`, child.pid ?? 0);
      },
      work: (tally) => [...onDevice(tally, at), ...onThePlatform(tally, near)],
      least: ['restarts', 'cursors expired', 'pieces read slowly', 'jobs list', 'jobs ping'],
      async end(tally) {
        const decided = new Set<string>();
        let isBusy = false;
        for (const [api, running] of watches) {
          const lacks = await endWatch(running, at(`${api}.json`), decided, tally);
          isBusy ||= lacks.some((gap) => gap.includes('judged in time'));
          for (const gap of lacks) say(`· not judged, ${api}: ${gap}`);
        }
        // Rules that a watch decides only if it recognises clients; an undecided rule is a problem, unless the watch
        // was too busy to judge.
        for (const rule of ['client.delivery.cursor', 'client.expired.goes-on', 'client.pages.next'])
          if (!decided.has(`${rule}.watched`)) (isBusy ? tally.slow : tally.problems).push(`${rule} was never decided`);
      },
    };
  }),
};

async function endWatch(
  running: Running,
  report: string,
  decided: Set<string>,
  tally: Tally,
): Promise<readonly string[]> {
  const { code, stderr } = await running.stop();
  if (code !== 0) tally.problems.push(`a watch ended with ${code}: ${stderr.slice(-2000)}`);
  const { checks, watched } = reportIn(report);
  for (const { id, outcome, expected, actual } of checks) {
    if (outcome === 'pass') decided.add(id);
    if (outcome === 'fail' || outcome === 'warn') tally.problems.push(`${id}: ${actual} (expected ${expected})`);
  }
  for (const what of ['connections', 'exchanges', 'events'] as const) tally.count(what, watched?.[what] ?? 0);
  return watched?.gaps ?? [];
}

const named = (options: HttpClientOptions, agent: string): HttpClient =>
  client({ ...options, headers: { ...options.headers, 'user-agent': agent } });

/** Gives clients different `user-agent` headers, because the watch recognises clients by them. */
function onDevice(tally: Tally, at: (name: string) => string): Promise<void>[] {
  const near = onSocket(at('w.sock'), '/v0.2');
  const control = client(onSocket(at('c.sock')));
  const values = { socket: at('w.sock'), deviceUrl: 'http://localhost/v0.2' };
  const state = { latest: 0 };
  return [
    keepPublishing(tally, control, state),
    keepRestarting(tally, control, state),
    ...['one', 'two', 'three'].map((name) => keepFollowing(tally, named(near, name))),
    keepFollowing(tally, named(near, 'sleeper'), 25_000),
    called({ job: 'follow', ...values }, undefined, tally.signal).then((code) => {
      if (!tally.signal.aborted) tally.problems.push(`follow ended with ${code} before its time`);
    }),
    slowReader(tally, at('w.sock')),
    calling(tally, { job: 'current', ...values }),
  ];
}

/** Reads so slowly that the device ends the stream, then continues after the last event. */
function slowReader(tally: Tally, socketPath: string): Promise<void> {
  let last: string | undefined;
  return tally.repeat('slow reader', async () => {
    const path = `/v0.2/events${last === undefined ? '' : `?after=${last}`}`;
    const headers = { accept: 'text/event-stream', 'user-agent': 'slow' };
    const asking = request({ socketPath, path, headers, agent: false, signal: tally.signal }).end();
    asking.on('error', () => {}); // The await below handles the error.
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
        // The device publishes twice as often as this client reads.
        await tally.pause(200);
      }
    } catch {
      // The device restarts, breaks connections, and ends a slow reader's stream.
    }
    await tally.pause(BETWEEN_CALLS_MS);
  });
}

/** Ignores exit codes, because the server fails on purpose. */
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
