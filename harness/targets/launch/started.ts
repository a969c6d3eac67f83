/**
 * A target that Muster starts itself, by a command or from an image: its options, why one could not be started, and
 * what it wrote.
 */
import { StringDecoder } from 'node:string_decoder';
import type { Recorder } from '../../client/recorder.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { StopSignal } from '../../contract/control.ts';
import type { TargetFiles } from '../files/target-files.ts';
import type { Transport, TransportAddress } from '../transports/transport.ts';

const POLL_MS = 25;
const SLOW_MS = 5000;
const KEPT_CHARACTERS = 4000;
const LAST_LINES = 15;

/** Options of every way to start a target. */
export interface StartOptions {
  env: Record<string, string | undefined>;
  /** Milliseconds within which the target must serve. */
  timeoutMs: number;
  /** Transports by which a ready line may name an address. */
  transports: readonly Transport[];
  notify(text: string): void;
  signal?: AbortSignal | undefined;
}

/** What Muster itself ran, as far as it could be measured. */
export interface Ran {
  readonly of: 'image' | 'executable';
  /** File name of the executable. */
  readonly name?: string;
  /** `sha256:…` */
  readonly digest?: string;
  /** Why there is no digest. */
  readonly problem?: string;
  /** Why the digest does not hold any more; undefined when it does. */
  changed?(): string | undefined;
}

/** Stops and starts the process that Muster started. */
export interface Restarter {
  stop(signal: StopSignal): Promise<void>;
  /** Resolves when the agent serves. An abort of `signal` ends the wait and leaves the agent as it is. */
  start(signal?: AbortSignal): Promise<void>;
  /** How the agent ended, in words; undefined while it runs, and after `stop`. */
  endedByItself?: () => string | undefined;
}

/** A target that serves. */
export interface Started {
  readonly kind: 'command' | 'image';
  readonly at: TransportAddress;
  /** Address of a control API that it announced. */
  readonly control?: string;
  /** Present when Muster itself can stop and start it. */
  readonly restart?: Restarter;
  /** What was started, for a certificate. */
  readonly ran: Ran;
  /** Its files, when they do not lie on this machine. */
  readonly files?: TargetFiles;
  /** What it writes to its standard error in the seconds of a check; absent where that cannot be followed. */
  readonly written?: { during(recorder: Recorder): string };
  /** The end of what it wrote. */
  diagnostics(): Promise<string> | string;
  /** Ends it with everything that it started. */
  close(): Promise<void>;
}

/** The started target cannot be used; the message says why and ends with the last lines that it wrote. */
export class StartFailed extends Error {
  override name = 'StartFailed';
}

/** How a wait for a started target sees that target. */
export interface Waiting extends Pick<StartOptions, 'timeoutMs' | 'signal' | 'notify'> {
  /** The target, as messages call it. */
  name: string;
  /** How it ended, in words; undefined while it runs. */
  ended(): Promise<string | undefined> | string | undefined;
  /** The end of what it wrote so far. */
  output(): Promise<string> | string;
  /** What else a reader should know when it takes too long. */
  hint?(): string | undefined;
}

/** Polls until a target has done `what`. Throws StartFailed when the target ends before that, or takes too long. */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  { timeoutMs, signal, notify, name, ended, output, hint }: Waiting,
): Promise<T> {
  const slowAt = performance.now() + SLOW_MS;
  let isTold = false;
  const lookWhileRunning = async (): Promise<T | undefined> => {
    const found = await look();
    if (found !== undefined) return found;
    // An interrupt of the terminal ends the target as well, and is the reason to report.
    signal?.throwIfAborted();
    const how = await ended();
    if (how !== undefined) throw new StartFailed(`${name} ${how} before it ${what}${lastLines(await output())}`);
    if (!isTold && performance.now() > slowAt) {
      isTold = true;
      notify(`still waiting: ${name} has not ${what}; it has ${timeoutMs / 1000} s`);
    }
    return undefined;
  };
  const found = await pollWithin(what, lookWhileRunning, { timeoutMs, firstPauseMs: POLL_MS, signal });
  if (found !== undefined) return found;
  const more = hint?.();
  throw new StartFailed(
    `${name} is running, but has not ${what} within ${timeoutMs / 1000} ` +
      `s${more === undefined ? '' : ` (${more})`}${lastLines(await output())}`,
  );
}

/** Keeps the last characters of what a program writes, for messages about it. */
export class OutputTail {
  readonly #limit: number;
  readonly #decoder = new StringDecoder('utf8');
  #kept = '';
  #cut = false;

  /** `limit`: characters that are kept. */
  constructor(limit: number = KEPT_CHARACTERS) {
    this.#limit = limit;
  }

  add(output: Buffer | string): void {
    const all = this.#kept + this.#decoder.write(output);
    this.#cut ||= all.length > this.#limit;
    this.#kept = all.slice(-this.#limit);
  }

  /** The mark tells the reader, and the redactor, that the beginning is missing. */
  get text(): string {
    return this.#cut ? `…${this.#kept}` : this.#kept;
  }
}

/** The last lines of `output` as the end of a message. */
export function lastLines(output: string): string {
  const lines = output.trim().split('\n').slice(-LAST_LINES).join('\n');
  return lines === '' ? '; it wrote nothing' : `; the last lines that it wrote:\n${lines}`;
}

/** What a program writes, line by line, whatever the pieces in which it comes. */
export class Lines {
  readonly #onLine: (text: string) => void;
  readonly #longest: number;
  readonly #decoder = new StringDecoder('utf8');
  #pieces: string[] = [];
  #length = 0;

  /** `longest`: characters of one line; of a longer one the rest is dropped. */
  constructor(longest: number, onLine: (text: string) => void) {
    this.#longest = longest;
    this.#onLine = onLine;
  }

  add(output: Buffer): void {
    const [first = '', ...more] = this.#decoder.write(output).split('\n');
    this.#keep(first);
    for (const piece of more) {
      this.#flush();
      this.#keep(piece);
    }
  }

  /** What has no line end is a line too. */
  end(): void {
    if (this.#length > 0) this.#flush();
  }

  #keep(piece: string): void {
    const kept = piece.slice(0, this.#longest - this.#length);
    if (kept === '') return;
    this.#pieces.push(kept);
    this.#length += kept.length;
  }

  #flush(): void {
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#onLine(line);
  }
}
