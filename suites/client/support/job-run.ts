/** Run of a job that ends by itself; the check plays the server. */
import { randomBytes } from 'node:crypto';
import { parseObject } from '../../../harness/common/lenient.ts';
import {
  CALL_JOBS,
  type CallJob,
  CLIENT_VARIABLES,
  type ClientJob,
  type ClientPlace,
  clientVariables,
  DEPLOYMENT,
  filledIn,
  JOB_TABLE,
  jobOf,
  PLATFORM_JOBS,
  type PlatformJob,
} from '../../../harness/contract/client.ts';
import { LIST_LIMITS, type ListEnvelope } from '../../../harness/contract/lists.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { Refusal } from '../../../harness/contract/situations.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { type Deviation, Fact } from '../../../harness/runner/session.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import { type Client, placeOf } from './check.ts';
import { AGAIN_PATIENCES, ClientRun, expectPauses, type PrintedLine, START_PATIENCES, startRun } from './client-run.ts';
import type { ClientRequest } from './server.ts';
import { Storm } from './storm.ts';

const PLATFORM_BASE = '/beta';
const RESULTS: ReadonlySet<string> = new Set(CALL_JOBS.map((job) => JOB_TABLE[job].claim.saw));

const SECRET = new Fact(() => `key_${randomBytes(16).toString('hex')}`);

export type Answering = (asked: ClientRequest, run: JobRun) => void | Promise<void>;

interface JobRunOptions {
  job: CallJob;
  answer: Answering;
  variables?: Readonly<Record<string, string>>;
  place?: ClientPlace;
}

export class JobRun extends ClientRun {
  /** API key or token, which the client must not disclose. */
  readonly secret: string;
  readonly #answer: Answering;
  readonly #job: CallJob;
  #printedSecret = false;

  private constructor(t: Client, { job, answer }: JobRunOptions) {
    super(t, job);
    this.secret = t.session.get(SECRET);
    this.keepSecret(this.secret);
    this.#job = job;
    this.#answer = answer;
  }

  static start(t: Client, options: JobRunOptions): Promise<JobRun> {
    const { job, variables = {}, place = placeOf(t) } = options;
    ClientRun.refuseSilent(t, job, `the client asked for nothing with the job ${job} before`);
    return startRun(new JobRun(t, options), async (run) => {
      const { api, given } = jobOf(job);
      const reach = api === 'device' ? await run.listenAsDevice(place) : await run.#listenAsPlatform();
      if (api === 'device' && place === 'discovery') run.writeDiscoveryFile(run.discoveryWith(run.secret));
      run.start({ [CLIENT_VARIABLES.job]: job, ...reach, ...clientVariables(given), ...variables });
    });
  }

  static async untilEnded(t: Client, options: JobRunOptions): Promise<JobRun> {
    return startRun(await JobRun.start(t, options), (run) => run.ended());
  }

  /** Runs a client whose requests the check judges, but not its end. */
  static async untilSettled(t: Client, options: JobRunOptions): Promise<JobRun> {
    return startRun(await JobRun.start(t, options), (run) => run.#settled());
  }

  async #listenAsPlatform(): Promise<Record<string, string>> {
    const platformUrl = `${(await this.listen()).origin}${PLATFORM_BASE}`;
    return clientVariables({ platformUrl, platformKey: this.secret, platformVersion: NEWEST_VERSION });
  }

  protected override take(asked: ClientRequest): void | Promise<void> {
    if (this.keep(asked)) return this.#answer(asked, this);
    asked.cut();
  }

  protected override printed(line: string): void {
    this.complained(line);
    super.printed(line.replaceAll(this.secret, '…'));
  }

  protected override complained(line: string): void {
    this.#printedSecret ||= line.includes(this.secret);
  }

  get printedSecret(): boolean {
    return this.#printedSecret;
  }

  async ended(): Promise<void> {
    await this.#settled();
    this.must(this.over, { expected: 'the client to end when its job is done', actual: this.outcome });
  }

  /** True if the client ended with an error and without a request, because it does not accept its caller's value. */
  async refusedByItself(): Promise<boolean> {
    await this.until(() => this.requests[0], START_PATIENCES * this.patienceMs);
    return this.over && this.requests.length === 0 && this.failure !== undefined;
  }

