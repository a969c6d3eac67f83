/** Has the rules of a suite judge traffic, as they judge what checks see. */
import { parseJson } from '../client/body.ts';
import type { Asked, Over, RequestSeen } from '../client/happening.ts';
import { SseParser } from '../client/sse-parser.ts';
import { defined } from '../common/defined.ts';
import { TrafficRedactor } from '../common/redact.ts';
import { type Contradiction, History, type Judged, type Rule } from '../runner/rules.ts';
import { type AskedPlace, LONGEST_SHOWN, WatchedAsked } from './asked.ts';
import { joined, type Pairs } from './http-parser.ts';
import type { Body, Traffic } from './traffic.ts';

/** What came of a rule, as data without secrets. */
export interface PlainJudged {
  sightings: number;
  broken?: { finding: Contradiction; seen: readonly { check: string; asked: Asked; text: string }[] };
  fault?: string;
}

/** How much was seen, and what was not. */
export interface Seen {
  connections: number;
  exchanges: number;
  events: number;
  /** Connections that could not be judged to their end, by the reason. */
  lost: Record<string, number>;
  /** Answers that no rule was given, by the reason. */
  unread: Record<string, number>;
}

/** What came of it all. */
export interface Concluded {
  judged: Readonly<Record<string, PlainJudged>>;
  seen: Seen;
}

export interface JudgeOptions {
  checks: readonly { readonly id: string; readonly rule?: () => Rule }[];
  place: AskedPlace;
  /** Called when a rule has found its first violation. */
  found(id: string, judged: PlainJudged): void;
}

/** Who asked, as reports name it. */
const WHO = 'traffic';
/** A credential beyond these is masked where its header or its name tells it. */
const MOST_SECRETS = 20;
/** Reasons are a few; what a peer sends in them is not. */
const MOST_REASONS = 50;

interface Exchange {
  readonly request: RequestSeen & { body?: string | undefined };
  readonly asked: WatchedAsked;
  readonly connection: number;
  /** Below the path of the API. */
  readonly isOfApi: boolean;
  readonly stream: object;
  parser?: SseParser;
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

export class TrafficJudge {
  readonly redactor = new TrafficRedactor();
  readonly seen: Seen = { connections: 0, exchanges: 0, events: 0, lost: {}, unread: {} };
  readonly #options: JudgeOptions;
  readonly #history: History;
  readonly #happened: ReturnType<History['of']>;
  readonly #exchanges = new Map<number, Exchange>();
  readonly #connections = new Map<number, object>();
  readonly #secrets = new Set<string>();

  constructor(options: JudgeOptions) {
    this.#options = options;
    this.#history = new History(options.checks, (id, judged) => options.found(id, this.#plain(judged)));
    this.#happened = this.#history.of(WHO);
  }

  /** What came of all rules so far, by the ids of their checks. */
  judged(): Record<string, PlainJudged> {
    const ids = this.#options.checks.filter(({ rule }) => rule !== undefined).map(({ id }) => id);
    return Object.fromEntries(ids.map((id) => [id, this.#plain(this.#history.judged(id))]));
  }

  take(traffic: Traffic): void {
    if (traffic.kind === 'opened') this.seen.connections += 1;
    else if (traffic.kind === 'request') this.#request(traffic);
    else if (traffic.kind === 'closed') this.#connections.delete(traffic.connection);
    else if (traffic.kind === 'lost') {
      this.#connections.delete(traffic.connection);
      count(this.seen.lost, traffic.why);
    } else if (traffic.kind !== 'refused') {
      const exchange = this.#exchanges.get(traffic.exchange);
      if (exchange !== undefined) this.#ofExchange(traffic, exchange);
    }
  }

  #request({ at, connection, exchange, method, target, headers }: Extract<Traffic, { kind: 'request' }>): void {
    const { place } = this.#options;
    const known = this.#connections.get(connection) ?? {};
    this.#connections.set(connection, known);
    const fields = joined(headers);
    this.#keepSecret(fields['x-api-key']);
    this.#keepSecret(/^Bearer +(\S+)$/i.exec(fields['authorization'] ?? '')?.[1]);
    const { 'user-agent': agent, 'x-api-key': key, authorization } = fields;
    const client = JSON.stringify([agent, key, authorization]);
    this.#exchanges.set(exchange, {
      request: { method, target, path: target.split('?', 1)[0] ?? '', headers: fields, connection: known, client, at },
      asked: new WatchedAsked({ method, target, headers: fields }, place, this.redactor),
      connection,
      isOfApi: target === place.base || target.startsWith(`${place.base}/`) || target.startsWith(`${place.base}?`),
      stream: {},
    });
  }

