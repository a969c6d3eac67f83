/** What one robot costs, by its uplink and subscribers: figures of `npm run bench -- --only fleet`, rounded up. */
import type { Scenario } from '../scenario/scenario.ts';

export interface RobotCost {
  descriptors: number;
  memoryBytes: number;
  /** Local TCP ports towards one address of the platform. */
  ports: number;
  diskBytes: number;
  inodes: number;
}

/** The robot's listening socket, and its event log while it is written. */
const IDLE_DESCRIPTORS = 1.2;
const IDLE_BYTES = 10 * 1024;
const UPLINK_BYTES = 10 * 1024;
/** Both ends of a stream are in this process. */
const SUBSCRIBER_DESCRIPTORS = 2;
const SUBSCRIBER_BYTES = 60 * 1024;
/** Event log, mark, state, config files, key, device record, and their directories; each takes a block. */
const FILES = 10;
const BLOCK_BYTES = 4096;

export function robotCost({ uplink = 'agent', subscribers = 1 }: Pick<Scenario, 'uplink' | 'subscribers'>): RobotCost {
  const connected = uplink === 'agent' ? 1 : 0;
  return {
    descriptors: IDLE_DESCRIPTORS + connected + subscribers * SUBSCRIBER_DESCRIPTORS,
    // Files count as memory too, because they are kept there when there is room.
    memoryBytes:
      FILES * BLOCK_BYTES + IDLE_BYTES + (uplink === 'none' ? 0 : UPLINK_BYTES) + subscribers * SUBSCRIBER_BYTES,
    ports: connected,
    diskBytes: FILES * BLOCK_BYTES,
    inodes: FILES,
  };
}
