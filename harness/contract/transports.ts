/**
 * Transports of the Device API (section 5) that a check can ask for, and what each means. The transports themselves are in
 * `harness/targets/transports` (the client's side) and `simulators/device/transport` (the server's).
 */
export const TRANSPORT_CAPABILITIES = {
  unix: 'the Device API is on a unix socket',
  loopback: 'the Device API is on loopback TCP, with a discovery file',
} as const;
