/** How long to wait before trying again. Milliseconds. */
import { backoffMs } from '../../../harness/common/backoff.ts';
import type { Random } from '../../common/random.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const POLL_INTERVAL = 12 * HOUR;

const FAILURE = { firstMs: 15 * SECOND, longestMs: 24 * HOUR };
const NETWORK = { firstMs: 15 * SECOND, longestMs: 5 * MINUTE };
const RECONNECT = { firstMs: SECOND, longestMs: 5 * MINUTE, jitter: 0.25 };

/** Before a request that met a network error is sent again: 0.5 to 1 s. */
export const transientDelay = (random: Random): number => 500 + random.next() * 500;

/** After failure number `attempt` (from 0) of a deployment, or of a sync as a whole: 15 s, doubling, to 24 h. */
export const failureDelay = (attempt: number): number => backoffMs(FAILURE, attempt);

/** After `attempt` + 1 syncs in a row that could not reach the platform: 15 s, doubling, to 5 min. They count as no failure. */
export const networkDelay = (attempt: number): number => backoffMs(NETWORK, attempt);

/** Before attempt number `attempt` (from 0) to reach the platform again: 1 s, doubling, to 5 min, ± 25 % so that a fleet spreads. */
export const reconnectDelay = (attempt: number, random: Random): number =>
  backoffMs(RECONNECT, attempt, () => random.next());
