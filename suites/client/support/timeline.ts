/** Actions of server and client, as text and as marks on the time axis of the check. */
import type { Axis } from '../../../harness/client/timeline.ts';
import { readableDuration } from '../../../harness/common/units.ts';
import type { Track } from './server.ts';

const LINE_CHARACTERS = 300;

type Who = 'client' | 'server' | 'muster';

export class Timeline {
  readonly #started = performance.now();
  readonly #axis: Axis;
  readonly #first: string[] = [];
  readonly #last: string[] = [];
  readonly #secrets: string[] = [];
  #lines = 0;
  #prints = 0;
  #over = false;

  constructor(axis: Axis) {
    this.#axis = axis;
  }

  hide(secret: string): void {
    this.#secrets.push(secret);
  }

  close(): void {
    this.#over = true;
  }

  starts(what: string): void {
    if (this.#tell('muster', what)) this.#axis.add('restart', this.#clean(what));
  }

  drives(what: string): void {
    if (this.#tell('server', what)) this.#axis.add('drive', this.#clean(what));
  }

  silence(ms: number): void {
    const what = `has waited ${readableDuration(ms)} for a sign of the client`;
    if (this.#tell('muster', what)) this.#axis.add('drive', what);
  }

  printed(line: string): void {
    const before = this.#prints;
    const what = before > 1 ? `prints ${before - 1} more lines, and ${line}` : `prints ${line}`;
    if (before > 1) {
      (this.#last.length > 0 ? this.#last : this.#first).pop();
      this.#lines -= 1;
    }
    if (this.#tell('client', what)) this.#axis.printed(this.#clean(line));
    this.#prints = before + 1;
  }

  ended(how: string): void {
    if (this.#tell('client', how)) this.#axis.add('end', this.#clean(how));
  }

  request(what: string, where = ''): Track {
    const tell = (who: Who, text: string): boolean => this.#tell(who, `${text}${where}`);
    const mark = tell('client', what) ? this.#axis.add('request', this.#clean(`${what}${where}`)) : undefined;
    let stream: ReturnType<Axis['stream']> | undefined;
    return {
      opens: (how) => {
        if (!tell('server', how) || mark === undefined) return;
        this.#axis.ended(mark, `→ ${how}`);
        stream = this.#axis.stream(mark);
      },
      sends: (bytes) => {
        if (tell('server', `sends ${bytes}`)) stream?.came('sent', this.#clean(bytes));
      },
      answers: (how) => {
        if (tell('server', how) && mark !== undefined) this.#axis.ended(mark, `→ ${how}`);
      },
      ends: (who, how) => {
        if (!tell(who, how) || mark === undefined) return;
        if (stream === undefined) this.#axis.ended(mark, `→ ${who} ${how}`);
        else stream.ended(who === 'client' ? 'end' : 'cut', how);
      },
    };
  }

  #clean(text: string): string {
    return this.#secrets.reduce((clean, secret) => clean.replaceAll(secret, '…'), text);
  }

  #tell(who: Who, what: string): boolean {
    if (this.#over) return false;
    this.#prints = 0;
    const seconds = ((performance.now() - this.#started) / 1000).toFixed(3);
    const line = `${seconds} s  ${who}: ${this.#clean(what)}`;
    this.#lines += 1;
    const kept = this.#first.length < 4 ? this.#first : this.#last;
    kept.push(line.length <= LINE_CHARACTERS ? line : `${line.slice(0, LINE_CHARACTERS)}…`);
    if (this.#last.length > 40) this.#last.shift();
    return true;
  }

  get text(): string {
    let room = 1800 - this.#first.join('\n').length;
    const end = this.#last.toReversed().filter((line) => {
      room -= line.length + 1;
      return room >= 0;
    });
    const left = this.#lines - this.#first.length - end.length;
    return [...this.#first, ...(left > 0 ? [`… ${left} more`] : []), ...end.toReversed()].join('\n');
  }
}
