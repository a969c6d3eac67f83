/** Kinds of uplinks from robots to a platform, kinds of traffic, and the phases that suit each uplink. */

export const UPLINKS = ['agent', 'polling', 'calls', 'none'] as const;
/**
 * `agent`: robots use the agent protocol. `polling`: robots use the Platform API. `calls`: robots stand for existing
 * devices and are idle.
 */
export type UplinkKind = (typeof UPLINKS)[number];

export const CONNECTED_UPLINKS = ['agent', 'polling'] as const satisfies UplinkKind[];

export const TRAFFIC = {
  ping: { action: 'ping', purpose: 'Rate of pings of devices through the platform' },
  lists: { action: 'list', purpose: 'Rate of reads of one page of the list of devices' },
  reads: { action: 'read', purpose: 'Rate of reads of a single device' },
  expands: { action: 'expand', purpose: 'Rate of reads of a page of devices with their deployments expanded' },
} as const;
export type Traffic = keyof typeof TRAFFIC;
export type TrafficAction = (typeof TRAFFIC)[Traffic]['action'];
export const TRAFFIC_NAMES = Object.keys(TRAFFIC) as Traffic[];

export function unsuited(
  uplink: UplinkKind,
  phase: { readonly do: string } & Partial<Readonly<Record<Traffic, unknown>>>,
): string | undefined {
  const { do: kind } = phase;
  if (uplink === 'calls') {
    if (kind === 'rollout') return "this 'rollout' phase needs an uplink that deploys (agent, polling), not calls";
    if (!['storm', 'partition', 'kill', 'clock-skew'].includes(kind)) return undefined;
    return `this '${kind}' phase needs robots with a connection of their own (agent, polling), and uplink is calls`;
  }
  if (uplink !== 'none') return undefined;
  const asked = TRAFFIC_NAMES.find((name) => phase[name] !== undefined);
  if (kind !== 'rollout' && kind !== 'partition' && asked === undefined) return undefined;
  const enough = kind === 'rollout' || kind === 'partition' ? '' : `; for '${asked}' alone, calls will do`;
  return `this '${kind}' phase needs an uplink, but uplink is none${enough}`;
}

/** Returns the number of clients that read each robot's events: by default 1, or 0 for the uplink `calls`. */
export const subscribersOf = (scenario: { uplink?: UplinkKind; subscribers?: number }): number =>
  scenario.subscribers ?? (scenario.uplink === 'calls' ? 0 : 1);

export const robotName = (prefix: string, index: number): string => `${prefix}-${String(index).padStart(6, '0')}`;

export const indexIn = (name: string): number => Number(/\d+$/.exec(name)?.[0]);
