import { StringDecoder } from 'node:string_decoder';
import type { Recorder } from '../../client/recorder.ts';
import { NamedError } from '../../common/usage.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { StopSignal } from '../../contract/control.ts';
import type { TargetFiles } from '../files/target-files.ts';
import type { Transport, TransportAddress } from '../transports/index.ts';

export interface StartOptions {
  env: Record<string, string | undefined>;
  timeoutMs: number;
  transports: readonly Transport[];
  notify(text: string): void;
  signal?: AbortSignal | undefined;
}

export interface MeasuredImplementation {
  readonly of: 'image' | 'executable';
  readonly name?: string;
  readonly digest?: string;
  readonly problem?: string;
  changed?(): string | undefined;
}

export interface Restarter {
  stop(signal: StopSignal): Promise<void>;
  /** Resolves once the agent serves; an abort ends only the wait. */
  start(signal?: AbortSignal): Promise<void>;
  endedByItself?: () => string | undefined;
}

export interface Started {
  readonly kind: 'command' | 'image';
  readonly at: TransportAddress;
  readonly control?: string;
  readonly restart?: Restarter;
  readonly ran: MeasuredImplementation;
  readonly files?: TargetFiles;
  readonly written?: { during(recorder: Recorder): string };
  diagnostics(): Promise<string> | string;
  close(): Promise<void>;
}

/** Failed start of a target; in errors of `waitUntil`, the message ends with the target's last output. */
export class StartFailed extends NamedError {}

export interface Waiting extends Pick<StartOptions, 'timeoutMs' | 'signal' | 'notify'> {
  name: string;
  ended(): Promise<string | undefined> | string | undefined;
  output(): Promise<string> | string;
  hint?(): string | undefined;
}

/** Throws StartFailed if the target ends first, or after `timeoutMs`; `what` completes the message. */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  { timeoutMs, signal, notify, name, ended, output, hint }: Waiting,
): Promise<T> {
  const slowAt = performance.now() + 5000;
  let isTold = false;
  const lookWhileRunning = async (): Promise<T | undefined> => {
    const found = await look();
    if (found !== undefined) return found;
    // Checks for an abort first, so that an interrupt is not reported as a failed start if the target also ended.
    signal?.throwIfAborted();
    const how = await ended();
    if (how !== undefined) throw new StartFailed(`${name} ${how} before it ${what}${lastLines(await output())}`);
    if (!isTold && performance.now() > slowAt) {
      isTold = true;
      notify(`still waiting: ${name} has not ${what}; it has ${timeoutMs / 1000} s`);
    }
    return undefined;
  };
  const found = await pollWithin(what, lookWhileRunning, { timeoutMs, signal });
  if (found !== undefined) return found;
  const more = hint?.();
  throw new StartFailed(
    `${name} is running, but has not ${what} within ${timeoutMs / 1000} ` +
      `s${more === undefined ? '' : ` (${more})`}${lastLines(await output())}`,
  );
}

export class OutputTail {
  readonly #limit: number;
  readonly #decoder = new StringDecoder('utf8');
  #kept = '';
  #cut = false;

  constructor(limit: number = 4000) {
    this.#limit = limit;
  }

  add(output: Buffer | string): void {
    const all = this.#kept + this.#decoder.write(output);
    this.#cut ||= all.length > this.#limit;
    this.#kept = all.slice(-this.#limit);
  }

  get text(): string {
    return this.#cut ? `…${this.#kept}` : this.#kept;
  }
}

export function lastLines(output: string): string {
  const lines = output.trim().split('\n').slice(-15).join('\n');
  return lines === '' ? '; it wrote nothing' : `; the last lines that it wrote:\n${lines}`;
}

export class Lines {
  readonly #onLine: (text: string) => void;
  readonly #longest: number;
  readonly #decoder = new StringDecoder('utf8');
  #pieces: string[] = [];
  #length = 0;

  constructor(longest: number, onLine: (text: string) => void) {
    this.#longest = longest;
    this.#onLine = onLine;
  }

  add(output: Buffer): void {
    for (const [at, piece] of this.#decoder.write(output).split('\n').entries()) {
      if (at > 0) this.#flush();
      const kept = piece.slice(0, this.#longest - this.#length);
      if (kept !== '') this.#pieces.push(kept);
      this.#length += kept.length;
    }
  }

  end(): void {
    if (this.#length > 0) this.#flush();
  }

  #flush(): void {
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#onLine(line);
  }
}

export class Written {
  readonly #kept: { at: number; text: string }[] = [];
  readonly lines = new Lines(1000, (text) => {
    this.#kept.push({ at: performance.now(), text });
    if (this.#kept.length > 500) this.#kept.shift();
  });

  since(moment: number): string {
    const kept = this.#kept.filter(({ at }) => at >= moment);
    return kept.map(({ text }) => text).join('\n');
  }

  during(recorder: Recorder): string {
    return withoutOwnDoing(this.since(recorder.beginOfLast(8)));
  }
}

const CLOSED =
  /\b(?:BrokenPipeError|Connection(?:Reset|Aborted)Error|EPIPE|ECONNRESET|ECONNABORTED)\b|broken pipe|reset by peer/i;
/** Trace lines precede the error in Python, and follow it in JavaScript. */
const ABOVE =
  /^\s+(?!\s|at )|^-{10,}$|^Traceback \(most recent|^Exception (?:occurred|ignored)|^During handling of|^The above exc/;
const BELOW = /^\s+at |^-{10,}$/;

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
