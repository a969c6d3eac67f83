/** Sequences of what befalls a device in the field. */
import fc from 'fast-check';
import { Cut, Reconnect } from './connection.ts';
import { Restart } from './restart.ts';
import { RollOut } from './roll-out.ts';

export type { SystemModel } from './model.ts';

/** `restart`: the agent can be stopped and started. */
export function systemCommands(restart: boolean, replayPath: string | undefined) {
  const rollOuts = fc.boolean().map((wait) => new RollOut(wait));
  const signals = fc.constantFrom('SIGTERM' as const, 'SIGKILL' as const);
  return fc.commands(
    [
      rollOuts,
      rollOuts,
      fc.constant(new Cut()),
      fc.constant(new Reconnect()),
      ...(restart ? [signals.map((signal) => new Restart(signal))] : []),
    ],
    { maxCommands: 10, ...(replayPath === undefined ? {} : { replayPath }) },
  );
}
