/** Standard error of a target with the time of each line, so that a finding shows the lines of its own seconds. */

import type { Recorder } from '../../client/recorder.ts';
import { Lines } from './started.ts';

const KEPT = 500;
const LONGEST = 1000;
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

  since(moment: number): string {
    return this.#kept
      .filter(({ at }) => at >= moment)
      .map(({ text }) => text)
      .join('\n');
  }

  during(recorder: Recorder): string {
    return withoutOwnDoing(this.since(recorder.beginOfLast(EXCHANGES)));
  }
}

/** Error of a server whose connection Muster closed. */
const CLOSED =
  /\b(?:BrokenPipeError|Connection(?:Reset|Aborted)Error|EPIPE|ECONNRESET|ECONNABORTED)\b|broken pipe|reset by peer/i;
/** Trace lines above an error in Python and below one in JavaScript. */
const ABOVE =
  /^\s+(?!\s|at )|^-{10,}$|^Traceback \(most recent|^Exception (?:occurred|ignored)|^During handling of|^The above exc/;
const BELOW = /^\s+at |^-{10,}$/;

/** Removes traces and lines about connections that Muster closed, as at the end of every check. */
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
