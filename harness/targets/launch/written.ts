/** What a target writes to its standard error, with the time of each line: a finding shows those of its own seconds. */

import type { Recorder } from '../../client/recorder.ts';
import { Lines } from './started.ts';

/** Lines that are kept, and characters of each. */
const KEPT = 500;
const LONGEST = 1000;
/** The last exchanges of a check, those that its finding shows, begin its seconds. */
const EXCHANGES = 8;

export class Written {
  readonly #kept: { at: number; text: string }[] = [];
  readonly #lines = new Lines(LONGEST, (text) => {
    this.#kept.push({ at: performance.now(), text });
    if (this.#kept.length > KEPT) this.#kept.shift();
  });

  add(output: Buffer): void {
    this.#lines.add(output);
  }

  /** What came since that moment of `performance.now()`. */
  since(moment: number): string {
    return this.#kept
      .filter(({ at }) => at >= moment)
      .map(({ text }) => text)
      .join('\n');
  }

  /** What the target wrote in the seconds of a check's finding. */
  during(recorder: Recorder): string {
    return withoutOwnDoing(this.since(recorder.beginOfLast(EXCHANGES)));
  }
}

/** That the other side, which is Muster, closed the connection. */
const CLOSED =
  /\b(?:BrokenPipeError|Connection(?:Reset|Aborted)Error|EPIPE|ECONNRESET|ECONNABORTED)\b|broken pipe|reset by peer/i;
/** What stands above the error in a trace of Python and its servers, and below it in one of JavaScript. */
const ABOVE =
  /^\s+(?!\s|at )|^-{10,}$|^Traceback \(most recent|^Exception (?:occurred|ignored)|^During handling of|^The above exc/;
const BELOW = /^\s+at |^-{10,}$/;

/** Without traces and lines that say only that Muster has closed a connection, as it does at the end of every check. */
export function withoutOwnDoing(text: string): string {
  const lines = text.split('\n');
  const dropped = new Set<number>();
  const dropWhile = (belongs: RegExp, from: number, step: number): void => {
    for (let at = from; belongs.test(lines[at] ?? 'past the end'); at += step) dropped.add(at);
  };
  for (const [at, line] of lines.entries()) {
    if (!CLOSED.test(line)) continue;
    dropped.add(at);
    dropWhile(ABOVE, at - 1, -1);
    dropWhile(BELOW, at + 1, 1);
  }
  return lines.filter((_, at) => !dropped.has(at)).join('\n');
}
