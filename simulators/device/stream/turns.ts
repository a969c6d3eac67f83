/**
 * Shares the process between replays and everything else. Replays wait in one queue and send one portion a turn; the turns that
 * fit into a few milliseconds run together, and then the event loop goes on. It accepts one connection each time round, so
 * while connections come in, replays wait for most of the time: a request behind thousands of others would else wait for as many
 * slices of replay.
 */

/** How long turns run before the event loop goes on. One turn always runs, and ends however long it takes. */
const SLICE_MS = 5;
/** How long replays wait for connections at most, between two slices. */
const PATIENCE_MS = 50;

const waiting = new Set<() => void>();
let scheduled = false;
let connected = false;
/** When the last slice ended; milliseconds of `performance.now`. */
let ended = 0;

/** Calls `turn` once, after those that wait already. A turn that waits already keeps its place. */
export function takeTurn(turn: () => void): void {
  waiting.add(turn);
  if (scheduled) return;
  scheduled = true;
  setImmediate(slice);
}

/** Takes `turn` out of the queue. */
export function leaveTurn(turn: () => void): void {
  waiting.delete(turn);
}

/** A connection came in, and there may be more: they go before the next slice. */
export function giveWay(): void {
  connected = true;
}

function slice(): void {
  const began = performance.now();
  const wait = connected && began - ended < PATIENCE_MS;
  connected = false;
  try {
    if (!wait) run(began + SLICE_MS);
  } finally {
    scheduled = waiting.size > 0;
    if (scheduled) setImmediate(slice);
  }
}

function run(until: number): void {
  try {
    // A turn that asks for another one is at the end of the same set, and is met again in this slice if there is time.
    for (const turn of waiting) {
      waiting.delete(turn);
      turn();
      if (performance.now() >= until) return;
    }
  } finally {
    ended = performance.now();
  }
}
