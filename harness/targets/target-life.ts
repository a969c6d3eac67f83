/**
 * Whether the target still serves, for all checks of it: one that ends is a finding of the check whose request ended
 * it, and is started again for the others where Muster can.
 */
import { NoAnswer, NoAnswerInTime, Unreachable } from '../client/errors.ts';
import type { HttpClient } from '../client/http.ts';
import { exchange } from '../client/raw.ts';
import { type Recorded, Recorder, type Snapshot } from '../client/recorder.ts';
import { pollWithin } from '../common/waiting.ts';
import type { TargetHooks } from '../runner/types.ts';
import { AskAgain, Blocked, TargetEnded } from '../runner/violation.ts';
import { AgentEnded } from './control/control.ts';

/** Between the end of a process and the news of it; and how long one that nobody watches takes no connection. */
const END_MS = 1000;
const LOOK_MS = 20;
/** One that ends on everything would be started again for every check. */
const MOST_STARTS = 12;
/** A suspect that was cut off is soon over; another check may not have noticed. */
const OTHERS_MS = 5000;
const ANSWER_MS = 2000;
const MOST_ASKED = 10;

export interface LifeOptions {
  /** Asks the target where it is now, by exchanges that are not part of any report. */
  ask<T>(signal: AbortSignal, question: (http: HttpClient) => Promise<T>): Promise<T>;
  /** How the target that Muster started ended by itself; undefined while it runs. Left out when it started none. */
  endedByItself?: (() => string | undefined) | undefined;
  /** Starts it again; left out where Muster cannot. */
  start?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** Whether a check has stopped it. */
  isStopped?(): boolean;
}

/** One check, while it runs. */
interface Running {
  id: string;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  /** It is run once more, with no other beside it: lets the next have its turn. */
  leave?: () => void;
}

/** What all checks of one target know of its life. */
export class TargetLife {
  readonly #options: LifeOptions;
  readonly #running = new Set<Running>();
  /** Checks that were under way when it ended: each is run again alone, to find the one that ends it. */
  readonly #suspects = new Set<string>();
  /** What these asked last. */
  #cutOff: string[] = [];
  #calm = Promise.withResolvers<void>();
  #turn: Promise<void> = Promise.resolve();
  /** An end that no check has been held to account for. */
  #unexplained: string | undefined;
  #last = 'any request';
  #starts = 0;
  /** Why nothing can be decided any more. */
  #over: string | undefined;

  constructor(options: LifeOptions) {
    this.#options = options;
  }

