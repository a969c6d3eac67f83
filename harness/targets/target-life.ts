/**
 * Whether the target still serves, for all checks of it: one that ends is a finding of the check whose request ended
 * it, and is started again for the others where Muster can.
 */
import { NoAnswer, NoAnswerInTime, Unreachable } from '../client/errors.ts';
import type { HttpClient } from '../client/http.ts';
import { exchange } from '../client/raw.ts';
import { type Recorded, Recorder, type Snapshot } from '../client/recorder.ts';
import { pollWithin, runningMs } from '../common/waiting.ts';
import type { TargetHooks } from '../runner/types.ts';
import { AskAgain, Blocked, StoodStill, TargetEnded, Violation } from '../runner/violation.ts';
import { AgentEnded } from './control/control.ts';

/** Between the end of a process and the news of it. */
const END_MS = 1000;
const LOOK_MS = 20;
/** One that ends on everything would be started again for every check. */
const MOST_STARTS = 12;
/** A suspect that was cut off is soon over; another check may not have noticed. */
const OTHERS_MS = 5000;
/** How long Muster waits for what comes back by itself before it starts it. */
const BACK_MS = 2000;
const ANSWER_MS = 2000;
const MOST_ASKED = 10;
/** A target that takes longer for the plainest answer, just when a wait was in vain, may have stood still. */
const STILL_MS = 100;
/** A server may give up a connection on which nothing comes for a few seconds, as when Muster itself was stopped. */
const HELD_UP_MS = 2000;
/** Patiences until it is taken to hang: a laptop sleeps for longer than one. */
const STILL_PATIENCES = 6;

export interface LifeOptions {
  /** Asks the target where it is now, by exchanges that are not part of any report. */
  ask<T>(signal: AbortSignal, question: (http: HttpClient) => Promise<T>): Promise<T>;
  /** How the target that Muster started ended by itself; undefined while it runs. Left out when it started none. */
  endedByItself?: (() => string | undefined) | undefined;
  /** Starts it again; left out where Muster cannot. */
  start?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** Whether a check has stopped it. */
  isStopped?(): boolean;
  /** How long one that Muster cannot start takes no connection, milliseconds, until it is taken to be gone for good. */
  patienceMs: number;
}

/** One check, while it runs. */
interface Running {
  id: string;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  /** How long Muster had been held up when it began, milliseconds. */
  heldUpMs: number;
  /** It is run once more, with no other beside it: lets the next have its turn. */
  leave?: () => void;
}

/** `isKnown`: its process has ended. Else it may have started anew by itself, or what is before it may refuse. */
interface Ending {
  how: string;
  isKnown: boolean;
}

/** A check that was under way when the target ended. */
interface CutOff {
  /** What it had asked last. */
  request: string;
  /** It may have ended the target; else it was only refused a connection. */
  isSuspect: boolean;
  seen: Snapshot;
}

/** What all checks of one target know of its life. */
export class TargetLife {
  readonly #options: LifeOptions;
  readonly #running = new Set<Running>();
  /** Checks that were under way when it ended: each is run again alone, to find the one that ends it. */
  readonly #cutOff = new Map<string, CutOff>();
  /** Those of them that may have ended it, also once they have been run again. */
  #suspected: string[] = [];
  /** The end to which they may lead; undefined as soon as a check has been held to account for it. */
  #ending: Ending | undefined;
  #calm = Promise.withResolvers<void>();
  #turn: Promise<void> = Promise.resolve();
  /** For the next check: an end that no check has been held to account for. */
  #unexplained: Error | undefined;
  #last = 'any request';
  #starts = 0;
  /** Checks that were in vain because it stood still. */
  readonly #metStill = new Set<string>();
  /** It hangs, and does not only stand still. */
  #hangs = false;
  /** How the process ended that has left the target to another one, which serves. */
  #handedOver: string | undefined;
  /** Why nothing can be decided any more. */
  #over: string | undefined;

  constructor(options: LifeOptions) {
    this.#options = options;
  }

