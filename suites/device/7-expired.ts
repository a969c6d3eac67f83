/** Section 7: the cursor is older than the earliest retained event. */
import fc from 'fast-check';
import type { OpenEvents } from '../../harness/client/sse.ts';
import { requirement } from '../../harness/runner/define.ts';
import { mediaType } from './support/ask.ts';
import { compactAway } from './support/compaction.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish } from './support/drive.ts';
import { sameEvents } from './support/events.ts';
import { restart } from './support/restart.ts';
import { describeAnswer, describeOpen, type Streams, withStreams } from './support/streams.ts';

const gone = requirement({
  id: 'device.events.expired.410',
  level: 'MUST',
  section: '7',
  since: '2026-11-21',
  text: 'A cursor older than the earliest retained event gets 410, by after and by Last-Event-ID, and no stream.',
});

const boundary = requirement({
  id: 'device.events.expired.boundary',
  level: 'MUST',
  section: '7',
  since: '2026-11-21',
  text: 'The earliest retained id and every later one is served, not 410, and replays all that follows it.',
});

const only = requirement({
  id: 'device.events.expired.only',
  level: 'SHOULD',
  section: '7',
  since: '2026-11-21',
  text: '410 is for cursors older than the earliest retained event: one beyond the newest gets another answer.',
});

const zero = requirement({
  id: 'device.events.expired.zero',
  level: 'INFO',
  section: '7',
  since: '2026-11-21',
  text: 'Whether after=0 is expired once events have been compacted away, or means "from the earliest", is read both ways.',
});

const precedence = requirement({
  id: 'device.events.after-wins.expired',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'after takes precedence over Last-Event-ID also where one of the two is expired.',
});

/** What is asked for beside the cursor: whatever it is, the border is where the log begins. */
const FILTERS: Pick<OpenEvents, 'types'>[] = [
  {},
  { types: ['deployment.deployed'] },
  { types: ['deployment.removed'] },
];

const at = (cursor: bigint, byHeader: boolean): OpenEvents => (byHeader ? { lastEventId: cursor } : { after: cursor });

async function mustBeGone(context: Device, streams: Streams, options: OpenEvents): Promise<void> {
  const stream = await streams.try(options);
  const what = `410 and no stream for ${describeOpen(options)}, which lies before the earliest retained event`;
  context.must(stream.status === 410 && mediaType(stream.headers) !== 'text/event-stream', {
    expected: what,
    actual: await describeAnswer(context, stream),
  });
  const body = await stream.rest({ within: context.patienceMs, for: 'the end of the 410' }).catch((error: Error) => {
    context.must(false, { expected: `${what}; the answer ends`, actual: error.message });
    return '';
  });
  context.note(`body of a 410: ${body.slice(0, 120)}`);
  await stream.close();
}

export default [
  check(gone, { needs: ['drive', 'compact'], sharing: 'disruptive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { lost, earliest } = await compactAway(context, streams);
      await (await streams.open({ after: earliest })).close();
      await context.property(
        fc.tuple(fc.constantFrom(...lost), fc.boolean(), fc.constantFrom(...FILTERS)),
        ([cursor, byHeader, filter]) => mustBeGone(context, streams, { ...at(cursor, byHeader), ...filter }),
        {
          runs: 12,
          examples: lost
            .slice(-1)
            .flatMap((cursor) =>
              FILTERS.flatMap((filter) => [true, false].map((byHeader) => [cursor, byHeader, filter])),
            )
            .map((tried): [unknown] => [tried]),
        },
      );
    }),
  ),

  check(gone, { aspect: 'restart', needs: ['drive', 'compact', 'restart'], sharing: 'disruptive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { lost } = await compactAway(context, streams);
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        streams.use(await restart(context, signal));
        // Whoever compacts as it starts may have dropped what was retained before.
        await (await anchor(context, streams)).live.close();
        for (const cursor of new Set([...lost.slice(0, 1), ...lost.slice(-1)])) {
          await mustBeGone(context, streams, { after: cursor });
          await mustBeGone(context, streams, { lastEventId: cursor });
        }
      }
    }),
  ),

  check(gone, { aspect: 'retained', sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const zero = await streams.try({ after: 0 });
      if (zero.status !== 410) return context.notApplicable('no cursor is known that is certainly expired');
      // Compaction only ever moves on: what is expired stays so.
      await (await streams.open()).close();
      await mustBeGone(context, streams, { after: 0 });
      await mustBeGone(context, streams, { lastEventId: 0 });
      await mustBeGone(context, streams, { after: 0, types: ['deployment.deployed'] });
    }),
  ),

  check(boundary, { needs: ['drive', 'compact'], sharing: 'disruptive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { earliest } = await compactAway(context, streams);
      const reference = await streams.open({ after: earliest });
      const sentinel = await publish(context, 1);
      await follow(reference, sentinel);
      const later = reference.events.map(({ id }) => id);
      await context.property(
        fc.constantFrom(earliest, ...later.slice(0, -1)),
        async (after) => {
          const replay = await streams.open({ after });
          await follow(replay, sentinel);
          const due = reference.events.filter(({ id }) => id > after);
          sameEvents(context, replay.events, due, describeOpen({ after }));
          await replay.close();
        },
        { runs: 8, examples: [earliest, ...later.slice(0, -1)].slice(0, 2).map((after): [unknown] => [after]) },
      );
      // The border is that of the log, and not of the events of these types.
      for (const filter of FILTERS) {
        for (const byHeader of [true, false]) {
          const options = { ...at(earliest, byHeader), ...filter };
          const stream = await streams.try(options);
          context.must(stream.status !== 410, {
            expected: `no 410 for ${describeOpen(options)}, the earliest retained event`,
            actual: await describeAnswer(context, stream),
          });
          await stream.close();
        }
      }
      const before = await streams.try({ after: earliest - 1n });
      context.note(`the cursor one before the earliest retained event gets ${before.status}`);
    }),
  ),

  check(only, { sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      await (await streams.open()).close();
      for (const options of [{ after: 2n ** 62n }, { lastEventId: 2n ** 62n }]) {
        const stream = await streams.try(options);
        context.must(stream.status !== 410, {
          expected: `another answer than 410 for ${describeOpen(options)}, which is not older than any event`,
          actual: await describeAnswer(context, stream),
        });
        await stream.close();
      }
    }),
  ),

  check(zero, { needs: ['drive', 'compact'], sharing: 'disruptive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      await compactAway(context, streams);
      const stream = await streams.try({ after: 0 });
      context.note(`after=0 gets ${stream.status} once events have been compacted away`);
    }),
  ),

  check(precedence, { needs: ['drive', 'compact'], sharing: 'disruptive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { lost, earliest } = await compactAway(context, streams);
      const old = lost.at(-1) ?? 0n;
      const served = await streams.open({ after: earliest, lastEventId: old });
      await follow(served, await publish(context, 1));
      await mustBeGone(context, streams, { after: old, lastEventId: earliest });
    }),
  ),
];
