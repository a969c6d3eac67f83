/** Compares the agent with its model on several open streams. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CODINGS, isCoded } from '../../../harness/client/body.ts';
import type { HttpClient } from '../../../harness/client/http.ts';
import type { OpenEvents } from '../../../harness/client/sse.ts';
import { instantOf } from '../../../harness/contract/shape.ts';
import { TooLittleSeen, Violation } from '../../../harness/runner/violation.ts';
import type { Device } from '../support/check.ts';
import { type Published, readUpTo } from '../support/drive.ts';
import { distinct, eventsOf } from '../support/events.ts';
import { LOG_STATE } from '../support/log-state.ts';
import { isEventStream, isThrottled } from '../support/requests.ts';
import { eventsAfter, mayBeGone, mostEvents, retainedFrom } from '../support/retention.ts';
import { describeOpen, endOf, type Streams } from '../support/streams.ts';
import type { Subscription } from '../support/subscription.ts';
import { CurrentDeployment, type Window } from './current.ts';
import { decides, type OtherDifference, type Situation, type Way } from './decides.ts';
import { type Difference, judgeStream, Ledger, type StreamDifference } from './model.ts';

export class Departure extends Violation {
  readonly id: string;
  readonly isShould: boolean;
  /** True if the agent failed to start and was started again. */
  readonly isOver: boolean;
  constructor(
    id: string,
    { expected, actual }: { expected: string; actual: string },
    { isShould = false, isOver = false } = {},
  ) {
    super({ expected, actual });
    this.id = id;
    this.isShould = isShould;
    this.isOver = isOver;
  }
}

interface StreamRequest {
  way: Way;
  options: OpenEvents;
  after: bigint;
  mayRefuse?: boolean;
  http?: HttpClient | undefined;
}

interface Client extends StreamRequest {
  subscription: Subscription;
  judged: number;
  /** Newest id when the stream opened; higher ids are live. */
  openedAt: bigint;
  /** Milliseconds since 1970. */
  openedMs: number;
  isOwed: boolean;
  stays: boolean;
}

export class Reality {
  readonly t: Device;
  readonly streams: Streams;
  readonly ledger: Ledger;
  readonly current: CurrentDeployment;
  situation: Situation = 'plain';
  #keeps = 0;
  /** Names of timestamps seen with fractions of a second; other timestamps may be in whole seconds. */
  readonly #fractions = new Set<string>();
  /** True if the agent's answers have the date of another clock, e.g. of a machine behind a forwarded socket. */
  #isElsewhere = false;
  clients: Client[] = [];
  readonly remarked: Departure[] = [];
  /** Findings so far, by requirement; a wrong moment whose requirement has one does not end a sequence. */
  known: ReadonlyMap<string, { readonly departure: Departure }> = new Map();
  readonly tornAfter: bigint[] = [];
  /** Arrival of each event in milliseconds since 1970. */
  readonly cameAt = new Map<bigint, number>();

  constructor(t: Device, streams: Streams, newest: bigint) {
    this.t = t;
    this.streams = streams;
    this.ledger = new Ledger(newest);
    this.current = new CurrentDeployment(this);
    streams.makeRoom = async () => {
      const open = this.clients.filter(({ subscription }) => subscription.stream.ended === undefined);
      const least = open.find(({ stays }) => !stays) ?? open[1];
      if (least === undefined) return false;
      await this.#close(least);
      return true;
    };
  }

  get witness(): Client {
    return this.clients.find(({ stays }) => stays) ?? this.t.blocked('no stream is open');
  }

  remarks(what: StreamDifference | OtherDifference, finding: { expected: string; actual: string }): void {
    this.remarked.push(new Departure(decides({ what, situation: this.situation }), finding, { isShould: true }));
  }

