import process from 'node:process';
import { EXIT } from '../common/usage.ts';

/** Aborts on the first SIGINT or SIGTERM, so that what was opened is closed and a report is still written; a second one ends at once. */
export function interruptSignal(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let times = 0;
  const onSignal = (): void => {
    times += 1;
    if (times > 1) process.exit(EXIT.interrupted);
    controller.abort(new Error('interrupted'));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
