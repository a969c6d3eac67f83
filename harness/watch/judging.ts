import { createHash } from 'node:crypto';
import { isCoded } from '../client/body.ts';
import type { Asked, ExchangeEnd, RequestSeen } from '../client/happening.ts';
import { SseParser } from '../client/sse-parser.ts';
import { defined } from '../common/defined.ts';
import { isEventStream, joined, type Pairs } from '../common/http-parser.ts';
import { isModest, jsonOf, madeOnce } from '../common/lenient.ts';
import { isOrdinary } from '../common/redact.ts';
import { TrafficRedactor } from '../common/traffic-redactor.ts';
import { DEVICE_API_PREFIX, DIALECTS, NAMES_BY_DIALECT } from '../contract/versions.ts';
import { type Contradiction, History, type Rule, type RuleOutcome } from '../runner/rules.ts';
import { LONGEST_SHOWN, RequestEvidence, type ServerAddress, type Traffic, wholeText } from './traffic.ts';

export interface PlainJudged {
  sightings: number;
  broken?: { finding: Contradiction; seen: readonly { check: string; asked: Asked; text: string }[] };
  fault?: string;
}

export interface Seen {
  connections: number;
  exchanges: number;
  /** Answers with a final status (200 or above), even if the rest of the answer is missing. */
  answers: number;
  events: number;
  lost: Record<string, number>;
  unread: Record<string, number>;
}

export interface Concluded {
  judged: Readonly<Record<string, PlainJudged>>;
  seen: Seen;
}

interface JudgeOptions {
  checks: readonly { readonly id: string; readonly rule?: () => Rule }[];
  place: ServerAddress;
  found(id: string, judged: PlainJudged): void;
  /** Counts repeated violations, too; `found` still reports only the first violation. */
  counts?: boolean;
  chosen?: ReadonlySet<string>;
}

/** Request headers that rules read; remembered requests keep no others, to save memory. */
const READ = new Set([
  ...['accept', 'authorization', 'content-type', 'cookie', 'last-event-id', 'user-agent', 'x-api-key'],
  ...DIALECTS.map((name) => NAMES_BY_DIALECT[name].versionHeader.toLowerCase()),
]);
const READ_OF_ANSWERS = new Set(['content-type', 'date', 'retry-after']);
const LONGEST_FIELD = 2000;
const LONGEST_AGENT = 300;

interface Exchange {
  readonly request: RequestSeen & { body?: string | undefined };
  readonly asked: RequestEvidence;
  readonly connection: number;
  readonly isOfApi: boolean;
  readonly isOfEvents: boolean;
  readonly told: { readonly request?: RequestSeen };
  readonly stream: object;
  parser?: SseParser;
  status?: number;
  answer?: ReturnType<typeof answeringOf>;
}

export class TrafficJudge {
  readonly redactor = new TrafficRedactor();
  readonly seen: Seen = { connections: 0, exchanges: 0, answers: 0, events: 0, lost: {}, unread: {} };
  readonly broken: Record<string, number> = {};
  readonly #options: JudgeOptions;
  readonly #history: History;
  readonly #happened: ReturnType<History['of']>;
  readonly #exchanges = new Map<number, Exchange>();
  readonly #connections = new Map<number, { open: boolean }>();
  readonly #secrets = new Set<string>();
  readonly #accepted = new Set<string>();

  constructor(options: JudgeOptions) {
    this.#options = options;
    const { checks, counts = false } = options;
    this.#history = new History(checks, (id, judged) => this.#ended(id, judged), { renews: counts });
    this.#happened = this.#history.of('traffic');
  }

