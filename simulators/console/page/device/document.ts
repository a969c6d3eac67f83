import type { Deployment } from '../../../../harness/contract/device-api.ts';
import type { SeenEvent, SeenFrame, SeenListener, SeenLog } from '../../../device/ports.ts';
import type { Deed } from '../document.ts';

export type { Deployment, SeenFrame };

export interface Deviation {
  name: string;
  kind: 'defect' | 'variant';
  describe: string;
}

export interface DeviceDocument {
  deviceId: string;
  addresses: Record<string, string>;
  /** Maximum number of retained events; null if the agent does not report its retention. */
  retention: number | null;
  heartbeatSeconds: number;
  agent: 'up' | 'down';
  pid: number | null;
  current: Deployment | null;
  log: SeenLog;
  /** In order of their ids, the newest last. */
  events: SeenEvent[];
  frames: SeenFrame[];
  listeners: Record<string, SeenListener>;
  deeds: Deed[];
  deviations: Deviation[];
  switchedOn: string[];
}
