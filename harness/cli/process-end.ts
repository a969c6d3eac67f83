/**
 * What ends the process before its command does: a signal of the user, an output that cannot be written, and errors
 * that nobody awaits, which are faults in Muster (without a handler, Node would exit with the code of a failed MUST).
 */

import process from 'node:process';
import { ENDING_SIGNALS, type EndingSignal, Interrupted, interruptedCode } from '../common/signals.ts';
import { EXIT } from '../common/usage.ts';

type Handler = (error: unknown) => void;

let handler: Handler | undefined;
let mayOutputsFail = false;

/**
 * A reader may close early (`| head`), and a terminal too; files are still written, and the exit code still says what
 * was found. Any other fault of an output ends the process.
 */
export function watchOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!mayOutputsFail && error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

/** Until it is disposed of, no fault of an output ends the process: others depend on it more than on what it says. */
export function outputsMayFail(): Disposable {
  mayOutputsFail = true;
  return {
    [Symbol.dispose]: () => {
      mayOutputsFail = false;
    },
  };
}

/** Until it is disposed of, the first such error goes to `take` alone, which ends what is going on with its result. */
export function takeFaults(take: Handler): Disposable {
  handler = take;
  return {
    [Symbol.dispose]: () => {
      handler = undefined;
    },
  };
}

/**
 * From now on such an error ends the process with `EXIT.harness`: at once, or after the command that took it has ended.
 */
export function watchForFaults(report: Handler): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      report(error);
      const take = handler;
      // A second one may be the first again: the command is not coming to its end.
      handler = undefined;
      if (take === undefined) process.exit(EXIT.harness);
      take(error);
    });
  }
}

/**
 * Until it is disposed of: aborts with Interrupted on the first SIGHUP, SIGINT or SIGTERM, so that what was opened is
 * closed and a report is still written; a second one ends at once. Those of the first `togetherMs` are one.
 */
export function interruptSignal(togetherMs = 0): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  let first: number | undefined;
  const onSignal = (name: EndingSignal): void => {
    first ??= performance.now();
    if (performance.now() - first < togetherMs && signal.aborted) return;
    // A terminal that closes may send SIGHUP twice, by itself and by its shell, and nobody is in a hurry then.
    if (signal.aborted && name !== 'SIGHUP') process.exit(interruptedCode(signal));
    controller.abort(new Interrupted(name));
  };
  for (const name of ENDING_SIGNALS) process.on(name, onSignal);
  return {
    signal,
    [Symbol.dispose]: () => {
      for (const name of ENDING_SIGNALS) process.off(name, onSignal);
    },
  };
}