  judged(): Record<string, PlainJudged> {
    const ids = this.#options.checks.filter(({ rule }) => rule !== undefined).map(({ id }) => id);
    return Object.fromEntries(ids.map((id) => [id, this.#plain(this.#history.judged(id))]));
  }

  get decided(): number {
    const { checks, chosen } = this.#options;
    return checks.filter(({ id }) => chosen?.has(id) !== false && this.#history.judged(id).sightings > 0).length;
  }

  /** Masks the credentials of a request from now on; called before a recording takes the request. */
  learn(traffic: Traffic): void {
    if (traffic.kind !== 'request') return;
    for (const secret of askingOf(traffic.headers).secrets) {
      // Leaves ordinary words unmasked, because masking them makes output unreadable.
      if (isOrdinary(secret) || this.#secrets.has(secret)) continue;
      this.redactor.addWord(secret);
      this.#keepIn(this.#secrets, secret);
    }
  }

  take(traffic: Traffic): void {
    this.learn(traffic);
    if (traffic.kind === 'opened') this.seen.connections += 1;
    else if (traffic.kind === 'request') this.#request(traffic);
    else if (traffic.kind === 'closed') {
      const known = this.#connections.get(traffic.connection);
      if (known !== undefined) known.open = false;
      this.#connections.delete(traffic.connection);
    } else if (traffic.kind === 'lost') {
      // Forgets a lost connection; rules treat it as open, because its end is unknown.
      this.#connections.delete(traffic.connection);
      count(this.seen.lost, this.#reason(traffic.why));
    } else if (traffic.kind === 'refused')
      count(this.seen.lost, `no connection to the server: ${this.#reason(traffic.why)}`);
    else {
      const exchange = this.#exchanges.get(traffic.exchange);
      if (exchange !== undefined) this.#ofExchange(traffic, exchange);
    }
  }

  /** Reports every fault, but only the first finding of a rule, because formatting takes longer than judging. */
  #ended(id: string, judged: RuleOutcome): void {
    if (judged.broken !== undefined) this.broken[id] = (this.broken[id] ?? 0) + 1;
    if (judged.fault !== undefined || this.broken[id] === 1) this.#options.found(id, this.#plain(judged));
  }

  #reason(why: string): string {
    return this.redactor.excerpt(why, 200);
  }

  #request(traffic: Extract<Traffic, { kind: 'request' }>): void {
    const { at, connection, exchange, method, target: sent, headers, lacksHeaders = false, origin } = traffic;
    const { place } = this.#options;
    const { base, isAnywhere = false } = place;
    const server = origin === undefined ? place : { ...place, origin };
    const known = madeOnce(this.#connections, connection, () => ({ open: true }));
    const { read, longest, isForwarded, client, shown } = askingOf(headers);
    const target = own(sent);
    // Reads addresses and headers of up to 8192 characters; no client of the API sends more.
    const isReadable = Math.max(target.length, longest) <= 8192;
    if (!isReadable) count(this.seen.unread, 'of a request whose head is too long');
    const path = target.split('?', 1)[0] ?? '';
    const isBelow = path === base || target.startsWith(`${base}/`) || (isAnywhere && path.includes(`${base}/`));
    const isOfApi = isReadable && isBelow;
    const request = {
      method,
      target,
      path,
      headers: read,
      client,
      at,
      connection: isForwarded ? { open: true } : known,
    };
    this.#exchanges.set(exchange, {
      request,
      told: lacksHeaders ? {} : { request },
      asked: new RequestEvidence({ method, target, headers: shown }, server, this.redactor),
      connection,
      isOfApi,
      // Excludes event streams outside the API, because a web page may have its own.
      isOfEvents: isOfApi && [base, DEVICE_API_PREFIX].some((each) => path.endsWith(`${each}/events`)),
      stream: {},
    });
  }

  #ofExchange(traffic: Extract<Traffic, { exchange: number }>, exchange: Exchange): void {
    const { asked, request, told, isOfApi } = exchange;
    if (traffic.kind === 'asked') {
      request.body = wholeText(traffic.body);
      asked.body = beginning(request.body);
      if (isOfApi && told.request !== undefined) this.#happened({ kind: 'asked', asked, request });
    } else if (traffic.kind === 'response') {
      exchange.status = traffic.status;
      if (traffic.status >= 200) this.seen.answers += 1;
      exchange.answer = answeringOf(traffic.headers);
      asked.status = traffic.status;
      if (traffic.status >= 200 && traffic.status < 300)
        for (const secret of secretsOf(request.headers))
          if (!this.#secrets.has(secret)) this.#keepIn(this.#accepted, secret);
      asked.duration_ms = traffic.at - request.at;
    } else if (traffic.kind === 'frame') this.#frame(traffic.fields, traffic.at, exchange);
    else if (traffic.kind === 'over') {
      this.#exchanges.delete(traffic.exchange);
      this.seen.exchanges += 1;
      if (isOfApi) this.#over(traffic, exchange);
    }
  }

  #frame(fields: Pairs, at: number, exchange: Exchange): void {
    const { asked, stream, told, isOfEvents } = exchange;
    exchange.parser ??= new SseParser({
      frame: (frame) => {
        if (!isOfEvents) return;
        if (frame.dispatched) this.seen.events += 1;
        this.#happened({ kind: 'frame', asked, stream, frame, ...told });
      },
    });
    exchange.parser.push(Buffer.from(`${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`), at);
  }

  #over({ ended, at, body, torn }: Extract<Traffic, { kind: 'over' }>, exchange: Exchange): void {
    const { asked, request, told, status, parser } = exchange;
    const { headers, read } = exchange.answer ?? {};
    asked.duration_ms = at - request.at;
    asked.isOver = true;
    request.body = beginning(request.body);
    if (isEventStream(status, headers?.['content-type']) && isCoded(headers?.['content-encoding']))
      count(this.seen.unread, 'an event stream in a content coding is not read');
    else if (ended === 'whole' && status !== undefined && headers !== undefined && parser === undefined) {
      const text = wholeText(body);
      if (text === undefined || !isModest(text)) {
        const isText = text !== undefined || body?.cut !== undefined;
        if (body?.cut?.sha256 !== '') count(this.seen.unread, isText ? 'too large' : 'no UTF-8');
      } else {
        const answer = { status, headers, text, json: text === '' ? undefined : jsonOf(text) };
        this.#happened({ kind: 'answer', asked, path: request.target, answer, ...told });
      }
    }
    if (told.request === undefined) return;
    const began = ended === 'whole' ? undefined : beginning(body?.text);
    const over: ExchangeEnd = { ended, at, ...defined({ status, headers: read, torn, began }) };
    this.#happened({ kind: 'over', asked, request, over });
  }

