/** Clock of the simulators; tests and clock-skew faults inject a different clock. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Milliseconds since an arbitrary moment, unaffected by changes of the wall clock. */
export const steadyClock: Clock = { now: () => performance.now() };

export const timestamp = (clock: Clock): string => new Date(clock.now()).toISOString();
