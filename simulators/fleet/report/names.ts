/** What the figures of a fleet are called where people read them. */

const METRICS: Readonly<Record<string, string>> = {
  'rollout.ms': 'roll-out, POST to event read',
  'rollout.late.ms': 'roll-out that came late',
  'rollout.command.ms': 'POST to start of sync',
  'rollout.sync.ms': 'sync until content is here',
  'rollout.write.ms': 'content to files in place',
  'rollout.event.ms': 'files in place to event read',
  'rollout.report.ms': 'event read to platform knows',
  'ping.ms': 'ping through the platform, from when it was due',
  'ping.target.ms': 'ping through the platform, from when it was sent',
  'http.ms': 'request to the Platform API, from when it was due',
  'http.target.ms': 'request to the Platform API, from when it was sent',
  'http.connect.ms': 'new connection to the Platform API',
  'sync.ms': 'sync of a robot',
  'sse.delivery.ms': 'event from log to client',
  'start.ms': 'start of a robot',
  'connect.ms': 'connect to the platform',
  'reconnect.ms': 'back online after a fault',
  'subscriber.reconnect.ms': 'client back on its stream',
  'schedule.lateness.ms': 'lateness of the generator, due to sent',
  'schedule.burst.ms': 'all at once: until each was sent',
};

const RATES: Readonly<Record<string, string>> = {
  'sse.events': 'events read',
  rollout: 'roll-outs posted',
  'rollout.missed': 'roll-outs missed',
  'rollout.errors': 'roll-outs failed',
  ping: 'pings',
  'ping.errors': 'pings failed',
  http: 'requests',
  'http.errors': 'requests failed',
  'list.errors': 'lists failed',
  'sync.errors': 'syncs failed',
  'connect.errors': 'connects failed',
};

const PHASES: Readonly<Record<string, string>> = {
  rollout: 'roll-out',
  'kill-worker': 'kill a worker',
  'clock-skew': 'clock skew',
};

export const metricName = (name: string): string => METRICS[name] ?? name;
export const rateName = (name: string): string => RATES[name] ?? name;
export const phaseName = (name: string): string => PHASES[name] ?? name;