  #keepIn(kept: Set<string>, secret: string): void {
    // Masks 20 credentials of each set in every encoding, and further ones only unencoded.
    if (kept.size >= 20 || secret.length > 1000 || kept.has(secret)) return;
    kept.add(secret);
    this.redactor.add(secret);
  }

  #plain({ sightings, broken, fault }: RuleOutcome): PlainJudged {
    const seen = broken?.seen.map(({ check, asked, text }) => ({
      check,
      asked: asked instanceof RequestEvidence ? asked.plain : asked,
      text: this.redactor.body(text(), false),
    }));
    return {
      sightings,
      ...(broken !== undefined && { broken: { finding: this.#finding(broken.finding), seen: seen ?? [] } }),
      ...(fault !== undefined && { fault: this.redactor.text(fault instanceof Error ? `${fault.stack}` : `${fault}`) }),
    };
  }

  #finding({ expected, actual, counterexample }: Contradiction): Contradiction {
    return {
      expected: this.redactor.text(expected),
      actual: this.redactor.value(actual instanceof Error ? actual.message : actual),
      ...(counterexample !== undefined && { counterexample: this.redactor.value(counterexample) }),
    };
  }
}

/** Copies the text, because a slice keeps the whole text in memory. */
const own = (text: string): string => Buffer.from(text).toString();
const beginning = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= LONGEST_SHOWN ? text : own(text.slice(0, LONGEST_SHOWN));

type Fields = Readonly<Record<string, string>>;

const only = (names: ReadonlySet<string>, fields: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (names.has(name) ? [[name, own(value)]] : [])));

const shownOf = (fields: Fields): Fields =>
  Object.values(fields).every(({ length }) => length <= LONGEST_FIELD)
    ? fields
    : Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [
          own(name),
          value.length > LONGEST_FIELD ? `${own(value.slice(0, LONGEST_FIELD))}…` : own(value),
        ]),
      );

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
/** Headers of a proxy, which sends requests of many clients on one connection. */
const FORWARDING = ['via', 'forwarded', 'x-forwarded-for'];
const IDENTITY = ['user-agent', 'x-api-key', 'authorization', ...FORWARDING];

/** Caches by header object, because equal headers are usually the same object. */
function readOnce<T extends object>(read: (fields: Pairs) => T): (fields: Pairs) => T {
  const known = new WeakMap<Pairs, T>();
  return (fields) => madeOnce(known, fields, () => read(fields));
}

const askingOf = readOnce((headers) => {
  const fields = joined(headers);
  const { 'user-agent': agent = '' } = fields;
  const short = agent.length > LONGEST_AGENT ? `${agent.slice(0, LONGEST_AGENT)}… ${hashOf(agent)}` : undefined;
  const read = only(READ, { ...fields, ...defined({ 'user-agent': short }) });
  return {
    secrets: secretsOf(fields),
    read,
    shown: shownOf(fields),
    // Hashes the identity, because rules remember many clients and must hold no secret.
    client: hashOf(JSON.stringify(IDENTITY.map((name) => fields[name]))),
    longest: Math.max(0, ...Object.values(read).map(({ length }) => length)),
    isForwarded: FORWARDING.some((name) => fields[name] !== undefined),
  };
});

const answeringOf = readOnce((pairs) => {
  const headers: Fields = joined(pairs);
  return { headers, read: only(READ_OF_ANSWERS, headers) };
});

const secretsOf = ({ 'x-api-key': key, authorization = '' }: Fields): string[] =>
  [key, /^Bearer +(\S+)$/i.exec(authorization)?.[1]]
    .filter((secret) => secret !== undefined)
    .filter((secret) => !secret.includes('***'));

function count(counts: Record<string, number>, reason: string): void {
  // Maximum number of distinct reasons, because a peer may cause any number.
  const known = Object.hasOwn(counts, reason) || Object.keys(counts).length < 50 ? reason : 'other reasons';
  counts[known] = (counts[known] ?? 0) + 1;
}
