/** One situation: a server that the check plays, a client that was started for it, and what either did, on one time axis. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Patience } from '../../../harness/common/patience.ts';
import { Changes } from '../../../harness/common/waiting.ts';
import { CLIENT_PLACES, CLIENT_VARIABLES, type ClientPlace } from '../../../harness/contract/client.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';
import { Blocked, Violation } from '../../../harness/runner/violation.ts';
import type { ClientRun, StartClient } from '../../../harness/targets/opened.ts';
import type { Client } from './context.ts';
import { type Heard, heardIn } from './heard.ts';
import type { Sequence } from './sequence.ts';
import { type Asked, Stage, type StagePlace } from './stage.ts';
import { Timeline } from './timeline.ts';

/** An interpreter on a busy machine may take so many times the patience until its first request. */
const START_PATIENCES = 6;
/** A client waits before it connects again, and longer each time: so many times the patience. */
const RECONNECT_PATIENCES = 3;
/** Whatever goes on, a wait ends after so many times what it may take without progress. */
const ENDLESS = 3;
/** A client that says and asks without end fills no memory. */
const MOST_KEPT = 20_000;
/** Requests that a finding shows whole. */
const MOST_RECORDED = 8;

/** Clients that never asked for anything: further situations would show no more, and each takes a minute. */
const silent = new WeakSet<StartClient>();
/** Clients that have asked in some situation. */
const active = new WeakSet<StartClient>();

export const EVENTS_PATH = `${DEVICE_API_PREFIX}/events`;

/** How the client of a situation is started. */
export interface SceneOptions {
  /** Beside the usual ones. */
  variables?: Readonly<Record<string, string>>;
  /** How the client reaches the server. Default: the first way that it knows. */
  place?: ClientPlace;
  /** Address of the server's port. Default: 127.0.0.1. */
  host?: string;
  /** Called when the server is there, before the client is started. */
  prepare?: (scene: Scene) => Promise<void>;
}

const placeOf = (t: Client): ClientPlace => CLIENT_PLACES.find((place) => t.capabilities.has(place)) ?? 'url';

export class Scene implements AsyncDisposable {
  readonly timeline = new Timeline();
  /** Of the agent as it is now, for a discovery file. */
  token = randomBytes(16).toString('hex');
  readonly #t: Client;
  readonly #changes = new Changes();
  readonly #asked: Asked[] = [];
  readonly #heard: Heard[] = [];
  readonly #onAbort = (): void => this.#changes.announce();
  #taken = 0;
  #progress = 0;
  #over = false;
  #stage: Stage | undefined;
  #run: ClientRun | undefined;
  #folder: string | undefined;
  /** Milliseconds from the start of the client to its first request. */
  #startMs = 0;
  readonly #startedAt = performance.now();
  /** Takes events from now on, which are no longer kept in `dispatched`. */
  sequence: Sequence | undefined;

  private constructor(t: Client) {
    this.#t = t;
    t.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Starts the server and then the client with the job `follow`. */
  static async follow(t: Client, options: SceneOptions = {}): Promise<Scene> {
    const { variables = {}, place = placeOf(t), host, prepare } = options;
    if (silent.has(t.start)) throw new Blocked(`the client never asked for GET ${EVENTS_PATH} in an earlier situation`);
    const scene = new Scene(t);
    try {
      await scene.#open(place, host);
      await prepare?.(scene);
      scene.#start({ [CLIENT_VARIABLES.job]: 'follow', ...variables, ...scene.#address(place) });
      return scene;
    } catch (error) {
      await scene[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #open(place: ClientPlace, host?: string): Promise<void> {
    if (place !== 'url') this.#folder = mkdtempSync(join(tmpdir(), 'muster-client-'));
    await this.#listen(place === 'socket' ? { path: this.path('agent.sock') } : { host });
    if (place === 'discovery') this.writeDiscovery();
  }

  async #listen(at: StagePlace = {}): Promise<void> {
    const tell: Timeline['tell'] = (who, what) => this.timeline.tell(who, what);
    this.#stage = await Stage.open(at, {
      tell,
      request: (asked) => this.#take(asked),
      changed: () => this.#announce(),
    });
  }

