/** One situation: a client that was started for it, what server and client did on one time axis, and how long to wait for either. */
import { Changes, Patience } from '../../../harness/common/waiting.ts';
import type { ClientJob } from '../../../harness/contract/client.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { Violation } from '../../../harness/runner/violation.ts';
import type { ClientEars, ClientRun } from '../../../harness/targets/opened.ts';
import type { Client } from './context.ts';
import { type Heard, heardIn } from './heard.ts';
import type { Asked } from './stage.ts';
import { Timeline } from './timeline.ts';

/** An interpreter on a busy machine may take so many times the patience until its first request. */
export const START_PATIENCES = 6;
/** A client waits before it asks again, and longer each time: so many times the patience. */
export const AGAIN_PATIENCES = 3;
/** Whatever goes on, a wait ends after so many times what it may take without progress. */
const ENDLESS = 3;
/** A client that says and asks without end fills no memory. */
export const MOST_KEPT = 20_000;
/** A finding tells of a silence that is longer. */
const TOLD_SILENCE_MS = 1000;
/** Requests that a finding shows whole. */
const MOST_RECORDED = 8;

/** Jobs with which a client has asked for something, and those with which it never did: further situations show no more of those. */
const ACTIVITY = new Fact(() => new Map<ClientJob, 'active' | 'silent'>());

export abstract class Situation implements AsyncDisposable {
  readonly timeline: Timeline;
  protected readonly t: Client;
  protected readonly asked: Asked[] = [];
  protected readonly heard: Heard[] = [];
  readonly #job: ClientJob;
  readonly #changes = new Changes();
  readonly #onAbort = (): void => this.#changes.announce();
  #progress = 0;
  #progressAt = performance.now();
  #over = false;
  #run: ClientRun | undefined;
  /** Milliseconds from the start of the client to its first request. */
  #startMs = 0;
  readonly #startedAt = performance.now();

  protected constructor(t: Client, job: ClientJob) {
    this.t = t;
    this.timeline = new Timeline(t.recorder.axis);
    this.#job = job;
    t.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Whether this client has asked for nothing at all with this job, in the whole time that an earlier situation gave it. */
  static isSilent(t: Client, job: ClientJob): boolean {
    return t.session.get(ACTIVITY).get(job) === 'silent';
  }

  /** `folder`: the one that the variables name paths in. */
  protected start(variables: Readonly<Record<string, string>>, folder?: string): void {
    this.timeline.starts(`starts the client with the job ${this.#job}`);
    const ears: ClientEars = {
      line: (text) => {
        this.printed(text);
        const heard = heardIn(text);
        if (heard !== undefined) this.keepLine(heard);
        this.announce();
      },
      ended: () => {
        this.#over = true;
        this.timeline.ended(this.#run?.how?.split(';')[0] ?? 'ends');
        this.announce();
      },
    };
    this.#run = this.t.start({ variables, folder }, ears);
  }

  /** Called with each line of its standard output. */
  protected printed(line: string): void {
    this.timeline.printed(line);
  }

  /** Keeps a line of the contract. */
  protected keepLine(heard: Heard): void {
    if (this.heard.length < MOST_KEPT) this.heard.push(heard);
  }

  /** Keeps a request. False when there are too many. */
  protected keep(asked: Asked): boolean {
    this.t.session.get(ACTIVITY).set(this.#job, 'active');
    if (this.asked.length === 0) this.#startMs = performance.now() - this.#startedAt;
    if (this.asked.length >= MOST_KEPT) return false;
    this.asked.push(asked);
    return true;
  }

  /** To be called when the client has asked for nothing in all its time. */
  protected neverAsked(): void {
    const activity = this.t.session.get(ACTIVITY);
    if (activity.get(this.#job) !== 'active') activity.set(this.#job, 'silent');
  }

  /** Wakes the checks that wait for a change. */
  protected announce(): void {
    this.#progress += 1;
    this.#progressAt = performance.now();
    this.#changes.announce();
  }

  /** How long to wait without a sign of progress: longer for a client that was slow to start. */
  get patienceMs(): number {
    return Math.max(this.t.patienceMs, 2 * this.#startMs);
  }

  /** Requests so far. */
  get requests(): readonly Asked[] {
    return this.asked;
  }

  /** Whether the client has ended by itself. */
  get over(): boolean {
    return this.#over;
  }

  /** The exit code of a client that has ended. */
  get code(): number | undefined {
    return this.#run?.code;
  }

  /** The end of its standard error. */
  get complaints(): string {
    return this.#run?.diagnostics ?? '';
  }

  /** What `look` finds; undefined when the client has ended, or nothing has happened for `withinMs`. */
  async until<T>(
    look: () => T | undefined,
    withinMs = this.patienceMs,
    atMostMs = ENDLESS * withinMs,
  ): Promise<T | undefined> {
    const patience = new Patience(withinMs, atMostMs);
    for (;;) {
      this.t.signal.throwIfAborted();
      const found = look();
      if (found !== undefined || this.#over || patience.leftMs <= 0) return found;
      const seen = this.#progress;
      await this.#changes.next(patience.leftMs);
      if (this.#progress !== seen) patience.renew();
    }
  }

  /** What the client does now, in words. */
  get state(): string {
    if (this.#over) return `the client ${this.#run?.how ?? 'has ended'}`;
    return 'the client runs, and did nothing more';
  }

  violation({ expected, actual }: { expected: string; actual: string }): Violation {
    const silentMs = performance.now() - this.#progressAt;
    if (!this.#over && silentMs > TOLD_SILENCE_MS) this.timeline.silence(silentMs);
    return new Violation({ expected, actual, counterexample: this.timeline.text });
  }

  /** As `must` of a check, with the time axis. */
  must(holds: unknown, finding: { expected: string; actual: string }): asserts holds {
    if (!holds) throw this.violation(finding);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.t.signal.removeEventListener('abort', this.#onAbort);
    this.timeline.close();
    for (const asked of this.asked.slice(-MOST_RECORDED)) this.#record(asked);
    await this.#run?.stop();
  }

  #record({ method, path, query, headers, body, status, sent, at, endedAt }: Asked): void {
    const exchange = {
      method,
      url: `${path}${query.size === 0 ? '' : `?${query}`}`,
      request_headers: { ...headers },
      ...(body === '' ? {} : { request_body: body }),
      ...(status === undefined ? { error: 'not answered' } : { status }),
      ...(sent === '' ? {} : { response_body: sent }),
      duration_ms: Math.round((endedAt ?? performance.now()) - at),
      curl: '',
    };
    this.t.recorder.add(exchange, { isOnAxis: true });
  }
}
