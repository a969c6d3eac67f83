/**
 * Ends the process early: on a signal of the user, an output that cannot be written, or an unhandled error, which is a
 * fault in Muster. Without a handler, Node would exit with the code of a failed MUST.
 */

import process from 'node:process';
import { ENDING_SIGNALS, type EndingSignal, Interrupted, interruptedCode } from '../common/signals.ts';
import { EXIT } from '../common/usage.ts';

type Handler = (error: unknown) => void;

let handler: Handler | undefined;
let mayOutputsFail = false;

/**
 * Goes on without an output that fails, so that files are still written. A full disk or another fault is named on the
 * other output, and turns a good exit code into `EXIT.harness`; a reader that left (`| head`, a terminal) does not.
 */
export function watchOutputs(): void {
  for (const [name, stream, other] of [
    ['standard output', process.stdout, process.stderr],
    ['standard error', process.stderr, process.stdout],
  ] as const) {
    stream.once('error', ({ code }: NodeJS.ErrnoException) => {
      stream.on('error', () => {});
      if (mayOutputsFail || code === 'EPIPE' || code === 'EIO') return;
      other.write(`muster: ${name} cannot be written (${code})\n`);
      process.once('exit', (exitCode) => {
        if (exitCode === EXIT.conformant) process.exitCode = EXIT.harness;
      });
    });
  }
}

/** Tolerates every fault of an output until disposal: clients depend on the process more than on its messages. */
export function outputsMayFail(): Disposable {
  mayOutputsFail = true;
  return {
    [Symbol.dispose]: () => {
      mayOutputsFail = false;
    },
  };
}

/** Passes the first fault to `take` alone until disposal; `take` ends the work in progress. */
export function takeFaults(take: Handler): Disposable {
  handler = take;
  return {
    [Symbol.dispose]: () => {
      handler = undefined;
    },
  };
}

/** Ends the process with `EXIT.harness` on a fault: at once, or after the command that took it. */
export function watchForFaults(report: Handler): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      report(error);
      const take = handler;
      // Taken once: a second fault means that the command does not come to its end.
      handler = undefined;
      if (take === undefined) process.exit(EXIT.harness);
      take(error);
    });
  }
}

/**
 * Aborts with Interrupted on the first SIGHUP, SIGINT or SIGTERM, until disposal, so that resources are closed and a
 * report is written; a second signal exits at once. Signals within `togetherMs` milliseconds count as one.
 */
export function interruptSignal(togetherMs = 0): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  let first: number | undefined;
  const onSignal = (name: EndingSignal): void => {
    first ??= performance.now();
    if (performance.now() - first < togetherMs && signal.aborted) return;
    // A closing terminal may send SIGHUP twice, by itself and by its shell.
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
