import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseObject } from '../../../harness/common/lenient.ts';
import { ownedFolder } from '../../../harness/common/owner.ts';
import { Changes, Patience } from '../../../harness/common/waiting.ts';
import {
  CLIENT_VARIABLES,
  type ClientJob,
  type ClientLine,
  type ClientPlace,
  clientLine,
} from '../../../harness/contract/client.ts';
import { type Deviation, Fact } from '../../../harness/runner/session.ts';
import { Blocked, TooLittleSeen, Violation } from '../../../harness/runner/violation.ts';
import type { ClientListener, RunningClient } from '../../../harness/targets/opened.ts';
import type { Client } from './check.ts';
import { type ClientRequest, ScriptedServer, type ServerListener, type ServerPlace } from './server.ts';
import { MOST_REFUSED, Repeats, type Storm, WATCHED_MS } from './storm.ts';
import { Timeline } from './timeline.ts';

/** The id of an event is text, because integers above 2^53 lose digits. */
export type PrintedLine =
  | { saw: 'event'; id: string; type: string; data: unknown }
  | Exclude<ClientLine, { saw: 'event' }>;

export function printedLineIn(text: string): PrintedLine | undefined {
  if (!text.trimStart().startsWith('{') || !clientLine.is(parseObject(text))) return undefined;
  const value = JSON.parse(text, withDigits) as ClientLine;
  return value.saw === 'event' ? { ...value, id: String(value.id) } : value;
}

function withDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const { source = '' } = context ?? {};
  return typeof value === 'number' && /^-?\d+$/.test(source) && String(value) !== source ? source : value;
}

/** Patiences for the first request, because an interpreter starts slowly on a busy machine. */
export const START_PATIENCES = 6;
/** Patiences for a repeated request, because a client pauses longer before each repetition. */
export const AGAIN_PATIENCES = 3;
/** Longest wait with progress, as a multiple of the wait without. */
const ENDLESS = 3;
/** Limit of requests and of printed lines in memory, because an endless client causes more. */
const MOST_KEPT = 20_000;
/** Milliseconds between the end of every wait and the check's time limit. */
const SPARE_MS = 1500;
const SHOWN_SILENCE_MS = 1000;
const MOST_RECORDED = 8;

/** Jobs in which the client has made a request (`active`) or none (`silent`); a silent job is not started again. */
const ACTIVITY = new Fact(() => new Map<ClientJob, 'active' | 'silent'>());

export async function startRun<Run extends AsyncDisposable>(run: Run, begin: (run: Run) => Promise<unknown>) {
  try {
    await begin(run);
    return run;
  } catch (error) {
    await run[Symbol.asyncDispose]();
    throw error;
  }
}

/** `Bearer` may be in any case (RFC 9110, section 11.1). */
export function expectBearer(run: ClientRun, { authorization }: ClientRequest['headers'], token: string): void {
  run.must(/^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] === token, {
    expected: 'Authorization: Bearer with the token of the discovery file',
    actual: authorization === undefined ? 'no Authorization' : 'another Authorization',
  });
}

export function expectNoCredentials(run: ClientRun, { authorization }: ClientRequest['headers']): void {
  run.must(authorization === undefined, { expected: 'no Authorization', actual: `Authorization: ${authorization}` });
}

export function expectPauses(run: ClientRun, storm: Storm, how: string): void {
  const expected = `at most ${MOST_REFUSED} requests in ${WATCHED_MS / 1000} s ${how}`;
  // Takes an endless client as hammering, even if its requests in the storm are too few to show a pace.
  const pace = storm.pace ?? (run.endless === undefined ? undefined : 'hammers');
  run.must(pace !== 'hammers', { expected, actual: run.endless ?? storm.summary });
  if (pace === 'unclear') throw new TooLittleSeen(storm.tooSlow);
}

interface Wait {
  run: ClientRun;
  seconds: number;
  since: ClientRequest;
  back: ClientRequest;
  what: string;
}

