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
  /** Exchanges that are under way. */
  underWay: number;
  /** The oldest of them, the oldest first. */
  open: GlanceLine[];
  /** That have ended since the last time. */
  over: GlanceLine[];
}

/** Exchanges that are shown, of each kind. */
const MOST = 100;
/** Exchanges under way that are followed, of a few hundred bytes each. */
const MOST_FOLLOWED = 10_000;
const LONGEST_URL = 500;
const LONGEST_NAME = 120;
/** How many times that is kept until it is masked: of a secret that is cut in two, nothing is shown. */
const ROOM = 2;

interface Followed {
  line: GlanceLine;
  isMasked: boolean;
}

export class Glance {
  readonly #redactor: TrafficRedactor;
  readonly #open = new Map<number, Followed>();
  #over: Followed[] = [];
  #underWay = 0;

  constructor(redactor: TrafficRedactor) {
    this.#redactor = redactor;
  }

  take(traffic: Traffic): void {
    if (traffic.kind === 'request') this.#underWay += 1;
    else if (traffic.kind === 'over') this.#underWay -= 1;
    if (traffic.kind === 'request') this.#begin(traffic);
    else if ('exchange' in traffic) {
      const known = this.#open.get(traffic.exchange);
      if (known !== undefined) this.#goOn(known, traffic);
    }
  }

  /** Called after what was taken is judged: by then the secrets in it are known. `now`: milliseconds since 1970. */
  look(now: number): Glanced {
    const over = this.#over.splice(0).map((each) => this.#shown(each));
    const open = [...this.#open.values().take(MOST)].map((each) => this.#shown(each));
    const lasting = open.map((line) => ({ ...line, ms: Math.max(0, now - line.at) }));
    return { underWay: this.#underWay, open: lasting, over };
  }

  #begin({ at, exchange, method, target, headers }: Extract<Traffic, { kind: 'request' }>): void {
    if (this.#open.size >= MOST_FOLLOWED) return;
    const { 'user-agent': agent = '' } = joined(headers);
    const texts = {
      method: beginning(method, LONGEST_NAME),
      url: beginning(target, LONGEST_URL),
      client: beginning(agent, LONGEST_NAME),
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
      Object.assign(known.line, {
        method: this.#redactor.text(method).slice(0, LONGEST_NAME),
        client: this.#redactor.text(client).slice(0, LONGEST_NAME),
        url: this.#redactor.url(url).slice(0, LONGEST_URL),
      });
      known.isMasked = true;
    }
    return { ...known.line };
  }
}

/** A text of its own: a part would keep all of it in memory. */
const beginning = (text: string, most: number): string => Buffer.from(text.slice(0, ROOM * most)).toString();
