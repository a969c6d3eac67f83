/** Run of the job `follow`; the check plays the agent. */
import { randomBytes } from 'node:crypto';
import { CLIENT_VARIABLES, type ClientPlace, DEPLOYMENT } from '../../../harness/contract/client.ts';
import { frames, type OneStream, type SentEvent } from '../../../harness/contract/situations.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';
import type { Deviation } from '../../../harness/runner/session.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import { type Client, placeOf } from './check.ts';
import { AGAIN_PATIENCES, ClientRun, expectPauses, type PrintedLine, START_PATIENCES, startRun } from './client-run.ts';
import type { ClientRequest } from './server.ts';
import { Storm } from './storm.ts';

/** Checks that ids are consecutive, without storing the events. */
export class Sequence {
  last: number;
  wrong: string | undefined;

  constructor(before: number) {
    this.last = before;
  }

  take({ id }: Pick<SentEvent, 'id'>): void {
    if (this.wrong !== undefined) return;
    if (id === String(this.last + 1)) this.last += 1;
    else this.wrong = `event ${id} after event ${this.last}`;
  }
}

/** Deviation from section 6.1: a client dispatches events repeatedly or altered. */
export const DISPATCH_ODD: Deviation = {
  name: 'dispatch-odd',
  allowance: 'an event counts once where it comes twice in a row, whatever its payload',
};

type Dispatched = Extract<PrintedLine, { saw: 'event' }>;

const EVENTS_PATH = `${DEVICE_API_PREFIX}/events`;
export const CURRENT_PATH = `${DEVICE_API_PREFIX}/deployments/current`;

interface StreamRunOptions {
  variables?: Readonly<Record<string, string>>;
  place?: ClientPlace;
  host?: string;
  prepare?: (run: StreamRun) => Promise<void>;
}

export class StreamRun extends ClientRun {
  token = randomBytes(16).toString('hex');
  /** Receives all later events in place of `dispatched`, which would grow without end. */
  sequence: Sequence | undefined;
  /** Values of `types` of further streams beside the first; the check accepts them and sends no event on them. */
  readonly #beside = new Set<string | null>();
  #taken = 0;
  #current: ClientRequest | undefined;

  static follow(t: Client, options: StreamRunOptions = {}): Promise<StreamRun> {
    const { variables = {}, place = placeOf(t), host, prepare } = options;
    ClientRun.refuseSilent(t, 'follow', `the client never asked for GET ${EVENTS_PATH} in an earlier situation`);
    return startRun(new StreamRun(t, 'follow'), async (run) => {
      if (place === 'discovery') run.keepSecret(run.token);
      const reach = await run.listenAsDevice(place, host);
      if (place === 'discovery') run.writeDiscovery();
      await prepare?.(run);
      run.start({ [CLIENT_VARIABLES.job]: 'follow', ...variables, ...reach });
    });
  }

  static async open(t: Client, options: StreamRunOptions = {}): Promise<StreamRun> {
    return startRun(await StreamRun.follow(t, options), (run) => run.stream());
  }

  static async after(t: Client, events: readonly SentEvent[], options: StreamRunOptions = {}): Promise<StreamRun> {
    return startRun(await StreamRun.open(t, options), async (run) => {
      await run.current.send(frames(events));
      await expectDispatched(run, events);
    });
  }

  get discovery(): string {
    return this.discoveryWith(this.token);
  }

  writeDiscovery(text = this.discovery): void {
    this.timeline.drives(`writes its discovery file: ${text}`);
    this.writeDiscoveryFile(text);
  }

  /** Moves to another port, and leaves the old discovery file in place, as after a crash. */
  async restart(): Promise<void> {
    this.timeline.drives('restarts on another port, with another token');
    const before = this.server;
    this.token = randomBytes(16).toString('hex');
    this.keepSecret(this.token);
    await this.listen();
    await this.leaveServer(before);
  }

  async leave(ms: number): Promise<void> {
    const { server } = this;
    this.timeline.drives('stops listening');
    await this.leaveServer(server);
    await this.pause(ms);
    await this.listen(server.place);
    this.timeline.drives('listens again');
  }

  async pause(ms: number): Promise<void> {
    await this.until(() => undefined, ms, ms);
  }

  protected override keepLine(line: PrintedLine): void {
    if (line.saw === 'event' && this.sequence !== undefined) this.sequence.take(line);
    else super.keepLine(line);
  }

  protected override take(asked: ClientRequest): void {
    const types = asked.query.get('types');
    const isOther = ({ closed, endedAt, query }: ClientRequest): boolean =>
      !closed && endedAt === undefined && query.get('types') !== types;
    // A client may look at the current deployment before it follows the stream.
    if (asked.path === CURRENT_PATH && asked.method === 'GET') asked.answer(200, DEPLOYMENT);
    else if (asked.path !== EVENTS_PATH || asked.method !== 'GET') asked.answer(404, { error: 'not found' });
    else if (this.#beside.has(types) || this.requests.some(isOther)) {
      this.#beside.add(types);
      asked.accept();
    } else if (!this.keep(asked)) asked.cut();
  }

  get dispatched(): readonly Dispatched[] {
    const all = this.lines.filter((line) => line.saw === 'event');
    const once = all.filter(({ id }, index) => id !== all[index - 1]?.id);
    return once.length < all.length && this.allowsFor(DISPATCH_ODD) ? once : all;
  }

