/**
 * Named profiles: what a target has to be able to do so that a verdict about it can be complete. Each is a list of
 * requirements, which `fixtures/requirements/history.jsonl` freezes; a check belongs to it by what it needs.
 */
import type { Capability } from './capabilities.ts';

/** One profile of an API. */
export interface Profile {
  readonly name: string;
  /** Completes `holds the target to …`. */
  readonly about: string;
  /** What the target must have. What no profile of the API asks for, such as a transport, is a condition of a check. */
  readonly has: readonly Capability[];
  /** The SHOULDs that protect others hold too. */
  readonly protects?: true;
}

type Target = 'device' | 'platform' | 'system' | 'client';

/** Profiles by API, the smallest first. */
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

/** Their names, each once. */
export const PROFILE_NAMES: readonly string[] = [
  ...new Set(
    Object.values(PROFILES)
      .flat()
      .map(({ name }) => name),
  ),
];

/** The largest profile that a target with these capabilities can reach; of those out of reach, the nearest. */
export function largestProfile(api: Target, capabilities: ReadonlySet<Capability>): Profile {
  const lacks = ({ has }: Profile): number => has.filter((each) => !capabilities.has(each)).length;
  const within = PROFILES[api].findLast((profile) => lacks(profile) === 0);
  const [nearest] = PROFILES[api].toSorted((a, b) => lacks(a) - lacks(b));
  return within ?? (nearest as Profile);
}

/** Whether a check with these needs belongs to a profile, where its conditions are met. */
export const isWithin = (api: Target, { has }: Profile, needs: readonly Capability[]): boolean =>
  needs.every((need) => has.includes(need) || isCondition(api, need));

/** Whether no profile asks for that capability: it says how a target is reached, or what it may choose to offer. */
export const isCondition = (api: Target, capability: Capability): boolean =>
  !PROFILES[api].some(({ has }) => has.includes(capability));
