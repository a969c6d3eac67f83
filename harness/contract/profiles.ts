/**
 * Profiles: named sets of requirements for targets with certain capabilities. Released profiles are frozen in
 * `fixtures/requirements/history.jsonl`.
 */
import type { Capability } from './capabilities.ts';

export interface Profile {
  readonly name: string;
  /** Completes the sentence `holds the target to ...`. */
  readonly about: string;
  /** Capabilities that a target needs for a complete verdict. */
  readonly has: readonly Capability[];
  /** Adds the SHOULD requirements that protect secrets and servers. */
  readonly protects?: true;
}

type Target = 'device' | 'platform' | 'system' | 'client';

export const PROFILES: Readonly<Record<Target, readonly Profile[]>> = {
  device: [
    { name: 'observed', about: 'what any client sees of a device that nobody drives', has: [] },
    { name: 'driven', about: 'what shows while control makes deployments and events', has: ['drive'] },
    {
      name: 'full',
      about: 'all of it: restarts, compaction, the log and the files, and the SHOULDs that protect others',
      has: ['drive', 'compact', 'restart', 'log', 'files'],
      protects: true,
    },
  ],
  platform: [
    { name: 'read-only', about: 'what shows without a write', has: ['seed-data'] },
    {
      name: 'full',
      about: 'all of it: writes, scopes and pings, and the SHOULDs that protect others',
      has: ['seed-data', 'write', 'limited-key', 'online-device', 'offline-device'],
      protects: true,
    },
  ],
  system: [{ name: 'full', about: 'all of it', has: ['write'], protects: true }],
  client: [
    { name: 'stream', about: 'how a client follows the event stream of a device', has: ['follow'] },
    { name: 'calls', about: 'how a client asks a platform', has: ['list', 'ping', 'deploy'] },
    {
      name: 'full',
      about: 'all of it, and the SHOULDs that protect others: secrets, storms, endless retries',
      has: ['follow', 'current', 'list', 'ping', 'deploy'],
      protects: true,
    },
  ],
};

export const PROFILE_NAMES: readonly string[] = [
  ...new Set(Object.values(PROFILES).flatMap((all) => all.map(({ name }) => name))),
];

/** Largest profile whose capabilities the target has, else the profile with the fewest missing capabilities. */
export function largestProfile(api: Target, capabilities: ReadonlySet<Capability>): Profile {
  const lacks = ({ has }: Profile): number => has.filter((each) => !capabilities.has(each)).length;
  const within = PROFILES[api].findLast((profile) => lacks(profile) === 0);
  const [nearest] = PROFILES[api].toSorted((a, b) => lacks(a) - lacks(b));
  return within ?? (nearest as Profile);
}

export const isWithin = (api: Target, { has }: Profile, needs: readonly Capability[]): boolean =>
  needs.every((need) => has.includes(need) || isCondition(api, need));

/** True for a capability that no profile of `api` needs: a way to reach a target, or an optional feature. */
export const isCondition = (api: Target, capability: Capability): boolean =>
  !PROFILES[api].some(({ has }) => has.includes(capability));
