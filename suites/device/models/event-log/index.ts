/** Sequences of what can happen to an event log and to those who read it. */
import fc from 'fast-check';
import { Compact } from './compact.ts';
import { Connect } from './connect.ts';
import { Deploy } from './deploy.ts';
import { Publish } from './publish.ts';
import { Read } from './read.ts';
import { Reconnect } from './reconnect.ts';
import { Restart } from './restart.ts';

export type { LogModel, LogReality } from './model.ts';

const which = fc.nat({ max: 30 });

const usual = [
  fc.integer({ min: 1, max: 6 }).map((count) => new Publish(count)),
  fc.constant(new Deploy()),
  fc.tuple(which, fc.boolean()).map(([at, byHeader]) => new Connect(at, byHeader)),
  which.map((client) => new Read(client)),
  fc.tuple(which, fc.boolean()).map(([client, byHeader]) => new Reconnect(client, byHeader)),
];

const drastic = [
  fc.constant(new Compact()),
  fc.constantFrom<'SIGTERM' | 'SIGKILL'>('SIGTERM', 'SIGKILL').map((signal) => new Restart(signal)),
];

interface Options {
  /** With compaction and restarts, or without. */
  drastic: boolean;
  replayPath: string | undefined;
}

export const logCommands = (options: Options) =>
  fc.commands(options.drastic ? [...usual, ...drastic] : usual, {
    maxCommands: 16,
    ...(options.replayPath === undefined ? {} : { replayPath: options.replayPath }),
  });
