/**
 * Ends the process on signals and errors with exit codes of Muster. After an error, Node itself would exit with 1, the
 * exit code for a failed MUST.
 */
import process from 'node:process';
import { ENDING_SIGNALS, type EndingSignal, EXIT, Interrupted, interruptedCode } from '../common/usage.ts';

type Handler = (error: unknown) => void;

let handler: Handler | undefined;
let mayOutputsFail = false;

/**
 * Keeps the process running if an output fails, so that reports are still written. A full disk turns exit code 0 into
 * `EXIT.harness`; a closed pipe or terminal does not.
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

const undone = (undo: () => void): Disposable => ({ [Symbol.dispose]: undo });

/** Ignores failed outputs until disposal, because `muster watch` must serve clients even without messages. */
export function outputsMayFail(): Disposable {
  mayOutputsFail = true;
  return undone(() => {
    mayOutputsFail = false;
  });
}

/** Sets the handler of the first unhandled error; `take` must end the work. Disposal removes the handler. */
export function takeFaults(take: Handler): Disposable {
  handler = take;
  return undone(() => {
    handler = undefined;
  });
}

export function watchForFaults(report: Handler): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      report(error);
      const take = handler;
      // Without a handler, a second error exits immediately.
      handler = undefined;
      if (take === undefined) process.exit(EXIT.harness);
      take(error);
    });
  }
}

/**
 * Aborts `signal` on the first SIGHUP, SIGINT or SIGTERM. Another SIGINT or SIGTERM ends the process immediately, if it
 * comes at least `togetherMs` milliseconds after the first.
 */
export function interruptSignal(togetherMs = 0): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  let first: number | undefined;
  const onSignal = (name: EndingSignal): void => {
    first ??= performance.now();
    if (performance.now() - first < togetherMs && signal.aborted) return;
    // A closing terminal and its shell may each send SIGHUP.
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
