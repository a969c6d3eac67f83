/** Section 6.2: whatever the order of things, the log replays what was published. Model-based. */
import fc from 'fast-check';
import { complete } from './6.2-replay.ts';
import { type LogModel, type LogReality, logCommands } from './models/event-log/index.ts';
import { check, type Device } from './support/context.ts';
import { anchor, room } from './support/drive.ts';
import { withStreams } from './support/streams.ts';

const sequences =
  (drastic: boolean) =>
  (context: Device): Promise<void> =>
    context.property(
      logCommands({ drastic, replayPath: context.replayPath }),
      (commands) =>
        withStreams(context, async (streams) => {
          const { cursor, live } = await anchor(context, streams);
          const model: LogModel = {
            origin: cursor,
            capacity: room(context, 200),
            events: [],
            newest: cursor,
            gone: [],
            clients: [],
          };
          const real: LogReality = { context, streams, witness: live };
          await fc.asyncModelRun(() => ({ model, real }), commands);
        }),
      { runs: drastic ? 12 : 20 },
    );

export default [
  check(complete, { aspect: 'sequences', needs: ['drive'], sharing: 'exclusive' }, sequences(false)),
  check(
    complete,
    { aspect: 'histories', needs: ['drive', 'compact', 'restart'], sharing: 'disruptive' },
    sequences(true),
  ),
];
