/** Section 6.2, rule 2, and section 4.1: replay after a cursor. */

import type { Happening } from '../../harness/client/happening.ts';
import type { Judge, Sighting } from '../../harness/runner/rules.ts';
import { parseObject } from '../json.ts';
import { byOracle } from './oracle/checks.ts';
import { type Device, EVENTS, REPLAY } from './support/check.ts';
import { CURSOR_REPEATED } from './support/deviations.ts';
import { publish, readUpTo } from './support/drive.ts';
import {
  DECIMAL,
  expectSameEvents,
  frameText,
  LONGEST_REMEMBERED,
  Recollection,
  sameEnvelope,
  showIds,
} from './support/events.ts';
import { cursorIn, firstLiveEvent, laterThan, type Recording, record, recordAfresh } from './support/replays.ts';
import { section } from './support/section.ts';
import { describeOpen } from './support/streams.ts';

export const { requirement, check, rule, checks } = section({ level: 'MUST', section: '6.2', since: '2026-11-21' });

const describeAfter = (cursor: bigint): string => `after=${cursor}`;

export const exclusive = requirement({
  id: 'device.events.replay.exclusive',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'Replay after a cursor starts with the first retained event after it; the cursor itself is not repeated.',
});
check(
  exclusive,
  {
    needs: ['drive'],
    sharing: 'publishing',
    profile: 'core',
    premises: ['device.events.replay.complete'],
    deviation: CURSOR_REPEATED,
    least: { events: 2, inputs: 1 },
  },
  async (t: Device, streams) => {
    const recording = await record(t, streams, 12);
    await t.property(
      cursorIn(recording),
      async (cursor) => {
        const replay = await streams.open({ after: cursor });
        const first = await replay.next(`the first event after ${cursor}`);
        const [due] = laterThan(cursor, recording.all);
        t.must(first.id === due?.id, {
          expected: `event ${due?.id}, the first retained after ${cursor}`,
          actual: `event ${first.id}`,
        });
        await replay.close();
      },
      { runs: 12, describe: describeAfter },
    );
  },
);

export const complete = requirement({
  id: 'device.events.replay.complete',
  section: '4.1',
  clause: 'replay starts with retained events after this id (exclusive), then live events follow',
  text:
    'Replay holds every retained event after the cursor, in order, none missing, none invented, ' +
    'each as it was sent before.',
});
check(
  complete,
  { needs: ['drive'], sharing: 'publishing', profile: 'core', premises: EVENTS, least: { events: 3 } },
  async (t: Device, streams) => {
    const recording = await record(t, streams, 60);
    expectAllPublished(t, recording);
    await t.property(
      cursorIn(recording),
      async (cursor) => {
        const replay = await streams.open({ after: cursor });
        const came = laterThan(cursor, await readUpTo(replay, recording.published));
        expectSameEvents(t, came, laterThan(cursor, recording.all), describeOpen({ after: cursor }));
        await replay.close();
      },
      { runs: 12, describe: describeAfter },
    );
  },
);

rule(complete, { premises: [complete.id] }, () => {
  const known = new Recollection<{ stream: object; type: string; text: string; sighting: Sighting }>();
  return (seen: Happening, judge: Judge): void => {
    if (seen.kind !== 'frame') return;
    const { id = '', event: type = 'message', data: text } = seen.frame;
    if (!DECIMAL.test(id) || text === undefined || text.length > LONGEST_REMEMBERED) return;
    const kept = known.get(id);
    // Detects a newly installed agent, which counts ids from 1 again after the old streams have ended.
    const isOther = kept !== undefined && kept.stream !== seen.stream && whenOf(kept.text) !== whenOf(text);
    const isAnew = seen.request !== undefined && isOther;
    if (isAnew) known.clear();
    const before = isAnew ? undefined : kept;
    if (before === undefined) {
      const { stream } = seen;
      const sighting = judge.saw(() => `id: ${id}\nevent: ${type}\ndata: ${text}\n\n`);
      known.set(id, { type, text, stream, sighting });
      return;
    }
    judge.saw(() => frameText(seen.frame));
    const isSame = before.text === text || sameEnvelope(parseObject(before.text), parseObject(text));
    judge.agrees(before.type === type && isSame, before.sighting, {
      expected: `event ${id} as it was sent before: ${before.type} ${before.text.slice(0, 300)}`,
      actual: `${type} ${text.slice(0, 300)}`,
    });
  };
});

function whenOf(text: string): unknown {
  const when = parseObject(text)?.['occurred_at'];
  return typeof when === 'string' ? Date.parse(when) || when : when;
}

function expectAllPublished(t: Device, { all, cursor, published: { first, last, count } }: Recording): void {
  const came = all.filter(({ id }) => id >= first && id <= last);
  const inOrder = all.every(({ id }, index) => id > (all[index - 1]?.id ?? cursor));
  const asked = describeOpen({ after: cursor });
  t.must(came.length >= count && inOrder, {
    expected: `the ${count} events published from ${first} to ${last}, in order, for ${asked}`,
    actual: showIds(all),
  });
}

check(complete, ...byOracle(complete, { aspect: 'zero', least: 'cursors of zero' }));

const live = requirement({
  id: 'device.events.replay.live',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'Live events follow the replay on the same connection.',
});
check(
  live,
  { needs: ['drive'], sharing: 'publishing', profile: 'core', premises: REPLAY, least: { events: 3 } },
  async (t: Device, streams) => {
    const { cursor, published } = await recordAfresh(t, streams, 5);
    const replay = await streams.open({ after: cursor });
    await readUpTo(replay, published);
    // Tolerates a loss between replay and live, which device.events.replay.seam judges.
    await firstLiveEvent(t, replay);
    for (let round = 0; round < t.session.rounds(3); round += 1) await readUpTo(replay, await publish(t, 1));
  },
);

// Runs without open streams, because an agent may wrongly store only events that it sends to a stream.
check(
  complete,
  { aspect: 'unheard', needs: ['drive'], sharing: 'disruptive', premises: REPLAY },
  async (t: Device, streams) => expectAllPublished(t, await recordAfresh(t, streams, 5)),
);

check(exclusive, ...byOracle(exclusive, { aspect: 'future' }));

check(complete, ...byOracle(complete, { aspect: 'sequences' }));

check(complete, ...byOracle(complete, { aspect: 'unchanged', profile: 'core' }));

check(
  complete,
  ...byOracle(complete, { aspect: 'histories', needs: ['compact', 'restart'], least: 'restarts survived' }),
);