  #ofExchange(traffic: Extract<Traffic, { exchange: number }>, exchange: Exchange): void {
    const { asked, request, isOfApi } = exchange;
    if (traffic.kind === 'asked') {
      request.body = textOf(traffic.body);
      asked.body = beginning(request.body);
      if (isOfApi) this.#happened({ kind: 'asked', asked, request });
    } else if (traffic.kind === 'response') {
      exchange.status = traffic.status;
      exchange.headers = joined(traffic.headers);
      asked.status = traffic.status;
      asked.duration_ms = traffic.at - request.at;
    } else if (traffic.kind === 'frame') this.#frame(traffic.fields, traffic.at, exchange);
    else if (traffic.kind === 'over') {
      this.#exchanges.delete(traffic.exchange);
      this.seen.exchanges += 1;
      if (isOfApi) this.#over(traffic, exchange);
    }
  }

  /** The fields become text again, so that one parser decides what a block means. */
  #frame(fields: Pairs, at: number, exchange: Exchange): void {
    this.seen.events += 1;
    const { asked, stream, request, isOfApi } = exchange;
    exchange.parser ??= new SseParser({
      frame: (frame) => {
        if (isOfApi) this.#happened({ kind: 'frame', asked, stream, frame, request });
      },
      comment: () => {},
    });
    exchange.parser.push(Buffer.from(`${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`), at);
  }

  #over({ ended, at, body, torn }: Extract<Traffic, { kind: 'over' }>, exchange: Exchange): void {
    const { asked, request, status, headers, parser } = exchange;
    asked.duration_ms = at - request.at;
    if (ended === 'whole' && status !== undefined && headers !== undefined && parser === undefined) {
      const text = textOf(body);
      if (text === undefined) count(this.seen.unread, body?.cut === undefined ? 'no UTF-8' : 'too large');
      else {
        const answer = { status, headers, text, json: text === '' ? undefined : parseJson(text) };
        this.#happened({ kind: 'answer', asked, path: request.target, answer, request });
      }
    }
    const over: Over = { ended, at, ...defined({ status, headers, torn }) };
    this.#happened({ kind: 'over', asked, request, over });
  }

  #keepSecret(secret: string | undefined): void {
    if (secret === undefined || this.#secrets.size >= MOST_SECRETS || this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    this.redactor.add(secret);
  }

  #plain({ sightings, broken, fault }: Judged): PlainJudged {
    const seen = broken?.seen.map(({ check, asked, text }) => ({
      check,
      asked: asked instanceof WatchedAsked ? asked.plain : asked,
      text: this.redactor.body(text(), false),
    }));
    return {
      sightings,
      ...(broken !== undefined && { broken: { finding: this.#finding(broken.finding), seen: seen ?? [] } }),
      ...(fault !== undefined && { fault: this.redactor.text(fault instanceof Error ? `${fault.stack}` : `${fault}`) }),
    };
  }

  #finding({ expected, actual, counterexample }: Contradiction): Contradiction {
    const shown = actual instanceof Error ? actual.message : actual;
    return {
      expected: this.redactor.text(expected),
      actual: this.redactor.value(shown),
      ...(counterexample !== undefined && { counterexample: this.redactor.value(counterexample) }),
    };
  }
}

/** Empty for none; undefined where it is not known whole. */
const textOf = (body: Body | undefined): string | undefined =>
  body === undefined ? '' : body.cut === undefined ? body.text : undefined;

/** A text of its own: a part would keep all of it in memory. */
const beginning = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= LONGEST_SHOWN ? text : Buffer.from(text.slice(0, LONGEST_SHOWN)).toString();

function count(counts: Record<string, number>, reason: string): void {
  const known = reason in counts || Object.keys(counts).length < MOST_REASONS ? reason : 'other reasons';
  counts[known] = (counts[known] ?? 0) + 1;
}
