/** Signals by which a user, a terminal or a service manager ends a command, and the exit code that each leads to. */
import process from 'node:process';
import { EXIT } from './usage.ts';

const CODES = { SIGHUP: EXIT.hungUp, SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;
/** A closed terminal or a lost connection, Ctrl+C, and what `kill` sends. */
export type EndingSignal = keyof typeof CODES;
export const ENDING_SIGNALS = Object.keys(CODES) as EndingSignal[];

/** Why a command that had something to decide ends before it has. */
export class Interrupted extends Error {
  override name = 'Interrupted';
  readonly by: EndingSignal;

  constructor(by: EndingSignal) {
    super('interrupted');
    this.by = by;
  }
}

/** The exit code of a command that was aborted by that. */
export const interruptedCode = ({ reason }: AbortSignal): number =>
  reason instanceof Interrupted ? CODES[reason.by] : EXIT.interrupted;

/**
 * Resolves when a command that serves is told to end: with the signal, and with the exit code, which is 0 where that is
 * how a server is ended. Further signals change nothing, so that it can tidy up.
 */
export function untilSignal(): Promise<{ signal: EndingSignal; code: number }> {
  return new Promise((resolve) => {
    for (const signal of ENDING_SIGNALS)
      process.on(signal, () => resolve({ signal, code: signal === 'SIGHUP' ? CODES[signal] : EXIT.conformant }));
  });
}
