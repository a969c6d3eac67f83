/** The uplinks of all robots in a process: they share HTTP connections and a provisioning token, renewed before it expires. */
import { durationMs } from '../../../harness/common/durations.ts';
import { random } from '../../common/random.ts';
import { createUplink } from '../../device/uplink/index.ts';
import type { PlatformAddress, PlatformClient } from '../platform/client.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { type MakeUplink, observedUplinks } from './observed-uplink.ts';

/** Provisioning tokens live five minutes. */
const RENEW_MS = 120_000;
const DEFAULT_POLL_MS = 10_000;
const CONNECTIONS = 64;

export interface UplinkSettings {
  /** `undefined`: robots without an uplink. */
  platform: PlatformAddress | undefined;
  scenario: Pick<Scenario, 'uplink' | 'poll_every'>;
  seed: number;
  keyBits: number;
}

export interface FleetUplinks {
  make: MakeUplink | undefined;
  /** Whether a robot needs its key on disk before it starts. */
  needKeys: boolean;
}

export function fleetUplinks(settings: UplinkSettings, client: PlatformClient | undefined): FleetUplinks {
  const { platform, scenario, seed, keyBits } = settings;
  const kind = scenario.uplink ?? 'agent';
  if (platform === undefined || client === undefined || kind === 'none') return { make: undefined, needKeys: false };
  const shared = { random: random(`${seed}/uplink`), dialect: platform.dialect ?? 'spec', connections: CONNECTIONS };
  if (kind === 'polling') {
    const intervalMs = scenario.poll_every === undefined ? DEFAULT_POLL_MS : durationMs(scenario.poll_every);
    const polling = createUplink({ ...shared, kind, platform: platform.url, apiKey: platform.apiKey, intervalMs });
    return { make: observedUplinks(polling), needKeys: false };
  }
  const agent = createUplink({
    ...shared,
    kind,
    platform: platform.agentUrl,
    ...(platform.mqttUrl !== undefined && { mqtt: platform.mqttUrl }),
    keyBits,
    token: renewed(() => client.provisioningToken()),
  });
  return { make: observedUplinks(agent), needKeys: true };
}

/** Shares one token among all callers until it is due for renewal. */
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
