/** Current traffic for a page: open streams and the newest exchanges, without secrets. */

import { joined } from '../common/http-parser.ts';
import type { TrafficRedactor } from '../common/redact.ts';
import type { Ended, Traffic } from './traffic.ts';

/** Exchange in one line. All texts come from peers, and are untrusted. */
export interface GlanceLine {
  exchange: number;
  /** Start and duration, milliseconds. */
  at: number;
  ms: number;
  method: string;
  url: string;
  client: string;
  status: number | null;
  events: number;
  ended: Ended | null;
}

export interface Glanced {
  underWay: number;
  open: GlanceLine[];
  /** Exchanges that ended since the last call. */
  over: GlanceLine[];
}

const MOST = 100;
/** Exchanges in progress that are followed, a few hundred bytes each. */
const MOST_FOLLOWED = 10_000;
const LONGEST_URL = 500;
const LONGEST_NAME = 120;
/** Factor of the length kept before masking, so that a secret at the cut is not shown in part. */
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

  /** Called after the judging, when the secrets are known. `now`: milliseconds since 1970. */
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

/** Copies the beginning: a slice would keep the whole text in memory. */
const beginning = (text: string, most: number): string => Buffer.from(text.slice(0, ROOM * most)).toString();
