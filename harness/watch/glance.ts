/** What a page shows of traffic as it goes on: the streams that are open and the newest exchanges, without secrets. */

import { joined } from '../common/http-parser.ts';
import type { TrafficRedactor } from '../common/redact.ts';
import type { Ended, Traffic } from './traffic.ts';

/** An exchange, in a line. All texts are of peers, and may be anything. */
export interface GlanceLine {
  exchange: number;
  /** When it was asked, and for how long it has been going on, milliseconds. */
  at: number;
  ms: number;
  method: string;
  url: string;
  /** As the client calls itself. */
  client: string;
  /** Null as long as there is none. */
  status: number | null;
  events: number;
  /** Null while it is under way. */
  ended: Ended | null;
}

export interface Glanced {
  /** Under way, the oldest first. */
  open: GlanceLine[];
  /** That have ended since the last time. */
  over: GlanceLine[];
}

/** Exchanges that are followed, of each kind. */
const MOST = 100;
const LONGEST_URL = 500;
const LONGEST_NAME = 120;

interface Followed {
  line: GlanceLine;
  isMasked: boolean;
}

export class Glance {
  readonly #redactor: TrafficRedactor;
  readonly #open = new Map<number, Followed>();
  #over: Followed[] = [];
  #now = 0;

  constructor(redactor: TrafficRedactor) {
    this.#redactor = redactor;
  }

  take(traffic: Traffic): void {
    this.#now = traffic.at;
    if (traffic.kind === 'request') this.#begin(traffic);
    else if ('exchange' in traffic) {
      const known = this.#open.get(traffic.exchange);
      if (known !== undefined) this.#goOn(known, traffic);
    }
  }

  /** Called after what was taken is judged: by then the secrets in it are known. */
  look(): Glanced {
    const over = this.#over.splice(0).map((each) => this.#shown(each));
    const open = [...this.#open.values()].map((each) => this.#shown(each));
    return { open: open.map((line) => ({ ...line, ms: Math.max(0, this.#now - line.at) })), over };
  }

  #begin({ at, exchange, method, target, headers }: Extract<Traffic, { kind: 'request' }>): void {
    if (this.#open.size >= MOST) return;
    const { 'user-agent': agent = '' } = joined(headers);
    const texts = {
      method: method.slice(0, LONGEST_NAME),
      url: target.slice(0, LONGEST_URL),
      client: agent.slice(0, LONGEST_NAME),
    };
    const line = { exchange, at, ms: 0, ...texts, status: null, events: 0, ended: null };
    this.#open.set(exchange, { line, isMasked: false });
  }

  #goOn(known: Followed, traffic: Extract<Traffic, { exchange: number }>): void {
    const { line } = known;
    line.ms = traffic.at - line.at;
    if (traffic.kind === 'response') line.status = traffic.status;
    else if (traffic.kind === 'frame') line.events += 1;
    else if (traffic.kind === 'over') this.#end(known, traffic.ended);
  }

  #end(known: Followed, ended: Ended): void {
    known.line.ended = ended;
    this.#open.delete(known.line.exchange);
    this.#over.push(known);
    if (this.#over.length > MOST) this.#over.shift();
  }

  #shown(known: Followed): GlanceLine {
    if (!known.isMasked) {
      const { method, client, url } = known.line;
      const masked = { method: this.#redactor.text(method), client: this.#redactor.text(client) };
      Object.assign(known.line, masked, { url: this.#redactor.url(url) });
      known.isMasked = true;
    }
    return { ...known.line };
  }
}
