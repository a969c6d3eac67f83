/** Runs simulators under load, samples their memory, and reports growth and losses. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { Running } from '../../cli/testing/muster.ts';
import { HttpClient, type HttpClientOptions } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import { type EventStream, openEvents } from '../../client/sse.ts';
import { type Server, startServer } from '../fuzz/servers.ts';
import { PROBE, startMuster } from '../measure/process.ts';
import { judgeSeries, Sampler, tableOf, verdictOf } from '../measure/series.ts';
import { amount, toolOptions } from '../options.ts';

const WAITED = /no (?:(?:whole )?answer|connection) within \d|timed out after \d/;

interface Scene {
  sample(sampler: Sampler): void;
  work(tally: Tally): Promise<void>[];
  least: readonly string[];
  end(tally: Tally): Promise<void>;
}

interface Stage {
  at(name: string): string;
  simulate(...words: readonly string[]): Promise<Server>;
  watch(...words: readonly string[]): Running;
}

type Say = (line: string) => void;

export const underLoad =
  (usage: string, setUp: (stage: Stage, say: Say) => Promise<Scene>) =>
  async (words: readonly string[], say: Say): Promise<readonly string[]> => {
    const { minutes } = toolOptions(usage, { minutes: amount('how long', 30) }, { words });
    await using all = new AsyncDisposableStack();
    const { path } = all.use(scratch());
    const at = (name: string): string => join(path, name);
    mkdirSync(at('probes'));
    const probed = { MUSTER_SOAK: at('probes') };
    const loaded = { TMPDIR: path, NODE_OPTIONS: `--import=${PROBE}`, ...probed };
    const { sample, work, least, end } = await setUp(
      {
        at,
        simulate: async (...of) => all.use(await startServer(of, path, probed)),
        watch: (...of) => all.use(startMuster(['watch', ...of], loaded)),
      },
      say,
    );
    const sampler = new Sampler(at('probes'));
    const over = new AbortController();
    const tally = new Tally(over.signal);
    const working = work(tally);
    const until = performance.now() + 60_000 * minutes;
    for (sample(sampler); performance.now() < until; sample(sampler))
      await delay(Math.min(5000, Math.max(0, until - performance.now())));
    over.abort();
    await Promise.all(working);
    await end(tally);
    for (const what of least) if (!tally.done.has(what)) tally.problems.push(`no ${what} in the whole time`);
    const judged = judgeSeries(sampler.series.values());
    say(tableOf(judged));
    for (const slow of new Set(tally.slow)) say(`· ${slow}`);
    say([...tally.done].map(([what, times]) => `${times.toLocaleString('en')} ${what}`).join(', '));
    const growing = judged.filter(({ slope }) => slope?.grows ?? false);
    return [
      ...new Set(tally.problems),
      ...growing.map((series) => `${series.subject} ${series.what} ${verdictOf(series)}`),
    ];
  };

/** Counts and problems of a soak test; `slow` collects timeouts, which a busy machine may cause. */
export class Tally {
  readonly done = new Map<string, number>();
  readonly problems: string[] = [];
  readonly slow: string[] = [];
  readonly signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  count(what: string, times = 1): void {
    this.done.set(what, (this.done.get(what) ?? 0) + times);
  }

  note(what: string, reasons: readonly string[]): void {
    const slow = reasons.length > 0 && reasons.every((reason) => WAITED.test(reason));
    (slow ? this.slow : this.problems).push(`${what}: ${reasons.join('; ')}`);
  }

  async pause(ms = 100): Promise<void> {
    await delay(ms, undefined, { signal: this.signal });
  }

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

/** Waits up to 60 s for an answer, because the machine is busy. */
export const client = (options: HttpClientOptions): HttpClient => new HttpClient({ ...options, timeoutMs: 60_000 });

/** Client for a single request, because a recorder keeps all exchanges in memory. */
export const withNewRecorder = (http: HttpClient): HttpClient => http.with({ recorder: new Recorder() });

export const keepPublishing = (tally: Tally, control: HttpClient, state: { latest: number }): Promise<void> =>
  tally.repeat('publish', async (round) => {
    const { status, json } = await withNewRecorder(control).post('/events', { count: 1 + (round % 20) });
    // The control API answers 409 and 503 while the agent restarts.
    if (status === 200) {
      state.latest = (json as { last_id: number }).last_id;
      tally.count('events published', 1 + (round % 20));
    } else if (status !== 409 && status !== 503) throw new Error(`answered ${status}`);
    if (round % 200 === 0) {
      await withNewRecorder(control).post('/compact');
      tally.count('compactions');
    }
    await tally.pause();
  });

export function keepFollowing(tally: Tally, http: HttpClient, pauseMs = 0): Promise<void> {
  let last: number | undefined;
  return tally.repeat('subscribe', async (round) => {
    let stream: EventStream;
    try {
      stream = await openEvents(
        withNewRecorder(http).with({ signal: tally.signal }),
        last === undefined ? {} : { after: last },
      );
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
      // The stream breaks when the agent restarts.
    } finally {
      await stream.close();
    }
    await tally.pause(pauseMs);
  });
}

export const keepRestarting = (tally: Tally, control: HttpClient, state: { latest: number }): Promise<void> =>
  tally.repeat('restart', async (round) => {
    await tally.pause(20_000);
    await withNewRecorder(control).post('/stop', { signal: round % 2 === 0 ? 'SIGTERM' : 'SIGKILL' });
    const acknowledged = state.latest;
    const { status, text } = await withNewRecorder(control).post('/start');
    if (status !== 204) throw new Error(`start is answered ${status} ${text}`);
    const { json } = await withNewRecorder(control).post('/events', { count: 1 });
    const { first_id: next = 0 } = (json ?? {}) as { first_id?: number };
    if (next <= acknowledged) throw new Error(`event ${next} was assigned after ${acknowledged} was acknowledged`);
    tally.count('restarts');
  });