export async function expectWait(ask: () => Promise<Wait | undefined>): Promise<void> {
  // Maximum number of tries; a wait is tried again if this process saw its start or its end late.
  for (let tries = 0; tries < 3; tries += 1) {
    const wait = await ask();
    if (wait === undefined) return;
    const { seconds, since, back, what } = wait;
    const run: ClientRun = wait.run;
    // Longest delay of this process that allows a verdict, as a share of the wait.
    const mostMs = 0.25 * seconds * 1000;
    if (since.lateMs > mostMs) continue;
    const waitedMs = back.at - (since.endedAt ?? back.at);
    // Tolerance in milliseconds for clocks and timers.
    run.must(waitedMs >= seconds * 1000 - 150, {
      expected: `no request within ${seconds} s after ${what}`,
      actual: `the next one after ${(waitedMs / 1000).toFixed(2)} s`,
    });
    if (back.lateMs <= mostMs) return;
  }
  throw new TooLittleSeen('this machine was too slow for it: Muster itself was held up when the client asked again');
}

export const openElsewhere = (t: Client, on: Pick<ServerListener, 'track' | 'request'>): Promise<ScriptedServer> =>
  ScriptedServer.open({ host: '127.0.0.2' }, { ...on, changed: () => {} }).catch(() =>
    t.undecided('this machine has no other loopback address'),
  );

export abstract class ClientRun implements AsyncDisposable {
  readonly timeline: Timeline;
  protected readonly t: Client;
  readonly requests: ClientRequest[] = [];
  protected readonly lines: PrintedLine[] = [];
  readonly #job: ClientJob;
  readonly #repeats = new Repeats();
  readonly #changes = new Changes();
  readonly #onAbort = (): void => this.#changes.announce();
  /** Error of the code that answers requests; `until` throws it, so that it ends the check and not Muster. */
  #failure: unknown;
  #progress = 0;
  #progressAt = performance.now();
  #over = false;
  #client: RunningClient | undefined;
  #server: ScriptedServer | undefined;
  /** Stopped servers, whose ports stay taken while the client runs. */
  readonly #left: ScriptedServer[] = [];
  #folder: string | undefined;
  /** Milliseconds from the creation of the run to the client's first request. */
  #startMs = 0;
  /** Milliseconds of the latest wait that the check has asked of the client. */
  askedMs = 0;
  readonly #startedAt = performance.now();

