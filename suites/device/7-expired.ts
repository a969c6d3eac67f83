/** Section 7: 410 for a cursor that is older than the earliest retained event. */
import fc from 'fast-check';
import type { OpenEvents } from '../../harness/client/sse.ts';
import { types } from './4.1-types.ts';
import { byOracle } from './oracle/checks.ts';
import { type Device, inTime, LASTING, STREAM } from './support/check.ts';
import { compactAway } from './support/compaction.ts';
import { type Published, publish, readUpTo } from './support/drive.ts';
import { expectSameEvents } from './support/events.ts';
import { isEventStream } from './support/requests.ts';
import { endIfGone, eventsAfter } from './support/retention.ts';
import { section } from './support/section.ts';
import { describeAnswer, describeOpen, type Streams } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ section: '7', since: '2026-11-21' });

/** The boundary is that of the log, whatever events a filter lets through. */
const FILTERS: Pick<OpenEvents, 'types'>[] = [
  {},
  { types: ['deployment.deployed'] },
  { types: ['deployment.removed'] },
];

const openAt = (cursor: bigint, byHeader: boolean): OpenEvents =>
  byHeader ? { lastEventId: cursor } : { after: cursor };

const gone = requirement({
  id: 'device.events.expired.410',
  level: 'MUST',
  clause: 'The cursor (`after` or `Last-Event-ID`) is older than the earliest retained event.',
  text: 'A cursor older than the earliest retained event gets 410, by after and by Last-Event-ID, and no stream.',
});
check(
  gone,
  { needs: ['drive', 'compact'], profile: 'core', premises: [...LASTING, types.id] },
  async (t: Device, streams) => {
    const { lost } = await compactAway(t, streams);
    // A device that serves no stream would pass otherwise.
    await (await streams.open()).close();
    const examples = lost
      .slice(-1)
      .flatMap((cursor) => FILTERS.flatMap((filter) => [true, false].map((byHeader) => [cursor, byHeader, filter])))
      .map((example): [unknown] => [example]);
    await t.property(
      fc.tuple(fc.constantFrom(...lost), fc.boolean(), fc.constantFrom(...FILTERS)),
      ([cursor, byHeader, filter]) => expectGone(t, streams, { ...openAt(cursor, byHeader), ...filter }),
      {
        runs: 12,
        examples,
        describe: ([cursor, byHeader, filter]) => describeOpen({ ...openAt(cursor, byHeader), ...filter }),
      },
    );
  },
);

/** An answer that still comes after so many times the patience of the run does not end. */
const ENDLESS = 6;

/** The members of a JSON text, without values that differ from run to run. */
function formOf(body: string): string {
  if (body.trim() === '') return 'empty';
  try {
    return `JSON ${membersOf(JSON.parse(body))}`;
  } catch {
    return 'text';
  }
}

function membersOf(value: unknown): string {
  if (Array.isArray(value)) return '[…]';
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).map(([name, item]) =>
    typeof item === 'object' && item !== null ? `${name} ${membersOf(item)}` : name,
  );
  return `{${members.sort().join(', ')}}`;
}

async function expectGone(t: Device, streams: Streams, options: OpenEvents): Promise<void> {
  const stream = await streams.try(options);
  const expected = `410 and no stream for ${describeOpen(options)}, which lies before the earliest retained event`;
  t.must(stream.status === 410 && !isEventStream(stream), {
    expected,
    actual: await describeAnswer(t, stream),
  });
  const ending = inTime(t, 'answer', (within) =>
    stream.rest({ within, atMost: ENDLESS * t.patienceMs, for: 'the end of the 410' }),
  );
  const body = await ending.catch((error: Error) => {
    t.must(false, { expected: `${expected}; the answer ends`, actual: error.message });
    return '';
  });
  t.observe('body of a 410', formOf(body));
  t.note(`body of a 410: ${body.slice(0, 120)}`);
  await stream.close();
}

check(gone, { aspect: 'retained', profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  const zero = await streams.try({ after: 0 });
  if (zero.status !== 410) return t.notApplicable('no cursor is known that is certainly expired');
  // A cursor that is expired stays expired, since compaction only removes events.
  await (await streams.open()).close();
  await expectGone(t, streams, { after: 0 });
  await expectGone(t, streams, { lastEventId: 0 });
  await expectGone(t, streams, { after: 0, types: ['deployment.deployed'] });
});

