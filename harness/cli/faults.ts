/** Errors that nobody awaits are faults in Muster: without a handler, Node would exit with the code of a failed MUST. */
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

/** From now on such an error ends the process with `EXIT.harness`: at once, or after the command that took it has ended. */
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