  protected constructor(t: Client, job: ClientJob) {
    this.t = t;
    this.timeline = new Timeline(t.recorder.axis);
    this.#job = job;
    t.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  protected static refuseSilent(t: Client, job: ClientJob, reason: string): void {
    if (t.session.get(ACTIVITY).get(job) === 'silent') throw new Blocked(reason);
  }

  protected keepSecret(secret: string): void {
    this.timeline.hide(secret);
    this.t.recorder.redactor.add(secret);
  }

  protected abstract take(asked: ClientRequest): void | Promise<void>;

  protected async listen(at: ServerPlace = {}): Promise<ScriptedServer> {
    this.#server = await ScriptedServer.open(at, {
      track: (what) => this.timeline.request(what),
      request: (asked) => {
        void (async () => this.take(asked))().catch((error: unknown) => {
          this.#failure ??= error;
          this.announce();
        });
        this.announce();
      },
      changed: () => this.announce(),
    });
    return this.#server;
  }

  protected async listenAsDevice(place: ClientPlace, host?: string): Promise<Record<string, string>> {
    if (place !== 'url') this.#folder = ownedFolder('client');
    const socket = this.#path('agent.sock');
    const { url } = await this.listen(place === 'socket' ? { path: socket } : { host });
    if (place === 'discovery') return { [CLIENT_VARIABLES.discovery]: this.#path('agent.json') };
    return { [CLIENT_VARIABLES.deviceUrl]: url, ...(place === 'socket' && { [CLIENT_VARIABLES.socket]: socket }) };
  }

  #path(name: string): string {
    return join(this.#folder ?? '', name);
  }

  protected discoveryWith(token: string): string {
    return JSON.stringify({ port: this.server.place.port, token });
  }

  protected writeDiscoveryFile(text: string): void {
    const path = this.#path('agent.json');
    writeFileSync(path, text);
    // A container's users must read the file; its private folder limits access.
    chmodSync(path, 0o644);
  }

  protected get server(): ScriptedServer {
    return this.#server ?? this.t.blocked('the server of the run was never started');
  }

  protected async leaveServer(server: ScriptedServer): Promise<void> {
    this.#left.push(server);
    await server.leave();
  }

  protected start(variables: Readonly<Record<string, string>>): void {
    this.timeline.starts(`starts the client with the job ${this.#job}`);
    const listener: ClientListener = {
      line: (text) => {
        this.printed(text);
        const line = printedLineIn(text);
        if (line !== undefined) this.keepLine(line);
        this.announce();
      },
      complaint: (text) => this.complained(text),
      ended: () => {
        this.#over = true;
        this.timeline.ended(this.#client?.how?.split(';')[0] ?? 'ends');
        this.announce();
      },
    };
    this.#client = this.t.start({ variables, folder: this.#folder }, listener);
  }

  protected printed(line: string): void {
    this.timeline.printed(line);
  }

  protected complained(_line: string): void {}

  protected keepLine(line: PrintedLine): void {
    if (this.lines.length < MOST_KEPT) this.lines.push(line);
  }

  protected keep(asked: ClientRequest): boolean {
    this.t.session.get(ACTIVITY).set(this.#job, 'active');
    if (this.requests.length === 0) this.#startMs = performance.now() - this.#startedAt;
    if (this.requests.length >= MOST_KEPT) return false;
    this.#repeats.take(asked);
    this.requests.push(asked);
    return true;
  }

  protected neverAsked(): void {
    const activity = this.t.session.get(ACTIVITY);
    if (activity.get(this.#job) !== 'active') activity.set(this.#job, 'silent');
  }

  protected announce(): void {
    this.#progress += 1;
    this.#progressAt = performance.now();
    this.#changes.announce();
  }

  /** Longest wait without progress; more for a client that started slowly, or was asked to wait. */
  get patienceMs(): number {
    return Math.max(this.t.patienceMs, 2 * this.#startMs, this.askedMs);
  }

  secondsToWait(usual: number): number {
    const more = Math.round(this.#startMs / 1000);
    this.askedMs = 1000 * (usual + more);
    // Longest wait in seconds that a check asks of a client.
    if (usual + more <= 30) return usual + more;
    throw new TooLittleSeen(`this machine was too slow for it: the client took ${more} s to ask for anything`);
  }

  get over(): boolean {
    return this.#over;
  }

  get code(): number | undefined {
    return this.#client?.code;
  }

  get endless(): string | undefined {
    return this.#repeats.words;
  }

  /**
   * Resolves with the result of `look`, or with undefined once the client has ended, repeats itself without end, makes
   * no progress for `withinMs`, or `atMostMs` have passed. Throws TooLittleSeen shortly before the check's time limit.
   */
  async until<T>(
    look: () => T | undefined,
    withinMs = this.patienceMs,
    atMostMs = ENDLESS * withinMs,
  ): Promise<T | undefined> {
    const patience = new Patience(withinMs, atMostMs);
    for (;;) {
      this.t.signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure;
      const found = look();
      if (found !== undefined || this.#over || this.endless !== undefined || patience.leftMs <= 0) return found;
      const leftMs = this.t.checkTimeLeftMs() - SPARE_MS;
      if (leftMs <= 0) throw new TooLittleSeen(`this machine was too slow for it, or --max-time is: ${this.state}`);
      const seen = this.#progress;
      await this.#changes.next(Math.min(patience.leftMs, leftMs));
      if (this.#progress !== seen) patience.renew();
    }
  }

  get state(): string {
    if (this.#over) return `the client ${this.#client?.how ?? 'has ended'}`;
    return `the client runs, and ${this.endless ?? 'did nothing more'}`;
  }

  violation({ expected, actual }: { expected: string; actual: string }): Violation {
    const silentMs = performance.now() - this.#progressAt;
    if (!this.#over && silentMs > SHOWN_SILENCE_MS) this.timeline.silence(silentMs);
    return new Violation({ expected, actual, counterexample: this.timeline.text });
  }

  must(holds: unknown, finding: { expected: string; actual: string }): asserts holds {
    if (!holds) throw this.violation(finding);
  }

  allowsFor(deviation: Deviation): boolean {
    return this.t.allowsFor(deviation);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.t.signal.removeEventListener('abort', this.#onAbort);
    this.timeline.close();
    for (const asked of this.requests.slice(-MOST_RECORDED)) this.#record(asked);
    await this.#client?.stop();
    for (const server of [...this.#left, this.#server]) await server?.[Symbol.asyncDispose]();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #record({ method, path, query, headers, body, status, sent, at, endedAt }: ClientRequest): void {
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