  /** Waits until the client ends, repeats itself without end or stops progress; throws Blocked without a request. */
  async #settled(): Promise<void> {
    await this.until(() => this.requests[0], START_PATIENCES * this.patienceMs);
    if (this.requests.length === 0) {
      this.neverAsked();
      throw new Blocked(`the client asked for nothing with the job ${this.#job}: ${this.state}`);
    }
    let patienceMs = 0;
    // Waits again if the check has asked for a longer wait meanwhile, e.g. after a look-up.
    while (patienceMs < this.patienceMs) {
      patienceMs = this.patienceMs;
      await this.until(() => undefined, AGAIN_PATIENCES * patienceMs);
    }
  }

  saw<K extends PrintedLine['saw']>(kind: K): Extract<PrintedLine, { saw: K }>[] {
    return this.lines.filter((line): line is Extract<PrintedLine, { saw: K }> => line.saw === kind);
  }

  get results(): PrintedLine[] {
    return this.lines.filter(({ saw }) => RESULTS.has(saw));
  }

  get failure(): 'a line' | 'its exit code' | undefined {
    if (this.saw('error').length > 0) return 'a line';
    return this.code === 0 ? undefined : 'its exit code';
  }

  get outcome(): string {
    const said = this.lines.map((line) => (line.saw === 'item' ? line.item.id : line.saw));
    const shown =
      said.length <= 20 ? said.join(', ') : `${said.slice(0, 10).join(', ')} … ${said.slice(-5).join(', ')}`;
    const lines = `${said.length} ${said.length === 1 ? 'line' : 'lines'}${said.length === 0 ? '' : ` (${shown})`}`;
    return `${lines}; ${this.state.replaceAll(this.secret, '…')}`;
  }
}

const pathOf = (job: PlatformJob): string => {
  const { request, given } = jobOf(job);
  return `${PLATFORM_BASE}${filledIn(request.path, given)}`;
};

type Item = ListEnvelope['data'][number];

export const itemsFrom = (first: number, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({
    object: 'device',
    id: `dvc_${first + index}`,
    name: `robot ${first + index}`,
  }));

/** Body of an error, as published implementations send it. */
export const errorOf = (code: string): object => ({ error: { code, params: {}, message: `refused: ${code}` } });
export const TOO_MANY: Refusal = { status: 429, headers: {}, body: errorOf('too_many_requests') };

/** Limit and offset of a request, clamped by section 8 of the specification. */
export function pageWindow({ query }: ClientRequest, maximum: number = LIST_LIMITS.limitMaximum) {
  const { limitDefault, limitMinimum, offsetDefault, offsetMinimum } = LIST_LIMITS;
  const limit = Math.trunc(Number(query.get('limit') ?? limitDefault)) || limitDefault;
  const offset = Math.trunc(Number(query.get('offset') ?? offsetDefault)) || offsetDefault;
  return { limit: Math.min(maximum, Math.max(limitMinimum, limit)), offset: Math.max(offsetMinimum, offset) };
}

export interface PagesOptions {
  maximum?: number;
  hidden?(index: number): boolean;
}

export function pageOf(asked: ClientRequest, all: readonly Item[], options: PagesOptions = {}): ListEnvelope {
  const { maximum, hidden = () => false } = options;
  const { limit, offset } = pageWindow(asked, maximum);
  const data = all.slice(offset, offset + limit).filter((_, index) => !hidden(offset + index));
  const total = asked.query.getAll('expand').some((value) => value.split(',').includes('total_count'));
  const page = { object: 'list', limit, offset, has_more: offset + limit < all.length, data } as const;
  return total ? { ...page, total_count: all.length } : page;
}

export const pages =
  (all: readonly Item[], options?: PagesOptions): Answering =>
  (asked) =>
    asked.answer(200, pageOf(asked, all, options));