  departs(
    what: StreamDifference | OtherDifference,
    finding: Pick<Difference, 'expected' | 'actual' | 'missing'>,
    client?: Client,
  ): never {
    // Blames a torn line if the event after it is missing: an agent may append it to that line, which a restart drops.
    const isGlued = this.tornAfter.some((newest) => {
      const next = this.ledger.events.find(({ id }) => id > newest);
      return next !== undefined && finding.missing?.includes(next.id) === true;
    });
    const situation = isGlued ? 'tear' : this.situation;
    const isAtSeam = client?.judged === 0 && client.openedAt < this.ledger.closed;
    const where = {
      what,
      situation: situation === 'plain' && isAtSeam ? 'seam' : situation,
      way: client?.way,
      filtered: client?.options.types !== undefined,
      live: client !== undefined && client.judged > 0,
    };
    const name = client === undefined ? '' : `, on ${describeOpen(client.options)}`;
    const isOver = what === 'not started';
    throw new Departure(decides(where), { expected: finding.expected + name, actual: finding.actual }, { isOver });
  }

  async openStaying(after: bigint): Promise<void> {
    const { closed } = this.ledger;
    await this.open({ way: 'after', options: { after }, after }, true);
    if (this.clients.length === 0) await this.open({ way: 'after', options: { after: closed }, after: closed }, true);
    if (this.clients.length === 0) {
      await this.open({ way: 'none', options: {}, after: closed }, true);
      await sleep(this.subscribedMs);
    }
    if (mostEvents(this.t) > 3)
      await this.open({ way: 'header', options: { lastEventId: closed }, after: closed }, true);
  }

  retained(): bigint {
    const { ledger, t } = this;
    const kept = ledger.events.filter(({ id }) => id >= ledger.earliest);
    return kept.length === 0 ? ledger.closed : retainedFrom(t, kept[0]?.id ?? ledger.closed, kept.slice(1));
  }

  async open(asking: StreamRequest, stays = false): Promise<void> {
    const { t, ledger } = this;
    if (!stays && this.clients.length >= 8) await this.leave(0);
    const { options, way, http } = asking;
    let stream = await this.streams.tryAnother(options, http);
    if (stream === undefined && (await this.streams.makeRoom())) stream = await this.streams.try(options, http);
    if (stream === undefined) return;
    if (isThrottled(stream)) return stream.close();
    const { status } = stream;
    // Lowers the limit by one second, because a Date header has whole seconds.
    this.#isElsewhere = Math.abs(Date.parse(stream.headers['date'] ?? '') - Date.now()) > CLOCK_OFF_MS - 1000;
    const fate = way === 'none' ? 'served' : ledger.fate(asking.after);
    const isKept = fate === 'served' && !mayBeGone(t, options) && this.isKept(asking.after);
    const mayBeExpired = way !== 'none' && !isKept;
    const mayRefuse = way === 'future' || ((asking.mayRefuse === true || mayBeExpired) && status < 500);
    const follow = eventsAfter(t, asking.after);
    if (status === 200 && Number.isFinite(follow)) this.#keeps = Math.max(this.#keeps, follow);
    const client: Client = {
      ...asking,
      judged: 0,
      openedAt: ledger.closed,
      stays,
      openedMs: Date.now(),
      isOwed: way !== 'none',
      subscription: this.streams.follow(stream, http),
    };
    // Counts no refusal that may be right, because it decides nothing.
    if (status === 200 || !mayBeExpired) {
      if (client.isOwed) t.saw(`streams by ${way}`);
      if (asking.mayRefuse === true && options.types !== undefined) t.saw('filters by unknown types');
      if (options.types !== undefined) t.saw('filtered streams');
    }
    // Counts no refusal, which an event of the agent's own may explain, and no log that is still whole.
    if (status === 200 && asking.after === ledger.earliest && ledger.gone.length > 0)
      t.saw('cursors at the earliest event left');
    if (fate === 'expired') {
      t.saw('expired cursors');
      t.saw(`expired cursors by ${way}`);
    }
    if (status === 410 && !mayRefuse && this.situation === 'tear') {
      // Only warns, because no section states how much of a torn log must remain.
      await stream.close();
      this.remarks('refused', { expected: `the events before a torn last line, after ${asking.after}`, actual: '410' });
      ledger.earliest = ledger.newest;
      return;
    }
    // Any 4xx is right for odd types, because a device may check types before the cursor.
    const isRefused = asking.mayRefuse === true && status >= 400 && status < 500;
    const lacks410 = fate === 'expired' && !isRefused && (status !== 410 || isEventStream(stream));
    if (lacks410 || (status !== 200 && !mayRefuse)) {
      await stream.close();
      const actual = String(status);
      const gone = `410: events up to ${ledger.earliest} are gone`;
      if (lacks410) return this.departs('served though gone', { expected: gone, actual }, client);
      // Counts a 410 as `refused` only if the log can be compacted, because the check of `refused` runs only then.
      const what = status === 410 && t.capabilities.has('compact') ? 'refused' : 'not served';
      return this.departs(what, { expected: '200 and an event stream', actual }, client);
    }
    if (status === 410 && fate === 'expired')
      await endOf(t, stream).catch(({ message }: Error) => {
        t.signal.throwIfAborted();
        this.departs('served though gone', { expected: 'a 410 that ends', actual: message }, client);
      });
    const coding = stream.headers['content-encoding']?.toLowerCase();
    const isFollowed = options.cutAfterBytes === undefined && (!isCoded(coding) || CODINGS.has(coding ?? ''));
    if (status === 200 && isFollowed) this.clients.push(client);
    else await stream.close();
  }

