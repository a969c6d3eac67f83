/** The state of each robot of a host as a letter, for somebody who looks on. */
import type { RobotState } from '../robot/robot.ts';

/** How a robot stands with the newest roll-out to it. */
export type RolloutState = 'pending' | 'reached' | 'missed';

const LETTERS: Readonly<Record<RobotState, string>> = {
  waiting: '.',
  connecting: 'c',
  online: 'o',
  'cut off': 'x',
  down: 'd',
  stopped: 's',
  refused: 'r',
};
const ROLLOUT_LETTERS: Readonly<Record<RolloutState, string>> = { pending: 'p', reached: 'u', missed: 'm' };

/** The letter of a robot: one that is online shows how it stands with its roll-out. */
export const letterOf = (state: RobotState, rollout: RolloutState | undefined): string =>
  state === 'online' && rollout !== undefined ? ROLLOUT_LETTERS[rollout] : LETTERS[state];

/** The letters that have changed: of the robot `at[i]`, the letter `text[i]`. */
export interface StateChanges {
  at: number[];
  text: string;
}

const EVERY_MS = 250;

/** Tells the changes four times a second, until disposed. */
export class StateWatch implements Disposable {
  readonly #told = new Map<number, string>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    members: () => readonly number[],
    letter: (robot: number) => string,
    tell: (changes: StateChanges) => void,
  ) {
    this.#timer = setInterval(() => {
      const at: number[] = [];
      let text = '';
      for (const robot of members()) {
        const now = letter(robot);
        if (this.#told.get(robot) === now) continue;
        this.#told.set(robot, now);
        at.push(robot);
        text += now;
      }
      if (at.length > 0) tell({ at, text });
    }, EVERY_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