const boundary = requirement({
  id: 'device.events.expired.boundary',
  level: 'MUST',
  clause: 'older than the earliest retained event',
  text: 'The earliest retained id and every later one is served, not 410, and replays all that follows it.',
});
check(
  boundary,
  { needs: ['drive', 'compact'], profile: 'core', premises: [...LASTING, types.id, 'device.events.replay.seam.whole'] },
  async (t: Device, streams) => {
    const { earliest } = await compactAway(t, streams);
    const reference = await streams.open({ after: earliest });
    const read = await readFirst(t, reference, { earliest, published: await publish(t, 1) });
    const cursors = [earliest, ...reference.events.map(({ id }) => id).slice(0, -1)];
    await t.property(
      fc.constantFrom(...cursors),
      async (after) => {
        const replay = await streams.open({ after });
        await read(replay);
        const due = reference.events.filter(({ id }) => id > after);
        expectSameEvents(t, replay.events, due, describeOpen({ after }));
        await replay.close();
      },
      {
        runs: 5,
        examples: cursors.slice(0, 2).map((after): [unknown] => [after]),
        describe: (after) => `after=${after}`,
      },
    );
    for (const filter of FILTERS)
      for (const byHeader of [true, false])
        await expectNotGone(t, streams, { ...openAt(earliest, byHeader), ...filter }, EARLIEST);
    const before = await streams.try({ after: earliest - 1n });
    t.observe('the cursor one before the earliest retained event', before.status ?? 'no answer');
  },
);

/** Of a long log, the beginning is enough. */
const LONGEST_REPLAY = 2500;

/** Reads the first events after the earliest one, up to the published one. Gives what reads another replay as far. */
async function readFirst(
  t: Device,
  replay: Subscription,
  { earliest, published }: { earliest: bigint; published: Published },
): Promise<(other: Subscription) => Promise<unknown>> {
  const readAll = (each: Subscription): Promise<unknown> => readUpTo(each, published);
  if (eventsAfter(t, earliest) <= LONGEST_REPLAY) return readAll(replay).then(() => readAll);
  let count = 0;
  const what = `the first ${LONGEST_REPLAY} events after ${earliest}, the earliest that is retained`;
  await replay.until(({ id }) => {
    count += 1;
    return id >= published.last || count === LONGEST_REPLAY;
  }, what);
  t.note(`of a long log, ${what} were compared`);
  const end = replay.events.at(-1)?.id ?? published.last;
  return (other) => other.reach(end);
}

const EARLIEST = 'the earliest retained event';

async function expectNotGone(t: Device, streams: Streams, options: OpenEvents, what: string): Promise<void> {
  const stream = await streams.try(options);
  if (stream.status === 410 && what === EARLIEST) endIfGone(t, options);
  t.must(stream.status !== 410, {
    expected: `no 410 for ${describeOpen(options)}, ${what}`,
    actual: await describeAnswer(t, stream),
  });
  await stream.close();
}

const only = requirement({
  id: 'device.events.expired.only',
  level: 'SHOULD',
  clause: 'older than the earliest retained event',
  text: '410 is for cursors older than the earliest retained event: one beyond the newest gets another answer.',
});
check(only, { premises: STREAM }, async (t: Device, streams) => {
  await (await streams.open()).close();
  for (const options of [{ after: 2n ** 62n }, { lastEventId: 2n ** 62n }])
    await expectNotGone(t, streams, options, 'which is not older than any event');
});

const zero = requirement({
  id: 'device.events.expired.zero',
  level: 'INFO',
  text: 'Whether after=0 is expired once events have been compacted away, or means "from the earliest", is not stated.',
});
check(zero, { needs: ['drive', 'compact'], premises: [gone.id] }, async (t: Device, streams) => {
  await compactAway(t, streams);
  const stream = await streams.try({ after: 0 });
  t.observe('after=0 once events have been compacted away', stream.status ?? 'no answer');
});

const precedence = requirement({
  id: 'device.events.after-wins.expired',
  level: 'MUST',
  section: '4.1',
  clause: 'Takes precedence over the header.',
  text: 'after takes precedence over Last-Event-ID even when one of the two is expired.',
});
check(
  precedence,
  ...byOracle(precedence, {
    isAlone: true,
    needs: ['compact'],
    premises: [gone.id, boundary.id, 'device.events.after-wins'],
    least: 'expired cursors',
  }),
);

check(gone, ...byOracle(gone, { aspect: 'restart', needs: ['compact', 'restart'], least: 'expired cursors' }));

check(boundary, ...byOracle(boundary, { needs: ['compact'] }));
