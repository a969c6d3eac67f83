/** Section 4.1: the header that carries a cursor too, and which of two cursors decides. */
import fc from 'fast-check';
import { byOracle } from './oracle/checks.ts';
import { type Device, REPLAY } from './support/check.ts';
import { HEADER_IGNORED } from './support/deviations.ts';
import { readUpTo } from './support/drive.ts';
import { expectSameEvents } from './support/events.ts';
import { cursorIn, laterThan, record } from './support/replays.ts';
import { requireRoomFor } from './support/retention.ts';
import { section } from './support/section.ts';
import { describeOpen } from './support/streams.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '4.1', since: '2026-11-21' });

export const header = requirement({
  id: 'device.events.header-cursor',
  clause: '`Last-Event-ID: <id>` (optional) carries the cursor, with the same semantics as `after`.',
  text: 'The header Last-Event-ID carries a cursor with the same semantics as after.',
});
const options = {
  needs: ['drive'],
  sharing: 'publishing',
  profile: 'core',
  premises: REPLAY,
  deviation: HEADER_IGNORED,
} as const;
check(header, options, async (t: Device, streams) => {
  const recording = await record(t, streams, 12);
  await t.property(
    cursorIn(recording),
    async (cursor) => {
      const byQuery = await streams.open({ after: cursor });
      const byHeader = await streams.open({ lastEventId: cursor });
      await readUpTo(byQuery, recording.published);
      await readUpTo(byHeader, recording.published);
      expectSameEvents(t, byHeader.events, byQuery.events, `Last-Event-ID: ${cursor}, as for after=${cursor}`);
      await byQuery.close();
      await byHeader.close();
    },
    { runs: 10, describe: (cursor) => `Last-Event-ID: ${cursor}` },
  );
});

export const afterWins = requirement({
  id: 'device.events.after-wins',
  clause: 'Takes precedence over the header.',
  text: 'With both cursors after decides, whichever is larger.',
});
check(
  afterWins,
  { needs: ['drive'], sharing: 'publishing', profile: 'core', premises: [header.id] },
  async (t: Device, streams) => {
    // With one event after the cursor, both cursors would be the same.
    requireRoomFor(t, 2);
    const recording = await record(t, streams, 12);
    const late = recording.all.at(-2)?.id ?? recording.cursor;
    await t.property(
      fc.tuple(cursorIn(recording), cursorIn(recording)),
      async ([cursor, lastEventId]) => {
        const opening = { after: cursor, lastEventId };
        const both = await streams.open(opening);
        await readUpTo(both, recording.published);
        expectSameEvents(t, both.events, laterThan(cursor, recording.all), describeOpen(opening));
        await both.close();
      },
      {
        runs: 10,
        examples: [[[recording.cursor, late]], [[late, recording.cursor]]],
        describe: ([cursor, lastEventId]) => `after=${cursor} with Last-Event-ID: ${lastEventId}`,
      },
    );
  },
);

check(header, ...byOracle(header, { least: 'streams by header' }));

check(afterWins, ...byOracle(afterWins, { aspect: 'zero', least: 'streams by both' }));