  get reported(): 'gap' | 'end' | undefined {
    return this.lines.find((line) => line.saw === 'gap')?.saw ?? this.lines.find((line) => line.saw === 'end')?.saw;
  }

  async request(expected = 'the client to ask for the stream again'): Promise<ClientRequest> {
    const index = this.#taken++;
    const patiences = index === 0 ? START_PATIENCES : AGAIN_PATIENCES;
    const asked = await this.until(() => this.requests[index], patiences * this.patienceMs);
    if (asked !== undefined) return asked;
    if (index === 0) this.neverAsked();
    if (index === 0) throw new Blocked(`the client never asked for GET ${EVENTS_PATH}: ${this.state}`);
    throw this.violation({ expected, actual: this.state });
  }

  async stream(expected?: string): Promise<ClientRequest> {
    this.#current = (await this.request(expected)).accept();
    return this.#current;
  }

  get current(): ClientRequest {
    return this.#current ?? this.t.blocked('no stream was opened');
  }

  async requestWithin(ms: number): Promise<ClientRequest | undefined> {
    const asked = await this.until(() => this.requests[this.#taken], ms, ms);
    if (asked !== undefined) this.#taken += 1;
    return asked;
  }

  /** Like `until`; continues a stream that the client has left at the client's next request. */
  untilRead<T>(look: () => T | undefined, withinMs = this.patienceMs): Promise<T | undefined> {
    return this.until(() => {
      const found = look();
      const next = this.requests[this.#taken];
      if (found === undefined && this.#current?.isLeft === true && next !== undefined) {
        this.#taken += 1;
        void this.#current.goOn(next);
        this.#current = next;
      }
      return found;
    }, withinMs);
  }

  async untilDispatched(id: string, expected = `event ${id} to be dispatched`, patiences = 1): Promise<void> {
    const look = () => this.dispatched.some((event) => event.id === id) || undefined;
    const came = await this.untilRead(look, patiences * this.patienceMs);
    if (came === undefined) throw this.violation({ expected, actual: this.outcome });
  }

  get outcome(): string {
    const ids = this.dispatched.map(({ id, type }) => `${id} ${type}`);
    return `dispatched ${ids.length === 0 ? 'nothing' : ids.slice(-20).join(', ')}; ${this.state}`;
  }
}

/** Patiences for a large event, which a shell reads byte by byte. */
export const FOR_LARGE = 6;

export async function expectDispatched(run: StreamRun, events: readonly SentEvent[], patiences = 1): Promise<void> {
  const last = events.at(-1);
  if (last === undefined) return;
  await run.untilDispatched(last.id, `events ${idsOf(events)} to be dispatched`, patiences);
  expectExactly(run, events);
}

export async function expectRead(t: Client, { bytes, events }: Omit<OneStream, 'summary'>, patiences = 1) {
  await using run: StreamRun = await StreamRun.open(t);
  await run.current.send(bytes);
  await expectDispatched(run, events, patiences);
}

export function expectExactly(run: StreamRun, events: readonly SentEvent[]): void {
  const seen = run.dispatched;
  const same = seen.length === events.length && seen.every(({ id }, index) => id === events[index]?.id);
  const expected = `events ${idsOf(events)} dispatched once each, in this order`;
  run.must(same, { expected, actual: `dispatched ${seen.length === 0 ? 'nothing' : idsOf(seen)}` });
  for (const [index, sent] of events.entries()) {
    const { type, data } = seen[index] ?? {};
    run.must(type === sent.type, { expected: `event ${sent.id} dispatched as ${sent.type}`, actual: String(type) });
    run.must(has(data, sent.data) || run.allowsFor(DISPATCH_ODD), {
      expected: `event ${sent.id} with the payload ${JSON.stringify(sent.data).slice(0, 300)}`,
      actual: (JSON.stringify(data) ?? 'none').slice(0, 300),
    });
  }
}

export async function expectNoHammering(run: StreamRun, how: string, answer: (asked: ClientRequest) => void) {
  const storm = new Storm();
  while (storm.pace === undefined && !run.over && run.endless === undefined) {
    const asked = await run.requestWithin(storm.leftMs);
    if (asked === undefined && storm.requests === 0) break;
    if (asked === undefined) continue;
    answer(asked);
    storm.refused();
  }
  expectPauses(run, storm, how);
}

export function expectCursor(run: StreamRun, asked: ClientRequest, id: string): void {
  run.must(asked.cursor === id, {
    expected: `the cursor ${id}, as after=${id} or Last-Event-ID: ${id}`,
    actual: asked.cursor === undefined ? 'no cursor' : `the cursor ${asked.cursor}`,
  });
}

const idsOf = (events: readonly { id: string }[]): string => events.map(({ id }) => id).join(', ');

/** True if `seen` has all members of `sent`; a client may add and reorder members. */
function has(seen: unknown, sent: unknown): boolean {
  if (sent === null || typeof sent !== 'object') return seen === sent;
  if (seen === null || typeof seen !== 'object' || Array.isArray(seen) !== Array.isArray(sent)) return false;
  return Object.entries(sent).every(([name, value]) => has((seen as Record<string, unknown>)[name], value));
}
