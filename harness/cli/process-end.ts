/**
 * What ends the process before its command does: a signal of the user, and errors that nobody awaits, which are faults
 * in Muster (without a handler, Node would exit with the code of a failed MUST).
 */

import process from 'node:process';
import { EXIT } from '../common/usage.ts';

type Handler = (error: unknown) => void;

let handler: Handler | undefined;

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

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Until it is disposed of: aborts on the first SIGINT or SIGTERM, so that what was opened is closed and a report is
 * still written; a second one ends at once.
 */
export function interruptSignal(): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  let times = 0;
  const onSignal = (): void => {
    times += 1;
    if (times > 1) process.exit(EXIT.interrupted);
    controller.abort(new Error('interrupted'));
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
