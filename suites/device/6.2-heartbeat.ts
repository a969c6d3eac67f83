/** Section 6.2, rule 3: heartbeats on idle streams. */
import { type OpenEvents, StreamTimeout } from '../../harness/client/sse.ts';
import type { SseFrame } from '../../harness/client/sse-parser.ts';
import { parseObject } from '../../harness/common/lenient.ts';
import { heartbeatsSeen } from '../../harness/runner/declarations.ts';
import { type Device, ignoring, restart, STREAM } from './support/check.ts';
import { publish, publishUnread } from './support/drive.ts';
import { carriesNoEvent, DECIMAL, showFrame } from './support/events.ts';
import {
  awaitHeartbeats,
  expectCursorKept,
  expectHeartbeatsBeside,
  expectOpenWhileIdle,
  heartbeatsOf,
} from './support/heartbeats.ts';
import { sampleRetained } from './support/replays.ts';
import { section } from './support/section.ts';
import { describeOpen, ENDS_AT_ONCE_MS, type Streams } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '6.2', since: '2026-11-21' });

const heartbeat = requirement({
  id: 'device.events.heartbeat',
  clause: 'The agent sends a comment line `: heartbeat` roughly every 30 seconds',
  text:
    'An idle stream carries a comment within 1.5 times the declared interval (30 s when none is declared); ' +
    'its text is "heartbeat".',
});
check(heartbeat, { slow: true, profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  const subscription = await streams.open();
  const wanted = Math.max(1, Math.min(2, Math.floor(LONG_SECONDS / t.heartbeatSeconds)));
  const found = await awaitHeartbeats(t, subscription, wanted, { openIdle: idleStreams(t, streams) });
  for (const { text } of found.length === 0 ? heartbeatsOf(subscription).slice(-1) : found) {
    t.should(text === 'heartbeat', { expected: 'the comment line ": heartbeat"', actual: `: ${text}` });
  }
  // A device that declares no interval may send heartbeats more often than every 30 s.
  if (t.info.heartbeat_seconds === undefined) return;
  const elapsed = performance.now() - subscription.stream.openedAt;
  const length = heartbeatsOf(subscription).length + subscription.stream.comments.dropped;
  t.session.declarations.saw(heartbeatsSeen(t.heartbeatSeconds, length, elapsed));
  t.should(length <= 3 + (2 * elapsed) / (t.heartbeatSeconds * 1000), {
    expected: `a heartbeat about every ${t.heartbeatSeconds} s`,
    actual: `${length} in ${Math.round(elapsed)} ms`,
  });
});

/** Seconds: two heartbeats are awaited if both fit in; an idle stream is watched past two if one fits in. */
const LONG_SECONDS = 45;

// Tests cursor and filter on one stream, because a device may serve few streams.
check(heartbeat, { aspect: 'replayed', slow: true, premises: STREAM }, async (t: Device, streams) => {
  const lastEventId = await someCursor(t, streams);
  if (lastEventId === undefined) return t.undecided('the device replays no event that it retained');
  const from = (cursor: bigint): OpenEvents => ({ lastEventId: cursor, types: ['deployment.removed'] });
  let opening = from(lastEventId);
  let stream = await streams.try(opening);
  if (stream.status === 410 && t.capabilities.has('drive')) {
    opening = from((await publish(t, 1)).last);
    stream = await streams.try(opening);
  }
  if (stream.status !== 200) return t.notApplicable(`${describeOpen(opening)} is answered with ${stream.status}`);
  await awaitHeartbeats(t, streams.follow(stream), 1, { openIdle: idleStreams(t, streams) });
});

/** Cursor before the newest deployment.removed, if any: after a replayed event, a device may omit a heartbeat. */
async function someCursor(t: Device, streams: Streams): Promise<bigint | undefined> {
  const sample = await sampleRetained(t, streams);
  const frames = [...(sample?.stream.frames ?? [])].filter((frame) => !carriesNoEvent(frame));
  const cursor = frames[frames.findLastIndex(({ event }) => event === 'deployment.removed') - 1];
  if (cursor === undefined && t.capabilities.has('drive')) return (await publish(t, 1)).last;
  const { id = '' } = cursor ?? frames.at(-1) ?? {};
  return DECIMAL.test(id) ? BigInt(id) : undefined;
}