  /** A path in the folder of this situation. */
  path(name: string): string {
    return join(this.#folder ?? '', name);
  }

  #address(place: ClientPlace): Record<string, string> {
    if (place === 'discovery') return { [CLIENT_VARIABLES.discovery]: this.path('agent.json') };
    const url = { [CLIENT_VARIABLES.deviceUrl]: this.#stage?.url ?? '' };
    return place === 'socket' ? { ...url, [CLIENT_VARIABLES.socket]: this.path('agent.sock') } : url;
  }

  /** What the discovery file says of the server as it is now (section 5). */
  get discovery(): string {
    return JSON.stringify({ port: Number(new URL(this.#stage?.url ?? '').port), token: this.token });
  }

  /** Writes the discovery file. */
  writeDiscovery(text = this.discovery): void {
    this.timeline.tell('server', `writes its discovery file: ${text.replace(this.token, '…')}`);
    writeFileSync(this.path('agent.json'), text);
  }

  /** The agent comes back on another port, with another token. Its discovery file stays as it was. */
  async restart(): Promise<void> {
    this.timeline.tell('server', 'restarts on another port, with another token');
    const before = this.#stage;
    await this.#listen();
    this.token = randomBytes(16).toString('hex');
    await before?.[Symbol.asyncDispose]();
  }

  /** For so many milliseconds nobody listens where the agent was. Then it is back in the same place. */
  async leave(ms: number): Promise<void> {
    const { place } = this.#stage ?? {};
    this.timeline.tell('server', 'stops listening');
    await this.#stage?.[Symbol.asyncDispose]();
    await this.pause(ms);
    await this.#listen(place);
    this.timeline.tell('server', 'listens again');
  }

  /** Lets the client do what it does for so many milliseconds, or until it ends. */
  async pause(ms: number): Promise<void> {
    await this.until(() => undefined, ms, ms);
  }

  #start(variables: Readonly<Record<string, string>>): void {
    this.timeline.tell('muster', 'starts the client');
    this.#run = this.#t.start(variables, {
      line: (text) => {
        this.timeline.printed(text);
        const heard = heardIn(text);
        if (heard?.saw === 'event' && this.sequence !== undefined) this.sequence.take(heard);
        else if (heard !== undefined && this.#heard.length < MOST_KEPT) this.#heard.push(heard);
        this.#announce();
      },
      ended: () => {
        this.#over = true;
        this.timeline.tell('client', this.#run?.how?.split('\n')[0] ?? 'ends');
        this.#announce();
      },
    });
  }

  #take(asked: Asked): void {
    active.add(this.#t.start);
    if (this.#asked.length === 0) this.#startMs = performance.now() - this.#startedAt;
    if (asked.path !== EVENTS_PATH || asked.method !== 'GET') asked.answer(404, { error: 'not found' });
    else if (this.#asked.length < MOST_KEPT) this.#asked.push(asked);
    else asked.cut();
    this.#announce();
  }

  #announce(): void {
    this.#progress += 1;
    this.#changes.announce();
  }

  /** How long to wait without a sign of progress: longer for a client that was slow to start. */
  get patienceMs(): number {
    return Math.max(this.#t.patienceMs, 2 * this.#startMs);
  }

  /** Events that the client dispatched, in order. */
  get dispatched(): readonly Extract<Heard, { saw: 'event' }>[] {
    return this.#heard.filter((heard) => heard.saw === 'event');
  }

  /** Whether it told of a gap, or of an end of its stream. */
  get told(): 'gap' | 'end' | undefined {
    return (
      this.#heard.find((heard) => heard.saw === 'gap')?.saw ?? this.#heard.find((heard) => heard.saw === 'end')?.saw
    );
  }

  /** Requests for the stream so far, also those that nobody has taken. */
  get requests(): readonly Asked[] {
    return this.#asked;
  }

  /** Whether the client has ended by itself. */
  get over(): boolean {
    return this.#over;
  }

  /** The next request for the stream. Blocked when the first one never comes: nothing is known of such a client. */
  async request(expected = 'the client to ask for the stream again'): Promise<Asked> {
    const index = this.#taken++;
    const patiences = index === 0 ? START_PATIENCES : RECONNECT_PATIENCES;
    const asked = await this.until(() => this.#asked[index], patiences * this.patienceMs);
    if (asked !== undefined) return asked;
    if (index === 0 && !active.has(this.#t.start)) silent.add(this.#t.start);
    if (index === 0) throw new Blocked(`the client never asked for GET ${EVENTS_PATH}: ${this.state}`);
    throw this.violation({ expected, actual: this.state });
  }

  /** Opens the stream that the client asks for next. */
  async stream(expected?: string): Promise<Asked> {
    return (await this.request(expected)).accept();
  }

  /** The next request for the stream if it comes within so many milliseconds, whatever else happens. */
  async requestWithin(ms: number): Promise<Asked | undefined> {
    const asked = await this.until(() => this.#asked[this.#taken], ms, ms);
    if (asked !== undefined) this.#taken += 1;
    return asked;
  }

  /** Waits until the client has dispatched the event with that id. */
  async untilDispatched(id: string, expected = `event ${id} to be dispatched`): Promise<void> {
    const came = await this.until(() => (this.dispatched.some((heard) => heard.id === id) ? true : undefined));
    if (came === undefined) throw this.violation({ expected, actual: this.outcome });
  }

  /** What `look` finds; undefined when the client has ended, or nothing has happened for `withinMs`. */
  async until<T>(
    look: () => T | undefined,
    withinMs = this.patienceMs,
    atMostMs = ENDLESS * withinMs,
  ): Promise<T | undefined> {
    const patience = new Patience(withinMs, atMostMs);
    for (;;) {
      this.#t.signal.throwIfAborted();
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

  /** What it dispatched and what it does, in words. */
  get outcome(): string {
    const ids = this.dispatched.map(({ id, type }) => `${id} ${type}`);
    return `dispatched ${ids.length === 0 ? 'nothing' : ids.slice(-20).join(', ')}; ${this.state}`;
  }

  violation({ expected, actual }: { expected: string; actual: string }): Violation {
    return new Violation({ expected, actual, counterexample: this.timeline.text });
  }

  /** As `must` of a check, with the time axis. */
  must(holds: unknown, finding: { expected: string; actual: string }): asserts holds {
    if (!holds) throw this.violation(finding);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#t.signal.removeEventListener('abort', this.#onAbort);
    for (const asked of this.#asked.slice(-MOST_RECORDED)) this.#record(asked);
    await this.#run?.stop();
    await this.#stage?.[Symbol.asyncDispose]();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #record({ method, path, query, headers, status, sent, at, endedAt }: Asked): void {
    this.#t.recorder.add({
      method,
      url: `${path}${query.size === 0 ? '' : `?${query}`}`,
      request_headers: { ...headers },
      ...(status === undefined ? { error: 'not answered' } : { status }),
      ...(sent === '' ? {} : { response_body: sent }),
      duration_ms: Math.round((endedAt ?? performance.now()) - at),
      curl: '',
    });
  }
}
