/** A situation of a job that ends by itself: the check says how each request is answered, and reads what came of the whole. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CALL_JOBS,
  type CallJob,
  CLIENT_VARIABLES,
  type ClientPlace,
  clientVariables,
  JOB_TABLE,
  jobOf,
} from '../../../harness/contract/client.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import type { Client } from './context.ts';
import type { Heard } from './heard.ts';
import { addressAt, discoveryOf, placeOf, writeShared } from './places.ts';
import { AGAIN_PATIENCES, Situation, START_PATIENCES } from './situation.ts';
import { type Asked, Stage } from './stage.ts';

/** Path of the Platform API's base. */
export const PLATFORM_BASE = '/beta';
const RESULTS: ReadonlySet<string> = new Set(CALL_JOBS.map((job) => JOB_TABLE[job].claim.saw));

/** Answers one request of the client. */
export type Answering = (asked: Asked, call: Call) => void | Promise<void>;

export interface CallOptions {
  job: CallJob;
  answer: Answering;
  /** Beside the usual ones. */
  variables?: Readonly<Record<string, string>>;
  /** How the client reaches a Device API. Default: the first way that it knows. */
  place?: ClientPlace;
}

export class Call extends Situation {
  /** API key or token: nobody else may see it. */
  readonly secret = `key_${randomBytes(16).toString('hex')}`;
  readonly #answer: Answering;
  readonly #job: CallJob;
  #printedSecret = false;
  #stage: Stage | undefined;
  #folder: string | undefined;

  private constructor(t: Client, { job, answer }: CallOptions) {
    super(t, job);
    this.timeline.hide(this.secret);
    this.#job = job;
    this.#answer = answer;
  }

  /** Starts the server and then the client. */
  static async start(t: Client, options: CallOptions): Promise<Call> {
    const { job, variables = {}, place = placeOf(t) } = options;
    if (Situation.isSilent(t, job)) throw new Blocked(`the client asked for nothing with the job ${job} before`);
    const call = new Call(t, options);
    try {
      const { api, given } = jobOf(job);
      const reach = api === 'device' ? await call.#openDevice(place) : await call.#openPlatform();
      call.start({ [CLIENT_VARIABLES.job]: job, ...reach, ...clientVariables(given), ...variables }, call.#folder);
      return call;
    } catch (error) {
      await call[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #openPlatform(): Promise<Record<string, string>> {
    const stage = await this.#listen();
    return clientVariables({
      platformUrl: `${stage.origin}${PLATFORM_BASE}`,
      platformKey: this.secret,
      platformVersion: NEWEST_VERSION,
    });
  }

  async #openDevice(place: ClientPlace): Promise<Record<string, string>> {
    const folder = mkdtempSync(join(tmpdir(), 'muster-client-'));
    this.#folder = folder;
    const { url } = await this.#listen(place === 'socket' ? join(folder, 'agent.sock') : undefined);
    if (place === 'discovery') writeShared(join(folder, 'agent.json'), discoveryOf(url, this.secret));
    return addressAt(place, url, (name) => join(folder, name));
  }

  async #listen(path?: string): Promise<Stage> {
    this.#stage = await Stage.open(
      { path },
      {
        track: (what) => this.timeline.request(what),
        request: (asked) => this.#take(asked),
        changed: () => this.announce(),
      },
    );
    return this.#stage;
  }

  #take(asked: Asked): void {
    if (this.keep(asked)) void this.#answer(asked, this);
    else asked.cut();
    this.announce();
  }

  protected override printed(line: string): void {
    if (line.includes(this.secret)) this.#printedSecret = true;
    super.printed(line.replaceAll(this.secret, '…'));
  }

  /** Whether it wrote the secret to its standard output or standard error. */
  get printedSecret(): boolean {
    return this.#printedSecret || this.complaints.includes(this.secret);
  }

  /** Waits for the end of the client. Blocked when it has asked for nothing: nothing is known of such a client. */
  async ended(): Promise<this> {
    await this.until(() => this.requests[0], START_PATIENCES * this.patienceMs);
    if (this.requests.length === 0) {
      this.neverAsked();
      throw new Blocked(`the client asked for nothing with the job ${this.#job}: ${this.state}`);
    }
    await this.until(() => undefined, AGAIN_PATIENCES * this.patienceMs);
    this.must(this.over, { expected: 'the client to end when its job is done', actual: this.outcome });
    return this;
  }

  /** Lines of one kind. */
  saw<K extends Heard['saw']>(kind: K): Extract<Heard, { saw: K }>[] {
    return this.heard.filter((heard): heard is Extract<Heard, { saw: K }> => heard.saw === kind);
  }

  /** Lines that give the result of a job. */
  get results(): Heard[] {
    return this.heard.filter(({ saw }) => RESULTS.has(saw));
  }

  /** How the client, which has ended, told that its job failed. */
  get failure(): 'a line' | 'its exit code' | undefined {
    if (this.saw('error').length > 0) return 'a line';
    return this.code === 0 ? undefined : 'its exit code';
  }

  /** What it printed and what it does, in words. */
  get outcome(): string {
    const said = this.heard.map((heard) => (heard.saw === 'item' ? heard.item.id : heard.saw));
    const shown =
      said.length <= 20 ? said.join(', ') : `${said.slice(0, 10).join(', ')} … ${said.slice(-5).join(', ')}`;
    return `${said.length} ${said.length === 1 ? 'line' : 'lines'}${said.length === 0 ? '' : ` (${shown})`}; ${this.state.replaceAll(this.secret, '…')}`;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#stage?.[Symbol.asyncDispose]();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}
