/** Which calls of control are still worth making: what has been late once is not waited for as long again, and a lie is not asked for twice. */
import { type CallName, ControlError, ControlLate } from './control.ts';

/** Milliseconds for a call whose like was late the last time; the control's own limit otherwise. */
const AFTER_A_LATE_ONE_MS = 6000;
/** A call that was late so often in a row is not made again. */
const MOST_LATE = 2;
const LONG_MS = 10_000;

/** Whether a call that was cut off after so many milliseconds counts as late. */
export const isLong = (ms: number): boolean => ms > LONG_MS;

/** What is known of each kind of call. */
export class CallTimes {
  readonly #late = new Map<CallName, number>();
  readonly #untrue = new Map<CallName, string>();

  /** A signal that ends the call; undefined when the control's own limit is enough. Throws ControlError for a call that is in vain. */
  begin(call: CallName): AbortSignal | undefined {
    const untrue = this.#untrue.get(call);
    if (untrue !== undefined) throw new ControlError(`control ${call}: not called again: ${untrue}`);
    const late = this.#late.get(call) ?? 0;
    if (late >= MOST_LATE)
      throw new ControlLate(`control ${call}: not called again, as it did not answer the last ${late} times`);
    return late === 0 ? undefined : AbortSignal.timeout(AFTER_A_LATE_ONE_MS);
  }

  answered(call: CallName): void {
    this.#late.delete(call);
  }

  late(call: CallName): void {
    this.#late.set(call, (this.#late.get(call) ?? 0) + 1);
  }

  /** Control said of such a call that it had done what it had not. */
  distrust(call: CallName, why: string): void {
    this.#untrue.set(call, why);
  }
}
