import process from 'node:process';
import { EXIT } from './usage.ts';

const CODES = { SIGHUP: EXIT.hungUp, SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;
export type EndingSignal = keyof typeof CODES;
export const ENDING_SIGNALS = Object.keys(CODES) as EndingSignal[];

export class Interrupted extends Error {
  override name = 'Interrupted';
  readonly by: EndingSignal;

  constructor(by: EndingSignal) {
    super('interrupted');
    this.by = by;
  }
}

export const interruptedCode = ({ reason }: AbortSignal): number =>
  reason instanceof Interrupted ? CODES[reason.by] : EXIT.interrupted;

/** Resolves with the first signal and its exit code (0 for SIGINT and SIGTERM); ignores signals during the clean-up. */
export function untilSignal(): Promise<{ signal: EndingSignal; code: number }> {
  return new Promise((resolve) => {
    for (const signal of ENDING_SIGNALS)
      process.on(signal, () => resolve({ signal, code: signal === 'SIGHUP' ? CODES[signal] : EXIT.conformant }));
  });
}
