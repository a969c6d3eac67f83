/** Reads a sample of the oldest retained events, which needs no control of the device. */
import { Patience } from '../../../harness/common/waiting.ts';
import { Fact } from '../../../harness/runner/session.ts';
import type { Device } from './check.ts';
import type { Streams } from './streams.ts';
import { Subscription } from './subscription.ts';

/** Maximum number of bytes in a sample; the log may be much longer. */
const SAMPLE_BYTES = 500_000;

interface Extent {
  earliest: bigint;
  frames: number;
}

const EXTENT = new Fact<Extent | undefined>(() => undefined);

export async function requireRetained(t: Device, streams: Streams): Promise<Subscription> {
  return (await sampleRetained(t, streams)) ?? t.undecided('the device replays no event that it retained');
}

export async function sampleRetained(
  t: Device,
  streams: Streams,
  cutAfterBytes = SAMPLE_BYTES,
): Promise<Subscription | undefined> {
  const known = t.session.get(EXTENT);
  const patience = new Patience(t.patienceMs);
  let cursor = await earliestServed(streams, known?.earliest);
  if (cursor === undefined) return undefined;
  let stream = await streams.try({ after: cursor, cutAfterBytes });
  // Tries again if compaction, caused by other checks, has removed the cursor meanwhile.
  while (stream.status === 410 && patience.leftMs > 0) {
    cursor = await earliestServed(streams, cursor);
    if (cursor === undefined) return undefined;
    stream = await streams.try({ after: cursor, cutAfterBytes });
  }
  if (stream.status !== 200) return undefined;
  // A silence of 250 ms ends the replay, or of 40 ms once the replay is as long as the last sample.
  const quietMs = (): number => (stream.frames.length < (known?.frames ?? Infinity) ? 250 : 40);
  await stream.idle(quietMs, { within: Math.min(3000, t.patienceMs), for: 'the end of the replay' });
  const frames = stream.frames.length;
  if (frames === 0) return undefined;
  t.session.set(EXTENT, { earliest: cursor, frames: Math.max(frames, known?.frames ?? 0) });
  return new Subscription(t, stream);
}

async function earliestServed(streams: Streams, known = 0n): Promise<bigint | undefined> {
  const served = async (cursor: bigint): Promise<boolean | undefined> => {
    const stream = await streams.try({ after: cursor, cutAfterBytes: 1 });
    await stream.close();
    return stream.status === 200 ? true : stream.status === 410 ? false : undefined;
  };
  const zero = await served(0n);
  if (zero !== false) return zero === true ? 0n : undefined;
  // Searches upwards from the last known cursor, because compaction never restores an event.
  let low = known > 0n ? known - 1n : 0n;
  let high = low + 1n;
  for (;;) {
    const answer = await served(high);
    if (answer === true) break;
    if (answer === undefined || high > 2n ** 62n) return undefined;
    const step = high - low;
    low = high;
    high += 2n * step;
  }
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    const answer = await served(middle);
    if (answer === undefined) return undefined;
    if (answer) high = middle;
    else low = middle;
  }
  return high;
}