  isKept(after: bigint): boolean {
    const { t } = this;
    const { left } = t.session.get(LOG_STATE);
    const isLeft = left !== undefined && after >= left.earliest && eventsAfter(t, left.latest) === 0;
    return isLeft || t.info.retention !== undefined || eventsAfter(t, after) <= this.#keeps / 4;
  }

  async leave(which: number): Promise<void> {
    const others = this.clients.filter(({ stays }) => !stays);
    const client = others[which % Math.max(1, others.length)];
    if (client !== undefined) await this.#close(client);
  }

  /** `since`: start of the command, in milliseconds since 1970. `born`: id of its first event. */
  async settle(published: Published, since: number, born = published.first): Promise<void> {
    const { ledger, t } = this;
    const { first, last, count } = published;
    const { newest } = ledger;
    const reused = { expected: `ids above ${newest}, the newest event`, actual: `${first} for a new one` };
    if (first <= newest) this.departs('id used again', reused);
    await this.#reaching(this.witness, () => readUpTo(this.witness.subscription, published));
    this.learn();
    const fresh = ledger.owed({ after: first - 1n, upTo: last });
    const missing = { expected: `${count} events from ${first} to ${last}`, actual: `${fresh.length}` };
    if (fresh.length < count) this.departs('missing', missing, this.witness);
    await this.catchUp(last, { since, first: born });
    // Events that nobody asked for may have occurred at any time.
    let unasked = fresh.length - count;
    for (const { id, envelope } of fresh) {
      const until = this.cameAt.get(id) ?? Date.now();
      const about = { since, until, why: `event ${id} was published` };
      if (!this.isWithin('occurred_at', envelope?.['occurred_at'], about) && unasked-- > 0) continue;
      await this.expectMoment('time of an event', 'occurred_at', envelope?.['occurred_at'], about);
    }
    t.saw('publications', count);
    if (this.clients.length > 1) t.saw('publications to several', count);
  }

