/** Sequences of what a client can do with groups. */
import fc from 'fast-check';
import { Create } from './create.ts';
import { Move } from './move.ts';
import { Rename } from './rename.ts';

export { findForms, type GroupForms } from './forms.ts';
export type { GroupModel, GroupReality } from './model.ts';

const which = fc.nat({ max: 5 });

export const groupCommands = (replayPath: string | undefined) =>
  fc.commands(
    [
      which.map((below) => new Create(below)),
      which.map((group) => new Rename(group)),
      fc.tuple(which, fc.option(which, { nil: undefined, freq: 5 })).map(([group, to]) => new Move(group, to)),
    ],
    { maxCommands: 14, ...(replayPath === undefined ? {} : { replayPath }) },
  );
/** A chain of three whose top goes below its end: the shortest way to a circle that is more than a group below itself. */
export const circle = [new Create(0), new Create(1), new Move(0, 2)];
