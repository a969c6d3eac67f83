/** What the console shows of a simulated device. */
import type { Deployment } from '../../../../harness/contract/device-api.ts';
import type { SeenEvent, SeenFrame, SeenListener, SeenLog } from '../../../device/seen.ts';
import type { Deed } from '../document.ts';

export type { Deployment, SeenEvent, SeenFrame, SeenListener, SeenLog };

/** A known defect or a conformant variant. */
export interface Deviation {
  name: string;
  kind: 'defect' | 'variant';
  describe: string;
}

export interface DeviceDocument {
  deviceId: string;
  /** Where it serves: `socket`, `discovery`, `url`. */
  addresses: Record<string, string>;
  retention: number;
  heartbeatSeconds: number;
  eventLog: string;
  configRoot: string;
  agent: 'up' | 'down';
  /** Process id of the agent while it is up. */
  pid: number | null;
  current: Deployment | null;
  log: SeenLog;
  /** Newest last. */
  events: SeenEvent[];
  frames: SeenFrame[];
  /** Open event streams, by number. */
  listeners: Record<string, SeenListener>;
  deeds: Deed[];
  /** Everything that can be switched on. */
  deviations: Deviation[];
  /** Names of those that are on. */
  switchedOn: string[];
}