check(
  heartbeat,
  { aspect: 'restart', needs: ['restart'], slow: true, premises: [heartbeat.id] },
  async (t: Device, streams) => {
    // Interval in seconds above which a quick device is not watched after a restart; other checks wait meanwhile.
    if (t.heartbeatSeconds > 5 && !t.session.isSlow('publish', 'deployment'))
      return t.notApplicable(`no other check can run for the ${t.heartbeatSeconds} s that it takes`);
    const after = t.capabilities.has('drive') ? (await publishUnread(t, 2)).first : undefined;
    await restart(t);
    const stream = after === undefined ? undefined : await streams.try({ after });
    const subscription = stream?.status === 200 ? streams.follow(stream) : await streams.open();
    await awaitHeartbeats(t, subscription, 1);
  },
);

const inert = requirement({
  id: 'device.events.heartbeat.inert',
  clause: 'a comment line `: heartbeat` … clients ignore comment lines',
  text: 'Heartbeats are comments and nothing else: they carry no id, event or data, and move no cursor.',
});
check(inert, { slow: true, premises: STREAM }, async (t: Device, streams) => {
  const subscription = await streams.open();
  const onFrame = (frame: SseFrame): void => {
    const isEvent = DECIMAL.test(frame.id ?? '') && parseObject(frame.data ?? '') !== undefined;
    t.must(carriesNoEvent(frame) || isEvent, {
      expected: 'nothing on an idle stream but comment lines, which are outside of any block',
      actual: `a block that is not an event: ${showFrame(frame)}`,
    });
  };
  await awaitHeartbeats(t, subscription, 1, { onFrame, openIdle: idleStreams(t, streams) });
  expectCursorKept(t, subscription);
});

const longLived = requirement({
  id: 'device.events.long-lived',
  section: '4.1',
  clause: 'open a long-lived SSE stream of events',
  text: 'The stream is long-lived: while idle it stays open past two heartbeats.',
});
check(longLived, { slow: true, premises: STREAM }, async (t: Device, streams) => {
  const times = t.heartbeatSeconds <= LONG_SECONDS ? 2.2 : 1.2;
  const idleMs = times * t.heartbeatSeconds * 1000;
  const filtered = await filteredIdleStream(t, streams, idleMs);
  const subscription = filtered ?? (await streams.open());
  if (filtered === undefined) await expectOpenWhileIdle(t, subscription, idleMs);
  const { comments, openedAt } = subscription.stream;
  t.note(`watched for ${Math.round(performance.now() - openedAt)} ms, ${comments.length} comments`);
});

check(longLived, { aspect: 'beside', slow: 'beside', premises: STREAM }, async (t: Device, streams) => {
  const idle = await filteredIdleStream(t, streams, ENDS_AT_ONCE_MS);
  if (idle === undefined) return t.notApplicable('no stream without events stays open');
  await expectHeartbeatsBeside(t, idle);
});

async function filteredIdleStream(t: Device, streams: Streams, idleMs: number): Promise<Subscription | undefined> {
  let stream = await streams.tryAnother({ types: ['robot.rebalanced'] });
  if (stream !== undefined && stream.status !== 200)
    stream = await streams.tryAnother({ types: ['deployment.removed'] });
  if (stream?.status !== 200) return undefined;
  const wait = { within: idleMs, atMost: idleMs, for: 'the end of an idle stream' };
  await stream.rest(wait).catch(ignoring(StreamTimeout));
  t.signal.throwIfAborted();
  return stream.ended === undefined ? streams.follow(stream) : undefined;
}

export const idleStreams = (t: Device, streams: Streams) => async (isOverdue: boolean) =>
  isOverdue || t.capabilities.has('restart') ? filteredIdleStream(t, streams, ENDS_AT_ONCE_MS) : undefined;
