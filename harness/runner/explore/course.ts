import { TooLittleSeen } from '../violation.ts';

/** Exploration that several checks share: each check continues where the previous check stopped. */
export class Course {
  readonly #steps: AsyncGenerator<void, void>;
  #isOver = false;
  /** Error of the exploration, which each later check throws again. */
  #failure: { error: unknown } | undefined;

  constructor(steps: AsyncGenerator<void, void>) {
    this.#steps = steps;
  }

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