  /** The hooks of one check; `inner` are asked once it is known that the target serves. */
  hooks(recorder: Recorder, signal: AbortSignal, inner: TargetHooks = {}): Required<TargetHooks> {
    const run: Running = { id: '', recorder, signal };
    return {
      prepare: async (requirement, id) => {
        run.id = id;
        await this.#begin(run);
        await inner.prepare?.(requirement, id);
      },
      reconsider: async (error) => (await this.#failed(run, error)) ?? (await inner.reconsider?.(error)) ?? error,
      over: () => this.#end(run),
    };
  }

  async #begin(run: Running): Promise<void> {
    if (this.#suspects.has(run.id)) await this.#alone(run);
    else while (this.#suspects.size > 0) await within(this.#calm.promise, run.signal);
    if (this.#over !== undefined && (await this.#isGone(run.signal))) throw new Blocked(this.#over);
    this.#over = undefined;
    const how = await this.#howEnded(run.signal);
    if (how !== undefined) {
      if (this.#suspects.size === 0) this.#unexplained = `it ended after ${this.#last}: ${how}`;
      await this.#startAgain(how, this.#last, run.signal);
    }
    const { leave } = run;
    const actual = leave === undefined ? this.#unexplained : undefined;
    this.#running.add(run);
    if (actual === undefined) {
      if (this.#over !== undefined) throw new Blocked(this.#over);
      return;
    }
    this.#unexplained = undefined;
    throw new TargetEnded(actual);
  }

  /** Waits until it is the turn of this suspect, and no other check is under way. */
  async #alone(run: Running): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#turn;
    this.#turn = promise;
    run.leave = resolve;
    await within(before, run.signal);
    const look = () => this.#running.size === 0 || undefined;
    await pollWithin('the other checks to end', look, {
      timeoutMs: OTHERS_MS,
      firstPauseMs: LOOK_MS,
      signal: run.signal,
    });
  }

  /** What an error means if the target has ended; undefined when it serves. */
  async #failed(run: Running, error: unknown): Promise<unknown> {
    if (error instanceof TargetEnded || error instanceof AskAgain) return error;
    if (this.#over !== undefined) return (await this.#isGone(run.signal)) ? new Blocked(this.#over) : undefined;
    const isBroken = isBrokenOff(error, run.recorder);
    const how = error instanceof AgentEnded ? error.message : await this.#howEnded(run.signal, error, isBroken);
    if (how === undefined) return undefined;
    if (!isBroken && this.#options.start === undefined && this.#options.endedByItself === undefined) {
      // Somebody else may have stopped it: nothing that this check has asked.
      await this.#startAgain(how, this.#lastOf(run), run.signal);
      return new Blocked(this.#over);
    }
    const isAlone = run.leave !== undefined || (this.#suspects.size === 0 && this.#running.size === 1);
    if (!isAlone && this.#options.start !== undefined) {
      this.#suspects.add(run.id);
      this.#cutOff.push(this.#lastOf(run));
      this.#unexplained = `it ended beside these, and not again when the check of each was run alone: ${how}`;
      return new AskAgain('the target ended while this check was under way beside others');
    }
    return await this.#guilty(run, how);
  }

  /** The target ended while this check ran alone. */
  async #guilty(run: Running, how: string): Promise<Error> {
    this.#unexplained = undefined;
    const sent = await this.#pinned(run, how);
    const request = this.#lastOf(run);
    const asked = sent > 1 ? ` (or one of ${sent - 1} others that waited for an answer)` : '';
    await this.#startAgain(how, request, run.signal);
    return new TargetEnded(`it ended after ${request}${asked}: ${how}`);
  }

  /**
   * Leaves the request that ended it as the last exchange. Of several that waited for an answer each is asked alone on
   * a fresh start. How many are left that may have done it.
   */
  async #pinned(run: Running, how: string): Promise<number> {
    const { exchanges, ...kept } = run.recorder.snapshot();
    const reached = exchanges.filter(({ exchange }) => wasSent(exchange));
    const waiting = reached.filter(({ exchange }) => exchange.status === undefined).slice(-MOST_ASKED);
    const keep = (last: Snapshot['exchanges'][number] | undefined): void => {
      const until = last === undefined ? reached : reached.slice(0, reached.indexOf(last) + 1);
      run.recorder.restore({ ...kept, exchanges: until });
    };
    keep(waiting.at(-1));
    if (waiting.length < 2 || this.#options.start === undefined) return waiting.length;
    for (const one of waiting) {
      if (!(await this.#startAgain(how, this.#lastOf(run), run.signal))) break;
      await this.#options.ask(run.signal, (http) => askAgain(http, one.exchange)).catch(() => {});
      if ((await this.#howEnded(run.signal, one, true)) === undefined) continue;
      keep(one);
      return 1;
    }
    return waiting.length;
  }

  /** Lets the next suspect have its turn; the last one answers for an end that none of them has brought about again. */
  #end(run: Running): Error | undefined {
    this.#running.delete(run);
    this.#last = this.#lastOf(run);
    if (run.leave === undefined) return undefined;
    this.#suspects.delete(run.id);
    run.leave();
    if (this.#suspects.size > 0) return undefined;
    this.#calm.resolve();
    this.#calm = Promise.withResolvers();
    const [actual, cutOff] = [this.#unexplained, this.#cutOff];
    this.#unexplained = undefined;
    this.#cutOff = [];
    return actual === undefined ? undefined : new TargetEnded(`${cutOff.join(', ')}: ${actual}`);
  }

  /** In words; undefined as long as it serves. `error`: of a check just now, so that its end may not be known yet. */
  async #howEnded(signal: AbortSignal, error?: unknown, isBroken = false): Promise<string | undefined> {
    const { endedByItself, isStopped } = this.#options;
    if (isStopped?.() === true || (error === undefined && endedByItself?.() === undefined)) return undefined;
    const wait = { timeoutMs: END_MS, firstPauseMs: LOOK_MS, signal };
    // A process that ends breaks off an answer before it takes no more connections.
    const look = async () => (await this.#isGone(signal)) || undefined;
    const timeoutMs = isBroken ? END_MS / 4 : 0;
    if ((await pollWithin('the target to go', look, { ...wait, timeoutMs })) === undefined) return undefined;
    const known = async () => endedByItself?.() ?? ((await this.#isGone(signal)) ? undefined : BACK);
    const how = await pollWithin('the end of the target to be known', known, wait);
    return how === BACK ? undefined : (how ?? 'it takes no connections any more');
  }

  /** The last thing that a check asked or drove, in words; one that came to nothing was not the last. */
  #lastOf(run: Running): string {
    const request = requestOf(run.recorder);
    return request === undefined ? this.#last : `${request} of ${run.id}`;
  }

  async #isGone(signal: AbortSignal): Promise<boolean> {
    return await this.#options.ask(signal, (http) =>
      http.connect().then(
        (socket) => {
          socket.destroy();
          return false;
        },
        (error: unknown) => error instanceof Unreachable && GONE.test(error.message),
      ),
    );
  }

  /** Whether it serves again. */
  async #startAgain(how: string, request: string, signal: AbortSignal): Promise<boolean> {
    const { start } = this.#options;
    if (!(await this.#isGone(signal))) return true;
    const ended = `the target has ended by itself, after ${request}: ${how}`;
    this.#starts += 1;
    if (start === undefined) this.#over = ended;
    else if (this.#starts > MOST_STARTS) this.#over = `${ended}; it is not started again, after ${MOST_STARTS} times`;
    else
      await start(signal).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        this.#over = `${ended}; it could not be started again: ${why}`;
      });
    return this.#over === undefined;
  }
}

/** Of a request that was never sent, as no connection could be made. */
const NOT_SENT = /cannot connect|connection refused|no such socket/;
const wasSent = ({ error = '' }: Recorded): boolean => !NOT_SENT.test(error);
/** No process listens there. */
const GONE = /connection refused|no such socket/;
const BACK = Symbol('it takes connections');

/** Whether an answer was broken off just now: the error itself, or what the check made of it. */
const isBrokenOff = (error: unknown, { exchanges }: Recorder): boolean =>
  (error instanceof NoAnswer && !(error instanceof NoAnswerInTime)) ||
  exchanges
    .slice(-MOST_ASKED)
    .some(({ error: why }) => why !== undefined && !NOT_SENT.test(why) && !/in time/.test(why));

function requestOf(recorder: Recorder): string | undefined {
  const { steps } = recorder.snapshot();
  const reached = recorder.exchanges.filter(wasSent);
  const waiting = reached.findLast(({ status }) => status === undefined);
  const last = waiting ?? reached.at(-1);
  const step = steps.findLast((one) => 'drive' in one || one.exchange === last);
  if (waiting === undefined && step !== undefined && 'drive' in step) return `"${step.drive.what}"`;
  if (last === undefined) return undefined;
  return last.method === 'RAW'
    ? 'a raw request'
    : `${last.method} ${last.url.replace(/^[a-z]+:\/\/[^/?]*/, '') || '/'}`;
}

/** Sends it again, as far as it was recorded: what was masked is what the client sends anyway. */
async function askAgain(http: HttpClient, { method, url, request_headers, request_body }: Recorded): Promise<void> {
  const asking = http.with({ timeoutMs: ANSWER_MS, recorder: new Recorder(http.recorder.redactor) });
  if (method === 'RAW') {
    await exchange(asking, [Buffer.from(request_body ?? '', 'latin1')], { within: ANSWER_MS });
    return;
  }
  const headers = Object.fromEntries(Object.entries(request_headers).filter(([, value]) => !value.includes('***')));
  const path = url.slice(new URL(url).origin.length);
  const answer = await asking.open({
    method,
    path,
    absolute: true,
    headers,
    ...(request_body !== undefined && { body: request_body }),
  });
  answer.abort();
}

/** Throws the reason of the signal when that comes first. */
async function within(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
