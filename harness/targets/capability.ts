/** `--capability NAME`: what a target declares. */

import { nearest } from '../common/nearest.ts';
import { UsageError } from '../common/usage-error.ts';
import { CAPABILITIES, type Capability } from '../runner/types.ts';

export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

/** What can be said of each kind of target. */
const OF = {
  device: ['unix', 'loopback', 'root', 'drive', 'compact', 'restart', 'log', 'files'],
  platform: ['write', 'seed-data', 'limited-key', 'online-device', 'offline-device', 'tetons', 'rainier', 'everglades'],
} as const satisfies Record<string, readonly Capability[]>;

/** Throws UsageError for the first name that a target of this kind cannot declare. */
export function declared(names: readonly string[] = [], kind: keyof typeof OF): Capability[] {
  const accepted: readonly Capability[] = OF[kind];
  return names
    .flatMap((name) => name.split(','))
    .map((name) => {
      const known = accepted.find((one) => one === name);
      if (known !== undefined) return known;
      const near = nearest(name, accepted);
      throw new UsageError(
        `--capability ${name}: ${near === undefined ? '' : `did you mean ${near}? `}accepted are ${accepted.join(', ')}`,
      );
    });
}

/** What each capability means, for `muster explain`. */
export const CAPABILITY_MEANINGS: Record<Capability, string> = {
  unix: 'the Device API is on a unix socket',
  loopback: 'the Device API is on loopback TCP, with a discovery file',
  root: 'Muster runs as root, so that it can try file permissions as another user',
  drive: 'control can create deployments and publish events',
  compact: 'control can compact the event log',
  restart: 'control can stop and start the agent',
  log: 'the JSONL event log can be read, and written while the agent is stopped',
  files: 'the folder of config files can be read',
  write: 'the suite may create resources on the platform (not with --read-only)',
  'seed-data': 'the platform holds enough items to page through, or the suite may create them',
  'limited-key': 'an API key without devices:read was given (--limited-key)',
  'online-device': 'a device that answers a ping is known (--online-device)',
  'offline-device': 'a device that does not answer is known (--offline-device)',
  tetons: 'the platform accepts 2026-03-09.tetons',
  rainier: 'the platform accepts 2026-05-06.rainier',
  everglades: 'the platform accepts 2026-08-17.everglades',
};