  async catchUp(closed: bigint, born?: { since: number; first: bigint }): Promise<void> {
    const { ledger } = this;
    for (const client of this.clients) {
      if (client.isOwed || born === undefined || born.since - client.openedMs < this.subscribedMs) continue;
      client.isOwed = true;
      client.after = born.first - 1n;
    }
    if (closed > ledger.closed) ledger.closed = closed;
    const reached = [...this.clients].map(async (client) => {
      const { subscription, way, openedMs } = client;
      if (way === 'future') {
        // Waits a fixed time for a wrong replay, because no event is due whose arrival would end the wait.
        const within = openedMs + this.subscribedMs - Date.now();
        const wait = { within, atMost: within, for: 'a replay' };
        const none = { frames: 0, comments: Number.POSITIVE_INFINITY };
        if (within > 0) await subscription.stream.activity(none, wait).catch(() => this.t.signal.throwIfAborted());
        return;
      }
      const owed = this.#owed(client);
      const due = client.isOwed ? (ledger.unread(owed).at(-1) ?? ledger.owed(owed).at(-1)?.id) : undefined;
      if (due === undefined || (subscription.events.at(-1)?.id ?? -1n) >= due) return;
      const published = { first: due, last: due, count: 1, at: performance.now() };
      await this.#reaching(client, () => readUpTo(subscription, published));
    });
    await Promise.all(reached);
    for (const client of this.clients) this.learn(client);
    for (const client of this.clients) this.#judge(client);
  }

  /** Maximum milliseconds from response headers to the subscription of a stream. */
  get subscribedMs(): number {
    return Math.max(300, this.t.session.waits.device.slowestMs('event'));
  }

