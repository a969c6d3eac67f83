/** Exit codes of every command. There is no way to do nothing and exit 0. */
export const EXIT = {
  conformant: 0,
  nonconformant: 1,
  /** Something was blocked, a baseline entry is stale, or nothing ran. */
  incomplete: 2,
  harness: 3,
  usage: 64,
  /** A load run is invalid because the generator could not keep up. */
  saturated: 98,
  /** A load threshold was missed. */
  threshold: 99,
  /** By SIGINT or SIGTERM, as a shell says it. */
  interrupted: 130,
} as const;
