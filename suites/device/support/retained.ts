/** What a black box still shows of the past: the events that it replays. */
import type { Device } from './device.ts';
import { type Streams, Subscription } from './streams.ts';

/** Silence that ends the sample. Only what came is checked: nothing follows from what did not come. */
const QUIET_MS = 250;
const SAMPLE_MS = 3000;
/** A stretch of a long log is enough. */
const SAMPLE_BYTES = 500_000;

/** The replay from the earliest cursor that is served. Ends the check as not applicable when there is none, or it is empty. */
export async function requireRetained(t: Device, streams: Streams): Promise<Subscription> {
  return (await sampleRetained(t, streams)) ?? t.notApplicable('the device replays no event that it retained');
}

/** The same; undefined when no cursor is served, or nothing is retained. */
export async function sampleRetained(t: Device, streams: Streams): Promise<Subscription | undefined> {
  const cursor = await earliestServed(streams);
  if (cursor === undefined) return undefined;
  const stream = await streams.try({ after: cursor, cutAfterBytes: SAMPLE_BYTES });
  if (stream.status !== 200) return undefined;
  await stream.idle(QUIET_MS, { within: Math.min(SAMPLE_MS, t.patienceMs), for: 'the end of the replay' });
  return stream.frames.length === 0 ? undefined : new Subscription(t, stream);
}

/** 0, or where that is expired the smallest cursor that is not, by doubling and halving. */
async function earliestServed(streams: Streams): Promise<bigint | undefined> {
  const served = async (cursor: bigint): Promise<boolean | undefined> => {
    const stream = await streams.try({ after: cursor, cutAfterBytes: 1 });
    await stream.close();
    return stream.status === 200 ? true : stream.status === 410 ? false : undefined;
  };
  const zero = await served(0n);
  if (zero !== false) return zero === true ? 0n : undefined;
  let low = 0n;
  let high = 1n;
  for (;;) {
    const answer = await served(high);
    if (answer === true) break;
    if (answer === undefined || high > 2n ** 62n) return undefined;
    low = high;
    high *= 2n;
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