  #owed({ after, options: { types } }: Client) {
    return { after, upTo: this.ledger.closed, types };
  }

  async #reaching(client: Client, read: () => Promise<unknown>): Promise<void> {
    try {
      await read();
    } catch (error) {
      // Without a cursor a device may replay its whole log, however long.
      if (error instanceof TooLittleSeen && client.way === 'none' && !client.stays) return this.#close(client);
      if (!(error instanceof Violation)) throw error;
      const { by } = client.subscription.stream.ended ?? {};
      if (!client.stays && (by === 'server' || by === 'error')) return this.#close(client);
      this.departs('missing', error.finding, client);
    }
  }

  #close(client: Client): Promise<void> {
    this.clients = this.clients.filter((one) => one !== client);
    return client.subscription.close();
  }

  learn(client = this.witness, events = client.subscription.events.slice(client.judged)): void {
    const { ledger, cameAt } = this;
    if (client.way === 'future') return;
    const now = Date.now();
    for (const event of events) {
      if (!cameAt.has(event.id)) cameAt.set(event.id, now);
      const difference = ledger.learn(event);
      if (difference === undefined) continue;
      // Finds an id used again if one connection carries two events of it; otherwise, the event has changed.
      const first = client.subscription.events.find(({ id }) => id === event.id);
      const isOfAnother = difference.kind === 'changed' && first !== undefined && first.text !== event.text;
      this.departs(isOfAnother ? 'id used again' : difference.kind, difference, client);
    }
  }

  #judge(client: Client): void {
    const { subscription, openedAt, way } = client;
    const came = subscription.events.slice(client.judged);
    const last = subscription.events.at(-1)?.id;
    const { frames, unread } = subscription.stream;
    const beyond = eventsOf(this.t, { frames: frames.slice(frames.length - unread) });
    const before = new Set(subscription.events.slice(0, client.judged).map(({ id }) => id));
    const all = [...came, ...beyond.filter(({ id }) => last === undefined || id > last)];
    const seen = all.filter(({ id }) => !before.has(id));
    if (way === 'future') {
      const old = seen.find(({ id }) => id <= openedAt);
      if (old === undefined) return;
      const expected = `no event that there was before, since the cursor lies beyond the newest, ${openedAt}`;
      this.departs('invented', { expected, actual: `event ${old.id}` }, client);
    }
    const owing = way === 'none' ? seen.filter(({ id }) => id > client.after) : seen;
    const owed = this.#owed(client);
    const difference = judgeStream(this.ledger, owing, client.isOwed ? owed : { ...owed, upTo: owed.after });
    if (difference !== undefined) this.departs(difference.kind, difference, client);
    if (way === 'none' && client.isOwed) this.t.saw('streams by none');
    client.judged += came.filter(({ id }) => id <= this.ledger.closed).length;
    if (this.ledger.closed > client.after) client.after = this.ledger.closed;
    this.t.saw('events judged', came.length);
  }

  async expectMoment(
    what: OtherDifference,
    member: string,
    written: unknown,
    { since, until, why }: Window,
  ): Promise<void> {
    const isKnown = this.known.get(decides({ what, situation: this.situation }))?.departure.isShould === false;
    if (isKnown || this.isWithin(member, written, { since, until }) || (await isClockSet())) return;
    const expected = `${member} from ${instant(since)} to ${instant(until)}, when ${why}`;
    this.departs(what, { expected, actual: String(written) });
  }

  /**
   * `unclear`: result for a moment that cannot be judged: unreadable, inexact, without offset, or of another clock.
   * `false` also allows no difference between the clocks of agent and Muster.
   */
  isWithin(
    member: string,
    written: unknown,
    { since, until }: Pick<Window, 'since' | 'until'>,
    unclear = true,
  ): boolean {
    const when = instantOf(String(written));
    const { transport, standardError } = this.t;
    // A URL, even of this machine, may lead to another clock, unless Muster started the agent.
    const isLocal = transport.kind !== 'url' || standardError !== undefined;
    // Without an offset, the zone is the agent's; without seconds, the time is of a whole minute.
    const isExact = /T\d\d:\d\d:\d\d.*(?:Z|[+-]\d{2}(?::?\d{2})?)$/i.test(String(written));
    if (Number.isNaN(when) || !isExact || !isLocal || this.#isElsewhere || until < since) return unclear;
    // Tolerance in milliseconds for clock readings and adjustments.
    const slackMs = 100 + (unclear && standardError === undefined ? CLOCK_OFF_MS : 0);
    if (when % 1000 !== 0) this.#fractions.add(member);
    // Whole seconds may be cut or rounded.
    const [cutMs, roundedMs] = this.#fractions.has(member) ? [0, 0] : [1000, 500];
    return when >= since - cutMs - slackMs && when <= until + roundedMs + slackMs;
  }

  async endStreams(): Promise<void> {
    const left = this.clients;
    this.clients = [];
    await Promise.all(
      left.map(async (client) => {
        const came = distinct(await client.subscription.drain());
        const { ended, headers } = client.subscription.stream;
        // Only chunked encoding tells an end by the server from a lost connection.
        const isWhole = ended?.by === 'server' && /\bchunked\b/i.test(headers['transfer-encoding'] ?? '');
        if (this.situation === 'kill' && isWhole) this.t.note(NO_KILL);
        this.learn(client, came);
        const last = came.at(-1)?.id ?? 0n;
        if (client.options.types === undefined && client.stays && last > this.ledger.closed) this.ledger.closed = last;
      }),
    );
  }

  async closeAll(goes = (_client: Client): boolean => true): Promise<void> {
    await Promise.all(this.clients.filter(goes).map((client) => this.#close(client)));
  }
}

const NO_KILL =
  'control was asked for SIGKILL, and the stream ended in order, with its last chunk, which a killed process cannot ' +
  'send: control, or what is before the agent, ended it';

/** Milliseconds by which the clock of an agent that Muster did not start may differ, e.g. in a virtual machine. */
const CLOCK_OFF_MS = 3000;

const CLOCK_READINGS = 20;

async function isClockSet(): Promise<boolean> {
  const ahead = (): number => Date.now() - performance.now();
  const first = ahead();
  for (let reading = 0; reading < CLOCK_READINGS; reading += 1) {
    if (Math.abs(ahead() - first) > 1000) return true;
    await sleep(1000 / CLOCK_READINGS);
  }
  return false;
}

const instant = (ms: number): string => new Date(ms).toISOString();
