/** Section 6.2, rule 3: heartbeats, and the idle streams that they keep. */

import { StreamTimeout } from '../../harness/client/sse.ts';
import { requirement } from '../../harness/runner/define.ts';
import { check, type Device } from './support/context.ts';
import { publish } from './support/drive.ts';
import { DECIMAL, isControl, parseObject, showFrame } from './support/events.ts';
import { cursorStays, heartbeats, heartbeatsOf, stayIdle } from './support/idle.ts';
import { restart } from './support/restart.ts';
import { retained } from './support/retained.ts';
import { describeOpen, type Streams, type Subscription, withStreams } from './support/streams.ts';

const heartbeat = requirement({
  id: 'device.events.heartbeat',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'An idle stream carries a comment within 1.5 times the declared interval (30 s when none is declared); its text is "heartbeat".',
});

const inert = requirement({
  id: 'device.events.heartbeat.inert',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Heartbeats are comments and nothing else: they carry no id, event or data, and move no cursor.',
});

const longLived = requirement({
  id: 'device.events.long-lived',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'The stream is long-lived: while idle it stays open past two heartbeats.',
});

/** With the usual 30 s a run would take minutes if every stream was watched for long. */
const SHORT_SECONDS = 5;

/** Longer than this no stream is watched, but for one that has to be. */
const LONG_SECONDS = 45;
const wanted = ({ heartbeatSeconds }: Device): number =>
  Math.max(1, Math.min(3, Math.floor(LONG_SECONDS / heartbeatSeconds)));

/** The id of an event that is retained, as a cursor. */
async function someCursor(context: Device, streams: Streams): Promise<bigint | undefined> {
  if (context.capabilities.has('drive')) return (await publish(context, 1)).last;
  const last = (await retained(context, streams))?.sample.stream.frames.findLast((frame) => !isControl(frame));
  return DECIMAL.test(last?.id ?? '') ? BigInt(last?.id ?? '') : undefined;
}

/** A type that no device sends. */
const UNHEARD_OF = 'muster.unheard_of';

/**
 * A stream that has been idle for that long, whatever other checks made happen meanwhile. Undefined when such a filter is refused,
 * or ends the stream, of which nothing is stated.
 */
async function undisturbed(context: Device, streams: Streams, idleMs: number): Promise<Subscription | undefined> {
  const stream = await streams.try({ types: [UNHEARD_OF] });
  if (stream.status !== 200) return undefined;
  await stream.rest({ within: idleMs, for: 'the end of an idle stream' }).catch((error: unknown) => {
    if (!(error instanceof StreamTimeout)) throw error;
  });
  context.signal.throwIfAborted();
  return stream.ended === undefined ? streams.follow(stream) : undefined;
}

export default [
  check(heartbeat, { sharing: 'shared', slow: true, profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const subscription = await streams.open();
      const found = await heartbeats(context, subscription, wanted(context));
      for (const { text } of found.length === 0 ? heartbeatsOf(subscription).slice(-1) : found) {
        context.should(text === 'heartbeat', { expected: 'the comment line ": heartbeat"', actual: `: ${text}` });
      }
      // An interval that nobody declared is only what it is at most.
      if (context.info.heartbeat_seconds === undefined) return;
      const elapsed = performance.now() - subscription.stream.openedAt;
      const beats = heartbeatsOf(subscription);
      context.should(beats.length <= 3 + (2 * elapsed) / (context.heartbeatSeconds * 1000), {
        expected: `a heartbeat about every ${context.heartbeatSeconds} s`,
        actual: `${beats.length} in ${Math.round(elapsed)} ms`,
      });
    }),
  ),

  // One stream for both: a device may serve few at once, and these are held for long.
  check(heartbeat, { aspect: 'replayed', sharing: 'shared', slow: true }, (context: Device) =>
    withStreams(context, async (streams) => {
      const lastEventId = await someCursor(context, streams);
      if (lastEventId === undefined) return context.notApplicable('the device replays no event that it retained');
      const opening = { lastEventId, types: ['deployment.removed'] };
      const stream = await streams.try(opening);
      if (stream.status !== 200)
        return context.notApplicable(`${describeOpen(opening)} is answered with ${stream.status}`);
      await heartbeats(context, streams.follow(stream), 1);
    }),
  ),

  check(heartbeat, { aspect: 'restart', needs: ['restart'], sharing: 'disruptive', slow: true }, (context: Device) =>
    withStreams(context, async (streams) => {
      if (context.heartbeatSeconds > SHORT_SECONDS)
        return context.notApplicable(`nothing else can be tried for the ${context.heartbeatSeconds} s that it takes`);
      const http = await restart(context);
      streams.use(http);
      await heartbeats({ ...context, http }, await streams.open(), 1);
    }),
  ),

  check(inert, { sharing: 'shared', slow: true }, (context: Device) =>
    withStreams(context, async (streams) => {
      const subscription = await streams.open();
      await heartbeats(context, subscription, 1, (frame) => {
        if (isControl(frame)) return;
        context.must(DECIMAL.test(frame.id ?? '') && parseObject(frame.data ?? '') !== undefined, {
          expected: 'nothing on an idle stream but comment lines, which are outside of any block',
          actual: `a block that is no event: ${showFrame(frame)}`,
        });
      });
      cursorStays(context, subscription);
    }),
  ),

  check(longLived, { sharing: 'shared', slow: true }, (context: Device) =>
    withStreams(context, async (streams) => {
      const times = context.heartbeatSeconds <= SHORT_SECONDS ? 2.2 : 1.6;
      const idleMs = times * context.heartbeatSeconds * 1000;
      let subscription = await undisturbed(context, streams, idleMs);
      if (subscription === undefined) {
        subscription = await streams.open();
        await stayIdle(context, subscription, idleMs);
      }
      const { comments, openedAt } = subscription.stream;
      context.note(`watched for ${Math.round(performance.now() - openedAt)} ms, ${comments.length} comments`);
    }),
  ),
];
