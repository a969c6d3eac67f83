import { TooLittleSeen } from '../violation.ts';

/** An exploration that several checks share: each takes it as far as it needs, and the next goes on from there. */
export class Course {
  readonly #steps: AsyncGenerator<void, void>;
  #isOver = false;
  /** Error that ended it early: later checks must not take a part for the whole. */
  #failure: { error: unknown } | undefined;

  constructor(steps: AsyncGenerator<void, void>) {
    this.#steps = steps;
  }

  /** Takes further steps until one is enough, or none is left. `signal`: that of the check, which may be cut off. */
  async until(isEnough: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      while (!(await isEnough()) && !this.#isOver) this.#isOver = (await this.#steps.next()).done === true;
    } catch (error) {
      this.#failure = { error: signal.aborted ? new TooLittleSeen(CUT_OFF) : error };
      throw error;
    }
  }
}

const CUT_OFF = 'the exploration ended with the time of another check';
