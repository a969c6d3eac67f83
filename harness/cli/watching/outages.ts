/** Outages of the watched server, and failed TLS handshakes of clients. */
import { readableDuration } from '../../common/durations.ts';
import { plural } from '../../reports/findings.ts';

/** Outages to report; more of a server that flaps say nothing new. */
const MOST_TOLD = 20;

export interface OutageListener {
  say(text: string): void;
  /** Receives the reason of an outage, null at its end. */
  changed?(why: string | null): void;
  now?(): number;
}

export class Outages {
  readonly #telling: OutageListener;
  readonly #now: () => number;
  #since: number | undefined;
  /** Last failed attempt, since the outage's end is unknown. */
  #last = 0;
  #times = 0;
  #longestMs = 0;
  /** Failed TLS handshakes, and the reason of the first. */
  #handshakes = 0;
  #firstWhy = '';

  constructor(telling: OutageListener) {
    this.#telling = telling;
    this.#now = telling.now ?? (() => performance.now());
  }

  /** Records a failed connection to the server. */
  refused(why: string): void {
    this.#last = this.#now();
    if (this.#since !== undefined) return;
    this.#since = this.#last;
    this.#times += 1;
    this.#tell(`the server cannot be reached: ${why}; connections of clients are closed until it is back`);
    this.#telling.changed?.(why);
  }

  /** Records a connection to the server. */
  reached(): void {
    if (this.#since === undefined) return;
    const lasted = this.#lastsMs;
    this.#longestMs = Math.max(this.#longestMs, lasted);
    this.#since = undefined;
    this.#tell(`the server is back${lasted === 0 ? '' : `, after at least ${readableDuration(lasted)}`}`);
    this.#telling.changed?.(null);
  }

  /** Records a failed handshake. A client that does not trust the certificate fails at each attempt. */
  handshakeFailed(why: string): void {
    this.#handshakes += 1;
    if (this.#handshakes > 1) return;
    this.#firstWhy = why;
    this.#telling.say(`the TLS handshake of a client failed: ${why}; further ones are counted in the report`);
  }

  get words(): string[] {
    const failed = `${plural(this.#handshakes, 'TLS handshake')} of clients failed; the first: ${this.#firstWhy}`;
    return [...this.#outages, ...(this.#handshakes === 0 ? [] : [failed])];
  }

  get #outages(): string[] {
    if (this.#times === 0) return [];
    const ms = Math.max(this.#longestMs, this.#lastsMs);
    const longest = ms === 0 ? '' : `, once for at least ${readableDuration(ms)}`;
    const end = this.#since === undefined ? '' : ', and was not reached again';
    return [`the server could not be reached ${plural(this.#times, 'time')}${longest}${end}`];
  }

  /** Duration of the current outage, from its first failed attempt to the last. */
  get #lastsMs(): number {
    return this.#since === undefined ? 0 : Math.round(this.#last - this.#since);
  }

  #tell(text: string): void {
    if (this.#times < MOST_TOLD) this.#telling.say(text);
    else if (this.#times === MOST_TOLD && this.#since !== undefined)
      this.#telling.say(`${text}; further times are in the report`);
  }
}