  /** The hooks of one check; `inner` are asked once it is known that the target serves. */
  hooks(recorder: Recorder, signal: AbortSignal, inner: TargetHooks = {}): Required<Omit<TargetHooks, 'wrote'>> {
    const run: Running = { id: '', recorder, signal, heldUpMs: 0 };
    return {
      prepare: async (requirement, id) => {
        run.id = id;
        run.heldUpMs = heldUpMs();
        await this.#begin(run);
        await inner.prepare?.(requirement, id);
      },
      reconsider: async (error) =>
        (await this.#failed(run, error)) ??
        (await this.#stoodStill(run, error)) ??
        (await inner.reconsider?.(error)) ??
        error,
      over: (error) => this.#end(run, error),
    };
  }

  async #begin(run: Running): Promise<void> {
    const cut = this.#cutOff.get(run.id);
    if (cut !== undefined) await this.#alone(run);
    else while (this.#cutOff.size > 0) await within(this.#calm.promise, run.signal);
    if (this.#over !== undefined && (await this.#isGone(run.signal))) throw this.#gone(this.#over, run, cut);
    this.#over = undefined;
    const ended = cut === undefined ? await this.#endedMeanwhile(run.signal) : this.#ending?.how;
    const request = cut?.request ?? this.#last;
    if (ended !== undefined) {
      if (cut === undefined) this.#unexplained = new TargetEnded(`it ended after ${request}: ${ended}`);
      await this.#startAgain(ended, request, run.signal);
    }
    this.#running.add(run);
    const unexplained = cut === undefined ? this.#unexplained : undefined;
    if (unexplained !== undefined) this.#unexplained = undefined;
    if (unexplained !== undefined) throw unexplained;
    if (this.#over !== undefined) throw this.#gone(this.#over, run, cut);
    this.#handedOver = this.#options.endedByItself?.();
  }

  /** What becomes of a check when the target does not come back: one that may have ended it is held to account. */
  #gone(over: string, run: Running, cut: CutOff | undefined): Error {
    if (cut?.isSuspect !== true || this.#ending === undefined) return new Blocked(over);
    const { how } = this.#ending;
    this.#ending = undefined;
    run.recorder.restore(cut.seen);
    const one = this.#suspected.length > 1 ? 'one of these, which were under way: ' : '';
    return new TargetEnded(`it ended after ${one}${this.#suspected.join(', ')}: ${how}`);
  }

  /** Waits until it is the turn of this check, and no other is under way. */
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

  /**
   * What an error means if the target has ended; undefined when it serves. Where no process is known to have ended, a
   * check is held to account only when the target breaks off its answer once more, with no other check beside it.
   */
  async #failed(run: Running, error: unknown): Promise<unknown> {
    if (error instanceof TargetEnded || error instanceof AskAgain) return error;
    if (this.#over !== undefined) return (await this.#isGone(run.signal)) ? new Blocked(this.#over) : undefined;
    const isBroken = isBrokenOff(error, run.recorder);
    // What was answered in whole stands.
    if (error instanceof Violation && !isBroken && !wasRefused(run.recorder) && !this.#isWatched) return undefined;
    const ending =
      error instanceof AgentEnded
        ? { how: error.message, isKnown: true }
        : await this.#howEnded(run.signal, { isBroken });
    if (ending === undefined) return undefined;
    const { how, isKnown } = ending;
    const request = this.#lastOf(run);
    const isAlone = this.#cutOff.size === 0 && this.#running.size === 1;
    if (run.leave === undefined && !(isKnown && isAlone)) {
      const isSuspect = isKnown || isBroken;
      this.#cutOff.set(run.id, { request, isSuspect, seen: run.recorder.snapshot() });
      if (isSuspect) this.#suspected.push(request);
      this.#ending = isKnown ? ending : (this.#ending ?? ending);
      return new AskAgain('the target ended while this check was under way');
    }
    if (isKnown || isBroken) return await this.#guilty(run, ending);
    // Somebody else may have stopped it, or refuses: nothing that this check has asked.
    await this.#startAgain(how, request, run.signal);
    return new Blocked(this.#over ?? `the target took no connections, after ${request}`);
  }

  /**
   * Where a wait was in vain: whether the target answers nobody, and goes on by itself. Where an answer was broken off,
   * or is 408: whether Muster was held up itself. Either was stopped, or its machine slept, which says nothing about
   * what was asked. Once for each check.
   */
  async #stoodStill({ id, signal, recorder, heldUpMs: before }: Running, error: unknown): Promise<unknown> {
    if (this.#metStill.has(id)) return undefined;
    const held = Math.round(heldUpMs() - before);
    if (held >= HELD_UP_MS && (isBrokenOff(error, recorder) || wasGivenUp(recorder))) {
      this.#metStill.add(id);
      return new StoodStill(`Muster was held up for ${held} ms, in which the target may have given it up`);
    }
    if (this.#hangs || !(error instanceof Error && IN_VAIN.test(error.message))) return undefined;
    const timeoutMs = STILL_PATIENCES * this.#options.patienceMs;
    const since = runningMs();
    const answered = await this.#options.ask(signal, (http) =>
      http.open({ path: '/', timeoutMs }).then(
        (answer) => answer.abort(),
        (failure: unknown) => {
          this.#hangs ||= failure instanceof NoAnswerInTime;
          return failure;
        },
      ),
    );
    const ms = Math.round(runningMs() - since);
    if (answered !== undefined || ms < STILL_MS) return undefined;
    this.#metStill.add(id);
    return new StoodStill(`the target stood still: it answered nobody for ${ms} ms more`);
  }

  /** The target ended while this check ran alone. */
  async #guilty(run: Running, { how, isKnown }: Ending): Promise<Error> {
    this.#ending = undefined;
    const sent = await this.#pinned(run, how);
    const request = this.#lastOf(run);
    const asked = sent > 1 ? ` (or one of ${sent - 1} others that waited for an answer)` : '';
    const isBack = await this.#startAgain(how, request, run.signal);
    const seen = isKnown || !isBack ? how : 'it took no connections then, as when this check was run before';
    return new TargetEnded(`it ended after ${request}${asked}: ${seen}`);
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
    if (waiting.length < 2) return waiting.length;
    for (const one of waiting) {
      if (!(await this.#startAgain(how, this.#lastOf(run), run.signal))) break;
      await this.#options.ask(run.signal, (http) => askAgain(http, one.exchange)).catch(() => {});
      if ((await this.#howEnded(run.signal, { isBroken: true })) === undefined) continue;
      keep(one);
      return 1;
    }
    return waiting.length;
  }

  /**
   * Lets the next that was cut off have its turn; the last one answers for an end that none of them has brought about
   * again, unless it has failed by itself.
   */
  #end(run: Running, error: unknown): Error | undefined {
    this.#running.delete(run);
    this.#last = this.#lastOf(run);
    if (run.leave === undefined) return undefined;
    this.#cutOff.delete(run.id);
    run.leave();
    if (this.#cutOff.size > 0) return undefined;
    this.#calm.resolve();
    this.#calm = Promise.withResolvers();
    const unexplained = this.#notAgain();
    this.#ending = undefined;
    this.#suspected = [];
    if (error === undefined) return unexplained;
    this.#unexplained = unexplained;
    return undefined;
  }

  /** Undefined where a check was held to account, or nothing was broken off. */
  #notAgain(): Error | undefined {
    if (this.#ending === undefined || this.#suspected.length === 0) return undefined;
    const { how, isKnown } = this.#ending;
    const requests = this.#suspected.join(', ');
    const alone = 'not again when the check of each was run alone';
    return isKnown
      ? new TargetEnded(`${requests}: it ended beside these, and ${alone}: ${how}`)
      : new Blocked(`${requests}: the target broke off its answer and took no connections then, but ${alone}`);
  }

  /** How it ended between two checks, in words; undefined unless Muster knows. */
  async #endedMeanwhile(signal: AbortSignal): Promise<string | undefined> {
    if (this.#options.isStopped?.() === true || this.#endOfProcess() === undefined) return undefined;
    return (await this.#isGone(signal)) ? this.#endOfProcess() : undefined;
  }

  /** Whether the end of its process would be known. */
  get #isWatched(): boolean {
    return this.#options.endedByItself !== undefined;
  }

  #endOfProcess(): string | undefined {
    const how = this.#options.endedByItself?.();
    return how === this.#handedOver ? undefined : how;
  }

  /** How it ended just now; undefined as long as it serves. */
  async #howEnded(signal: AbortSignal, { isBroken }: { isBroken: boolean }): Promise<Ending | undefined> {
    if (this.#options.isStopped?.() === true) return undefined;
    const wait = { firstPauseMs: LOOK_MS, signal };
    // A process that ends breaks off an answer before it takes no more connections.
    const look = async () => (await this.#isGone(signal)) || undefined;
    const timeoutMs = isBroken ? END_MS / 4 : 0;
    if ((await pollWithin('the target to go', look, { ...wait, timeoutMs })) === undefined) return undefined;
    const known = () => this.#endOfProcess();
    const how = this.#isWatched
      ? await pollWithin('the end of the target to be known', known, { ...wait, timeoutMs: END_MS })
      : undefined;
    return { how: how ?? 'it takes no connections any more', isKnown: how !== undefined };
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

  /** Whether it serves again: by itself, or as Muster has started it. */
  async #startAgain(how: string, request: string, signal: AbortSignal): Promise<boolean> {
    const { start, patienceMs } = this.#options;
    if (!(await this.#isGone(signal))) return true;
    if (this.#over !== undefined) return false;
    if (this.#endOfProcess() === undefined) {
      const back = async () => ((await this.#isGone(signal)) ? undefined : true);
      const timeoutMs = start === undefined ? patienceMs : BACK_MS;
      const wait = { timeoutMs, firstPauseMs: LOOK_MS, signal };
      if ((await pollWithin('the target to come back', back, wait)) === true) return true;
    }
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

/** How long this process has been held up since it began, milliseconds. */
const heldUpMs = (): number => performance.now() - runningMs();

/** Of a request that was never sent, as no connection could be made. */
const NOT_SENT = /cannot connect|connection refused|no such socket/;
const wasSent = ({ error = '' }: Recorded): boolean => !NOT_SENT.test(error);
/** What is said of a wait for an answer, the rest of one, or an event. */
const IN_VAIN = /no answer within \d+ ms|nothing (?:more of it for|of the kind within) \d+ ms|no answer in time/;
/** No process listens there. */
const GONE = /connection refused|no such socket/;

/** Whether an answer was broken off just now: the error itself, or what the check made of it. */
const isBrokenOff = (error: unknown, { exchanges }: Recorder): boolean =>
  (error instanceof NoAnswer && !(error instanceof NoAnswerInTime)) ||
  exchanges
    .slice(-MOST_ASKED)
    .some(({ error: why }) => why !== undefined && !NOT_SENT.test(why) && !/in time/.test(why));

/** Whether the target says of one of the last requests that it did not come in time (RFC 9110, section 15.5.9). */
const wasGivenUp = ({ exchanges }: Recorder): boolean =>
  exchanges.slice(-MOST_ASKED).some(({ status }) => status === 408);

/** Whether a connection was refused to one of the last requests. */
const wasRefused = ({ exchanges }: Recorder): boolean => exchanges.slice(-MOST_ASKED).some((one) => !wasSent(one));

function requestOf(recorder: Recorder): string | undefined {
  const { steps } = recorder.snapshot();
  const reached = recorder.exchanges.filter(wasSent);
  const waiting = reached.findLast(({ status }) => status === undefined);
  const last = waiting ?? reached.at(-1);
  const step = steps.findLast((one) => 'drive' in one || one.exchange === last);
  if (waiting === undefined && step !== undefined && 'drive' in step) return `"${step.drive.what}"`;
  if (last === undefined) return undefined;
  return last.method === 'RAW'
    ? 'bytes that are no request'
    : `${last.raw === true ? 'a raw ' : ''}${last.method} ${last.url.replace(/^[a-z]+:\/\/[^/?]*/, '') || '/'}`;
}

/** Sends it again, as far as it was recorded: what was masked is what the client sends anyway. */
async function askAgain(http: HttpClient, recorded: Recorded): Promise<void> {
  const { method, url, raw, request_headers, request_body } = recorded;
  const asking = http.with({ timeoutMs: ANSWER_MS, recorder: new Recorder(http.recorder.redactor) });
  if (raw === true) {
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
