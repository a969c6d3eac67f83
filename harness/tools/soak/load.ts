/** What a soak does to the simulators, over and over, until its signal aborts. Each kind of work counts what it did and what went wrong. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { type EventStream, openEvents } from '../../client/sse.ts';
import { defined } from '../../common/defined.ts';
import type { Report } from '../../runner/types.ts';

/** What the work did, by name, what it found wrong, and what took longer than it waits, which a busy machine explains. */
export interface Tally {
  done: Map<string, number>;
  problems: string[];
  slow: string[];
}

/** How the client says that it waited in vain; checks and fleets pass it on. */
const WAITED = /no (?:(?:whole )?answer|connection) within \d|timed out after \d/;

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const PAUSE_MS = 100;

export const count = ({ done }: Tally, what: string, times = 1): void =>
  void done.set(what, (done.get(what) ?? 0) + times);

/** Repeats the work until the signal aborts; what it throws is a problem, or slow, and it goes on after a pause. */
export async function repeat(
  tally: Tally,
  what: string,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
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
export function publish(
  tally: Tally,
  control: HttpClient,
  state: { latest: number },
  signal: AbortSignal,
): Promise<void> {
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
export function subscribe(tally: Tally, http: HttpClient, signal: AbortSignal): Promise<void> {
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
export function restart(
  tally: Tally,
  control: HttpClient,
  state: { latest: number },
  signal: AbortSignal,
): Promise<void> {
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
export function call(tally: Tally, http: HttpClient, signal: AbortSignal): Promise<void> {
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

/** Runs a command of Muster to its end, which the signal asks for. Resolves with its exit code; rejects when the signal aborted. */
export async function command(words: readonly string[], env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number> {
  const child = spawn(process.execPath, [CLI, ...words], { stdio: 'ignore', env: { ...process.env, ...env } });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    // An interrupted check still starts the agent again that it had stopped.
    const [code] = (await once(child, 'exit')) as [number | null];
    signal.throwIfAborted();
    return code ?? -1;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The harness itself: its command, again and again, each time before a simulator that is as it was at first. `file`: its report. */
export function check(
  tally: Tally,
  words: readonly string[],
  { file, after, signal }: { file: string; after(): Promise<void>; signal: AbortSignal },
): Promise<void> {
  const what = words.slice(0, 2).join(' ');
  return repeat(tally, what, signal, async () => {
    const code = await command([...words, '--fast', '--report', `json=${file}`], { NO_COLOR: '1' }, signal);
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
export function fleet(tally: Tally, folder: string, signal: AbortSignal): Promise<void> {
  const scenario = join(folder, 'soak.yaml');
  writeFileSync(scenario, SCENARIO);
  return repeat(tally, 'fleet', signal, async () => {
    const out = join(folder, 'fleet');
    const code = await command(
      ['fleet', '--robots', '20', '--platform', 'embedded', '--scenario', scenario, '--out', out],
      {},
      signal,
    );
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
export async function answersStill(tally: Tally, what: string, http: HttpClient, path: string): Promise<void> {
  try {
    const { status } = await fresh(http).get(path);
    if (status !== 200) tally.problems.push(`${what}: at the end GET ${path} is answered ${status}`);
  } catch (error) {
    tally.problems.push(`${what} hangs: ${(error as Error).message}`);
  }
}

/** A client for a server. */
export const clientFor = (options: HttpClientOptions): HttpClient => new HttpClient({ ...options, timeoutMs: 60_000 });
