/**
 * Section 6.2: the log replays what was published after any sequence of publishing, reading, compaction and restarts.
 */
import fc from 'fast-check';
import { describeCommands } from '../../harness/runner/property.ts';
import { complete } from './6.2-replay.ts';
import { type LogModel, type LogReality, logCommands } from './models/event-log.ts';
import { type Device, LIVE } from './support/check.ts';
import { eventBudget, subscribeAtKnownCursor } from './support/drive.ts';
import { requireRoomFor } from './support/retention.ts';
import { section } from './support/section.ts';
import { withStreams } from './support/streams.ts';

export const { check, checks } = section({});

const sequencesCheck = check(
  complete,
  { aspect: 'sequences', needs: ['drive'], sharing: 'publishing', premises: LIVE },
  (t: Device) => expectModelFollowed(t, { disruptive: false, runs: 14 }),
);

check(
  complete,
  {
    aspect: 'histories',
    needs: ['drive', 'compact', 'restart'],
    // Drawn like everything else that happens.
    least: { compactions: 0, restarts: 0, inputs: 1 },
    premises: [
      sequencesCheck.id,
      'device.log.compaction',
      'device.events.expired.410',
      'device.events.expired.boundary',
    ],
  },
  (t: Device) => expectModelFollowed(t, { disruptive: true, runs: 8 }),
);

async function expectModelFollowed(
  t: Device,
  { disruptive, runs }: { disruptive: boolean; runs: number },
): Promise<void> {
  requireRoomFor(t, 2);
  await t.property(
    logCommands({ disruptive, replayPath: t.replayPath }),
    (commands) =>
      withStreams(t, async (streams) => {
        const { cursor, live } = await subscribeAtKnownCursor(t, streams);
        const capacity = eventBudget(t, 200);
        const model: LogModel = {
          origin: cursor,
          capacity,
          events: [],
          newest: cursor,
          gone: [],
          clients: [],
          restarts: 0,
        };
        const real: LogReality = { t, streams, witness: live };
        await fc.asyncModelRun(() => ({ model, real }), commands);
      }),
    { runs, describe: describeCommands },
  );
}
