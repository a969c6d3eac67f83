/** The client with which a host sends the requests of a scenario. */
import type { Metrics } from '../measure/metrics.ts';
import { PlatformClient } from '../platform/client.ts';
import type { HostConfig } from './host.ts';

/** A client that records its connections in `metrics`; undefined without a platform. */
export function clientOf({ platform, connections }: HostConfig, metrics: Metrics): PlatformClient | undefined {
  if (platform === undefined) return undefined;
  return new PlatformClient({
    ...platform,
    connections,
    onOpened: (ms) => metrics.current.time('http.connect.ms', ms),
    onCrowded: () => metrics.current.count('http.crowded'),
  });
}
