/** What a black box still shows of the past: events that it replays to whoever asks for them. */
import type { Device } from './context.ts';
import { type Streams, Subscription } from './streams.ts';

/** Silence that ends the sample. What is judged is what came; nothing is concluded from what did not. */
const QUIET_MS = 250;
const SAMPLE_MS = 3000;
/** Of a long log a stretch is enough. */
const SAMPLE_BYTES = 500_000;

/**
 * Opens a replay from as early as the target serves, and reads until it falls silent, or there is enough. Undefined when there is no cursor to be
 * found that is served, or nothing is retained.
 */
export async function retained(
  context: Device,
  streams: Streams,
): Promise<{ sample: Subscription; cursor: bigint } | undefined> {
  const cursor = await earliestServed(streams);
  if (cursor === undefined) return undefined;
  const stream = await streams.try({ after: cursor, cutAfterBytes: SAMPLE_BYTES });
  if (stream.status !== 200) return undefined;
  await stream.idle(QUIET_MS, { within: Math.min(SAMPLE_MS, context.patienceMs), for: 'the end of the replay' });
  return stream.frames.length === 0 ? undefined : { sample: new Subscription(context, stream), cursor };
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
