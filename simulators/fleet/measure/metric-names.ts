/** The names of all metrics, for recorders and thresholds. */

export const DURATIONS = [
  'rollout.ms',
  'rollout.command.ms',
  'rollout.sync.ms',
  'rollout.write.ms',
  'rollout.event.ms',
  'rollout.report.ms',
  'ping.ms',
  'http.ms',
  'sync.ms',
  'sse.delivery.ms',
  'start.ms',
  'connect.ms',
  'reconnect.ms',
  'subscriber.reconnect.ms',
  'schedule.lateness.ms',
] as const;
export type DurationName = (typeof DURATIONS)[number];

export const COUNTERS = [
  'rollout.attempts',
  'rollout.missed',
  'rollout.errors',
  'ping.attempts',
  'ping.errors',
  'ping.offline',
  'http.attempts',
  'http.errors',
  'list.errors',
  'sync.errors',
  'sse.events',
  'start.errors',
  'storm.errors',
  'partition.errors',
  'kill.errors',
  'clock-skew.errors',
  'stop.errors',
  'connect.refused',
  'subscriber.connected',
  'subscriber.lost',
  'subscriber.refused',
  'subscriber.expired',
  'subscriber.violations',
  'exhausted',
] as const;
/** `http.status.503` counts failed requests that were answered with that status. */
export type CounterName = (typeof COUNTERS)[number] | `http.status.${number}`;

export const isDuration = (name: string): boolean => DURATIONS.some((known) => known === name);
export const isCounter = (name: string): boolean =>
  COUNTERS.some((known) => known === name) || /^http\.status\.[1-5]\d\d$/.test(name);
