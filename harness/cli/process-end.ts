/**
 * Ends the process early: on a signal, an output that cannot be written, or an unhandled error, which is a fault in
 * Muster. Node itself would exit with the code of a failed MUST.
 */

import process from 'node:process';
import { ENDING_SIGNALS, type EndingSignal, Interrupted, interruptedCode } from '../common/signals.ts';
import { EXIT } from '../common/usage.ts';

type Handler = (error: unknown) => void;

let handler: Handler | undefined;
let mayOutputsFail = false;

/**
 * Goes on without a failed output, so that files are still written. A fault such as a full disk is named on the other
 * output, and makes a good exit code `EXIT.harness`; a reader that left (`| head`, a terminal) does not.
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

/** Tolerates faults of outputs until disposal: clients need the process more than its messages. */
export function outputsMayFail(): Disposable {
  mayOutputsFail = true;
  return {
    [Symbol.dispose]: () => {
      mayOutputsFail = false;
    },
  };
}

/** Passes the first fault to `take` alone until disposal; `take` ends the work. */
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
      // A second fault means that the command does not end.
      handler = undefined;
      if (take === undefined) process.exit(EXIT.harness);
      take(error);
    });
  }
}

/**
 * Aborts with Interrupted on the first SIGHUP, SIGINT or SIGTERM until disposal, to close resources and write a report;
 * a second signal exits at once. Signals within `togetherMs` milliseconds count as one.
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
