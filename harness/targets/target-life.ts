/** Blames the check whose request ended the target, and restarts the target. */
import { errorOf, NoAnswer, NoAnswerInTime, Unreachable } from '../client/errors.ts';
import { type HttpClient, unlessAborted } from '../client/http.ts';
import { exchange } from '../client/raw.ts';
import { type Recorded, Recorder, type Snapshot } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { pollWithin, runningMs } from '../common/waiting.ts';
import type { TargetHooks } from '../runner/types.ts';
import { AttemptCutOff, Blocked, Standstill, TargetEnded, Violation } from '../runner/violation.ts';
import { AgentEnded } from './control/control.ts';

/** Milliseconds until Muster learns of a process's end. */
const END_MS = 1000;
/** Restarts of a target in a run; some targets end in every check. */
const MOST_STARTS = 12;
const ANSWER_MS = 2000;
const MOST_ASKED = 10;

export interface LifeOptions {
  ask<T>(signal: AbortSignal, question: (http: HttpClient) => Promise<T>): Promise<T>;
  endedByItself?: (() => string | undefined) | undefined;
  start?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  isStopped?(): boolean;
  patienceMs: number;
}

interface Running {
  id: string;
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  heldUpMs: number;
  leave?: () => void;
}

/** `isKnown`: Muster saw the process end; otherwise the target may have restarted, or a proxy refuses. */
interface Ending {
  how: string;
  isKnown: boolean;
}

interface CutOff {
  request: string;
  isSuspect: boolean;
  seen: Snapshot;
}

export class TargetLife {
  readonly #options: LifeOptions;
  readonly #running = new Set<Running>();
  /** Checks in progress at the target's end; each runs again without others, to find the cause. */
  readonly #cutOff = new Map<string, CutOff>();
  #suspected: string[] = [];
  #ending: Ending | undefined;
  #calm = Promise.withResolvers<void>();
  #turn: Promise<void> = Promise.resolve();
  #unexplained: Error | undefined;
  #last = 'any request';
  #starts = 0;
  readonly #metStill = new Set<string>();
  #hangs = false;
  #handedOver: string | undefined;
  #over: string | undefined;

  constructor(options: LifeOptions) {
    this.#options = options;
  }

