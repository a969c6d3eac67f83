import type { DeviceBehaviour } from '../../device/behaviour.ts';

/** A named deviation of the simulated device: what an honest engineer gets wrong. */
export interface DeviceDefect {
  name: string;
  side: 'device';
  /** What it does wrong, in one sentence. */
  summary: string;
  /** Requirements that it breaks. */
  breaks: readonly string[];
  /** Made anew for each device, so that a defect may remember something. */
  behaviour(right: DeviceBehaviour): DeviceBehaviour;
}