/** Excludes other requests of the client, e.g. to look up a device. */
function isAskedBy(job: PlatformJob): (asked: ClientRequest) => boolean {
  const { method, isPathOpen } = jobOf(job).request;
  if (isPathOpen !== true) return (asked) => asked.method === method && asked.path === pathOf(job);
  const closed = PLATFORM_JOBS.filter((other) => jobOf(other).request.isPathOpen !== true);
  const others = closed.filter((other) => jobOf(other).request.method === method);
  const endings = others.map((other) => pathOf(other).replace(/.*\//, '/'));
  return (asked) => asked.method === method && !endings.some((ending) => asked.path.endsWith(ending));
}
export const IS_ASKED = Object.fromEntries(PLATFORM_JOBS.map((job) => [job, isAskedBy(job)])) as Readonly<
  Record<PlatformJob, (asked: ClientRequest) => boolean>
>;

const DEVICES = itemsFrom(1, 3);

/** Answers look-ups: a client may ask for the ids that its job names, and for the deployment that it has created. */
const lookUp: Answering = (asked, run) => {
  const isCreated = (each: ClientRequest): boolean => IS_ASKED.deploy(each) && each.status === 200;
  const created = parseObject(run.requests.find(isCreated)?.sent) as Item | undefined;
  const all: Readonly<Record<string, readonly Item[]>> = {
    ...Object.fromEntries(Object.values(RESOURCES).map(({ collection }) => [collection, []])),
    devices: DEVICES,
    releases: [{ object: 'release', id: DEPLOYMENT.release_id }],
    deployments: created === undefined ? [] : [created],
  };
  for (const [collection, items] of asked.method === 'GET' ? Object.entries(all) : []) {
    const path = `${PLATFORM_BASE}/${collection}`;
    if (asked.path === path) return pages(items)(asked, run);
    const item = items.find(({ id }) => asked.path === `${path}/${id}`);
    if (item !== undefined) return asked.answer(200, item);
  }
  asked.answer(404, errorOf('not_found'));
};

export const platform =
  (answers: Partial<Record<PlatformJob, Answering | undefined>> = {}): Answering =>
  (asked, run) => {
    const job = PLATFORM_JOBS.find((each) => IS_ASKED[each](asked));
    if (job === undefined) return lookUp(asked, run);
    const { answer } = jobOf(job);
    const usual = answer === undefined ? pages(DEVICES) : (): void => asked.answer(200, answer);
    return (answers[job] ?? usual)(asked, run);
  };

/** 230 items fill several pages, so that a check sees later requests too. */
export const longList = platform({ list: pages(itemsFrom(1, 230)) });

export const forJob = <J extends ClientJob>(job: J) => ({ needs: [job], premises: [jobOf(job).plainest] }) as const;

export const ITEMS_REPEATED: Deviation = {
  name: 'items-repeated',
  allowance: 'an item that is given to the caller again is left out',
};

export function expectItems(run: JobRun, all: readonly Item[], often: 'once' | 'once or more' = 'once'): void {
  const seen = run.saw('item').map(({ item }) => item.id);
  const missing = all.filter(({ id }) => !seen.includes(id)).map(({ id }) => id);
  const again = seen.filter((id, index) => seen.indexOf(id) !== index);
  const unknown = seen.filter((id) => !all.some((item) => item.id === id));
  const mayRepeat = often === 'once or more' || again.length === 0 || run.allowsFor(ITEMS_REPEATED);
  const more = mayRepeat ? unknown : [...again, ...unknown];
  run.must(missing.length === 0 && more.length === 0 && run.failure === undefined, {
    expected: `each of ${all.length} items ${often}, and no error`,
    actual: `${described('missing', missing)}${described('more than once, or unknown', more)}${run.outcome}`,
  });
}

const described = (what: string, ids: readonly string[]): string =>
  ids.length === 0
    ? ''
    : `${what}: ${ids.slice(0, 8).join(', ')}${ids.length > 8 ? ` and ${ids.length - 8} more` : ''}; `;

export async function expectNoStorm(t: Client, job: PlatformJob, refusal: Refusal): Promise<JobRun> {
  const storm = new Storm();
  const usual = platform();
  const answer: Answering = (asked, run) => {
    if (storm.pace !== undefined) return usual(asked, run);
    asked.refuse(refusal);
    storm.refused();
  };
  await using run: JobRun = await JobRun.untilSettled(t, { job, answer: platform({ [job]: answer }) });
  expectPauses(run, storm, `that are all answered ${refusal.status}`);
  await run.ended();
  return run;
}

export function expectFailure(run: JobRun, what: string): void {
  const expected = `an error told for ${what}: {"saw":"error"} or an exit code other than 0`;
  run.must(run.failure !== undefined, { expected, actual: run.outcome });
}
