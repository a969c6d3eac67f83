/** Section 4.1: cursors that are no cursors, and what the specification leaves open about the others. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { mediaType } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish } from './support/drive.ts';
import { showIds } from './support/events.ts';
import { describeAnswer, withStreams } from './support/streams.ts';

const malformed = requirement({
  id: 'device.events.cursor.malformed',
  level: 'SHOULD',
  section: '4.1',
  since: '2026-11-21',
  text: 'A cursor that is no integer event id is refused with a 4xx that is not 410: no stream, no 5xx, no hang.',
});

const future = requirement({
  id: 'device.events.cursor.future',
  level: 'INFO',
  section: '4.1',
  since: '2026-11-21',
  text: 'What a cursor beyond the newest event gets is not stated.',
});

const none = requirement({
  id: 'device.events.no-cursor',
  level: 'INFO',
  section: '4.1',
  since: '2026-11-21',
  text: 'Whether a stream without a cursor starts with live events or with a replay is not stated.',
});

const live = requirement({
  id: 'device.events.no-cursor.live',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'What is published once a stream without a cursor is open arrives on it, from the first event on.',
});

/** A device may say that a stream is open a moment before it is; a first comment, or so long, and it is. */
const SETTLED_MS = 300;

/** None of these can be an event id, whatever a target takes for one. */
const NONSENSE: string[] = [
  'abc',
  '1.5',
  '',
  String(2n ** 63n),
  String(2n ** 64n),
  '1e3',
  '0x10',
  '1,2',
  '1;drop',
  'NaN',
  'null',
  '١٢',
  '1\0',
  '9'.repeat(10_000),
];

/** Of these only those that a header can carry. */
const sendable = (text: string): boolean => /^[\x20-\x7e]*$/.test(text) && text.trim() === text;

const nonsense = fc.oneof(
  fc.constantFrom(...NONSENSE),
  fc.stringMatching(/^[a-z._-]{1,8}$/),
  fc.stringMatching(/^\d{1,6}[a-z%&/ ]{1,3}\d{0,3}$/).filter((text) => !/^\d+\s*$/.test(text)),
);

export default [
  check(malformed, { sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      // Refusing everything is no virtue.
      await (await streams.open()).close();
      await context.property(
        fc.tuple(nonsense, fc.constantFrom('after', 'Last-Event-ID')),
        async ([cursor, where]) => {
          if (where === 'Last-Event-ID' && (!sendable(cursor) || cursor === '')) return;
          const stream = await streams.try(where === 'after' ? { after: cursor } : { lastEventId: cursor });
          const refused =
            stream.status >= 400 &&
            stream.status < 500 &&
            stream.status !== 410 &&
            mediaType(stream.headers) !== 'text/event-stream';
          const shown =
            cursor.length > 60 ? `${cursor.slice(0, 10)}… (${cursor.length} characters)` : JSON.stringify(cursor);
          context.must(refused, {
            expected: `a 4xx other than 410 (400 is usual) for ${where} ${shown}`,
            actual: await describeAnswer(context, stream),
          });
          await stream.close();
        },
        {
          runs: 30,
          examples: NONSENSE.flatMap((cursor): [unknown][] => [[[cursor, 'after']], [[cursor, 'Last-Event-ID']]]),
        },
      );
    }),
  ),

  check(future, { sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const stream = await streams.try({ after: 2n ** 52n });
      context.note(`a cursor beyond the newest event gets ${stream.status}`);
      const largest = await streams.try({ after: 2n ** 63n - 1n });
      context.note(`the largest 64-bit cursor gets ${largest.status}`);
    }),
  ),

  check(live, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      for (let round = 0; round < 2; round += 1) {
        const subscription = await streams.open();
        const { stream } = subscription;
        await stream
          .activity({ frames: 0, comments: 0 }, { within: SETTLED_MS, for: 'a sign of life' })
          .catch(() => undefined);
        const first = await publish(context, 1);
        const second = await publish(context, 1);
        const seen = await follow(subscription, second);
        context.must(
          seen.some(({ id }) => id === first.last),
          {
            expected: `event ${first.last}, the first that was published once the stream was open`,
            actual: `events ${showIds(seen)}`,
          },
        );
        await subscription.close();
      }
    }),
  ),

  check(none, { needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor } = await anchor(context, streams);
      const stream = await streams.open();
      const sentinel = await publish(context, 1);
      const seen = await stream.reach(sentinel.last, 'an event published after the stream was opened');
      const replayed = seen.some(({ id }) => id <= cursor);
      context.note(
        replayed ? 'without a cursor retained events are replayed' : 'without a cursor only live events come',
      );
    }),
  ),
];