  hooks(recorder: Recorder, signal: AbortSignal, own: TargetHooks = {}): Required<Omit<TargetHooks, 'standardError'>> {
    const run: Running = { id: '', recorder, signal, heldUpMs: 0 };
    return {
      prepare: async (requirement, id) => {
        run.id = id;
        run.heldUpMs = heldUpMs();
        await this.#begin(run);
        await own.prepare?.(requirement, id);
      },
      reconsider: async (error) =>
        (await this.#failed(run, error)) ??
        (await this.#stoodStill(run, error)) ??
        (await own.reconsider?.(error)) ??
        error,
      afterCheck: (error) => this.#end(run, error),
    };
  }

  async #begin(run: Running): Promise<void> {
    const cut = this.#cutOff.get(run.id);
    if (cut !== undefined) await this.#alone(run);
    else while (this.#cutOff.size > 0) await unlessAborted(this.#calm.promise, run.signal);
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

  #gone(over: string, run: Running, cut: CutOff | undefined): Error {
    if (cut?.isSuspect !== true || this.#ending === undefined) return new Blocked(over);
    const { how } = this.#ending;
    this.#ending = undefined;
    run.recorder.restore(cut.seen);
    const one = this.#suspected.length > 1 ? 'one of these, which were under way: ' : '';
    return new TargetEnded(`it ended after ${one}${this.#suspected.join(', ')}: ${how}`);
  }

  async #alone(run: Running): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#turn;
    this.#turn = promise;
    run.leave = resolve;
    await unlessAborted(before, run.signal);
    // Gives concurrent checks 5 s to end, because some may not notice the target's end.
    await wait('the other checks to end', () => this.#running.size === 0 || undefined, 5000, run.signal);
  }

  /** Without a known exit, blames the check only for an answer that breaks off again while no other check runs. */
  async #failed(run: Running, error: unknown): Promise<unknown> {
    if (error instanceof TargetEnded || error instanceof AttemptCutOff) return error;
    if (this.#over !== undefined) return (await this.#isGone(run.signal)) ? new Blocked(this.#over) : undefined;
    const isBroken = isBrokenOff(error, run.recorder);
    const wasRefused = latest(run.recorder).some((one) => !wasSent(one));
    if (error instanceof Violation && !isBroken && !wasRefused && !this.#options.endedByItself) return undefined;
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
      return new AttemptCutOff('the target ended while this check was under way');
    }
    if (isKnown || isBroken) return await this.#guilty(run, ending);
    // Blames no check, because a third party may have stopped the target, or a proxy refuses.
    await this.#startAgain(how, request, run.signal);
    return new Blocked(this.#over ?? `the target took no connections, after ${request}`);
  }

  /**
   * Reports at most one standstill for each check: of the target after a failed wait, or of Muster after an answer that
   * the target broke off or gave up.
   */
  async #stoodStill({ id, signal, recorder, heldUpMs: before }: Running, error: unknown): Promise<unknown> {
    if (this.#metStill.has(id)) return undefined;
    const held = Math.round(heldUpMs() - before);
    // Status 408: the target gave up a slow request (RFC 9110, section 15.5.9).
    const wasGivenUp = latest(recorder).some(({ status }) => status === 408);
    // Allows for a server that gives up a connection during a standstill of Muster of 2 s or more.
    if (held >= 2000 && (isBrokenOff(error, recorder) || wasGivenUp)) {
      this.#metStill.add(id);
      return new Standstill(`Muster was held up for ${held} ms, in which the target may have given it up`);
    }
    if (this.#hangs || !(error instanceof Error && IN_VAIN.test(error.message))) return undefined;
    // Counts the target as hung after 6 times its patience without an answer.
    const timeoutMs = 6 * this.#options.patienceMs;
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
    if (answered !== undefined || ms < 100) return undefined;
    this.#metStill.add(id);
    return new Standstill(`the target stood still: it answered nobody for ${ms} ms more`);
  }

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
   * Finds the request that ends the target: resends unanswered requests one by one, each after a fresh start.
   * Resolves with the number of candidates.
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

  /** Starts the next rerun. After the last one, returns the end of the target if no rerun has repeated it. */
  #end(run: Running, error: unknown): Error | undefined {
    this.#running.delete(run);
    this.#last = this.#lastOf(run);
    if (run.leave === undefined) return undefined;
    this.#cutOff.delete(run.id);
    run.leave();
    if (this.#cutOff.size > 0) return undefined;
    this.#calm.resolve();
    this.#calm = Promise.withResolvers();
    let unexplained: Error | undefined;
    if (this.#ending !== undefined && this.#suspected.length > 0) {
      const { how, isKnown } = this.#ending;
      const requests = this.#suspected.join(', ');
      const alone = 'not again when the check of each was run alone';
      unexplained = isKnown
        ? new TargetEnded(`${requests}: it ended beside these, and ${alone}: ${how}`)
        : new Blocked(`${requests}: the target broke off its answer and took no connections then, but ${alone}`);
    }
    this.#ending = undefined;
    this.#suspected = [];
    if (error === undefined) return unexplained;
    this.#unexplained = unexplained;
    return undefined;
  }

  async #endedMeanwhile(signal: AbortSignal): Promise<string | undefined> {
    if (this.#options.isStopped?.() === true || this.#endOfProcess() === undefined) return undefined;
    return (await this.#isGone(signal)) ? this.#endOfProcess() : undefined;
  }

  #endOfProcess(): string | undefined {
    const how = this.#options.endedByItself?.();
    return how === this.#handedOver ? undefined : how;
  }

  async #howEnded(signal: AbortSignal, { isBroken }: { isBroken: boolean }): Promise<Ending | undefined> {
    if (this.#options.isStopped?.() === true) return undefined;
    // Polls, because a dying process breaks off its answer before its port closes.
    const look = async () => (await this.#isGone(signal)) || undefined;
    if ((await wait('the target to go', look, isBroken ? END_MS / 4 : 0, signal)) === undefined) return undefined;
    const how = this.#options.endedByItself
      ? await wait('the end of the target to be known', () => this.#endOfProcess(), END_MS, signal)
      : undefined;
    return { how: how ?? 'it takes no connections any more', isKnown: how !== undefined };
  }

  #lastOf({ id, recorder }: Running): string {
    const reached = recorder.exchanges.filter(wasSent);
    const waiting = reached.findLast(({ status }) => status === undefined);
    const last = waiting ?? reached.at(-1);
    const step = recorder.snapshot().steps.findLast((one) => 'drive' in one || one.exchange === last);
    if (waiting === undefined && step !== undefined && 'drive' in step) return `"${step.drive.what}" of ${id}`;
    if (last === undefined) return this.#last;
    if (last.method === 'RAW') return `bytes that are no request of ${id}`;
    const path = last.url.replace(/^[a-z]+:\/\/[^/?]*/, '') || '/';
    return `${last.raw === true ? 'a raw ' : ''}${last.method} ${path} of ${id}`;
  }

  async #isGone(signal: AbortSignal): Promise<boolean> {
    return await this.#options.ask(signal, async (http) => {
      try {
        (await http.connect()).destroy();
        return false;
      } catch (error) {
        return error instanceof Unreachable && /connection refused|no such socket/.test(error.message);
      }
    });
  }

  /** Waits for a restart by itself, else starts the target. Resolves with true if the target serves. */
  async #startAgain(how: string, request: string, signal: AbortSignal): Promise<boolean> {
    const { start, patienceMs } = this.#options;
    if (!(await this.#isGone(signal))) return true;
    if (this.#over !== undefined) return false;
    if (this.#endOfProcess() === undefined) {
      const back = async () => ((await this.#isGone(signal)) ? undefined : true);
      // A target gets 2 s to restart by itself before Muster starts it.
      const withinMs = start === undefined ? patienceMs : 2000;
      if ((await wait('the target to come back', back, withinMs, signal)) === true) return true;
    }
    const ended = `the target has ended by itself, after ${request}: ${how}`;
    this.#starts += 1;
    if (start === undefined) this.#over = ended;
    else if (this.#starts > MOST_STARTS) this.#over = `${ended}; it is not started again, after ${MOST_STARTS} times`;
    else
      await start(signal).catch((error: unknown) => {
        this.#over = `${ended}; it could not be started again: ${errorOf(error).message}`;
      });
    return this.#over === undefined;
  }
}

const heldUpMs = (): number => performance.now() - runningMs();

const wait = <T>(what: string, look: () => Promise<T | undefined> | T | undefined, ms: number, signal: AbortSignal) =>
  pollWithin(what, look, { timeoutMs: ms, firstPauseMs: 20, signal });

const NOT_SENT = /cannot connect|connection refused|no such socket/;
const wasSent = ({ error = '' }: Recorded): boolean => !NOT_SENT.test(error);
const IN_VAIN = /no answer within \d+ ms|nothing (?:more of it for|of the kind within) \d+ ms|no answer in time/;

const latest = ({ exchanges }: Recorder): readonly Recorded[] => exchanges.slice(-MOST_ASKED);

const isBrokenOff = (error: unknown, recorder: Recorder): boolean =>
  (error instanceof NoAnswer && !(error instanceof NoAnswerInTime)) ||
  latest(recorder).some(({ error: why }) => why !== undefined && !NOT_SENT.test(why) && !/in time/.test(why));

async function askAgain(http: HttpClient, recorded: Recorded): Promise<void> {
  const { method, url, raw, request_headers, request_body } = recorded;
  const asking = http.with({ timeoutMs: ANSWER_MS, recorder: new Recorder(http.recorder.redactor) });
  if (raw === true) {
    await exchange(asking, [Buffer.from(request_body ?? '', 'latin1')], { within: ANSWER_MS });
    return;
  }
  const headers = Object.fromEntries(Object.entries(request_headers).filter(([, value]) => !value.includes('***')));
  const path = url.slice(new URL(url).origin.length);
  const answer = await asking.open({ method, path, absolute: true, headers, ...defined({ body: request_body }) });
  answer.abort();
}
