/** The uplinks of all robots of a process: one set of connections, one provisioning token that is renewed before it expires. */

import { random } from '../../common/random.ts';
import { createUplink } from '../../device/uplink/index.ts';
import type { HostConfig } from '../host/host.ts';
import type { PlatformClient } from '../platform/client.ts';
import { durationMs } from '../scenario/units.ts';
import { type MakeUplink, observedUplinks } from './observed-uplink.ts';

/** Provisioning tokens live five minutes. */
const RENEW_MS = 120_000;
const DEFAULT_POLL_MS = 10_000;
/** HTTP connections to the platform that the robots of one process share. */
const CONNECTIONS = 64;

export interface FleetUplinks {
  make: MakeUplink | undefined;
  /** Whether a robot needs its key on disk before it starts. */
  needKeys: boolean;
}

export function fleetUplinks(config: HostConfig, client: PlatformClient | undefined): FleetUplinks {
  const { platform, scenario } = config;
  const kind = scenario.uplink ?? 'agent';
  if (platform === undefined || client === undefined || kind === 'none') return { make: undefined, needKeys: false };
  const shared = {
    random: random(`${config.seed}/uplink`),
    dialect: platform.dialect ?? 'spec',
    connections: CONNECTIONS,
  };
  if (kind === 'polling') {
    const intervalMs = scenario.poll_every === undefined ? DEFAULT_POLL_MS : durationMs(scenario.poll_every);
    const polling = createUplink({ ...shared, kind, platform: platform.url, apiKey: platform.apiKey, intervalMs });
    return { make: observedUplinks(polling), needKeys: false };
  }
  const agent = createUplink({
    ...shared,
    kind,
    platform: platform.agentUrl,
    ...(platform.mqttUrl === undefined ? {} : { mqtt: platform.mqttUrl }),
    keyBits: config.keyBits,
    token: renewed(() => client.provisioningToken()),
  });
  return { make: observedUplinks(agent), needKeys: true };
}

/** One token for all who ask within its time. */
function renewed(issue: () => Promise<string>): () => Promise<string> {
  let token: Promise<string> | undefined;
  let until = 0;
  return () => {
    if (token === undefined || performance.now() > until) {
      until = performance.now() + RENEW_MS;
      token = issue();
      token.catch(() => {
        token = undefined;
      });
    }
    return token;
  };
}
