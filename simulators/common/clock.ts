/** The clock of the simulators; tests and clock-skew faults inject another. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/**
 * Never jumps and never goes back, whatever becomes of the wall clock: for waits. Its milliseconds are since no moment
 * in particular.
 */
export const steadyClock: Clock = { now: () => performance.now() };

/** ISO 8601 with milliseconds, UTC. */
export const timestamp = (clock: Clock): string => new Date(clock.now()).toISOString();
