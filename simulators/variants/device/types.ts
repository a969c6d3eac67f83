import type { DeviceBehaviour } from '../../device/behaviour.ts';

/** A choice that the specification leaves open, made differently. No MUST may turn red on it. */
export interface DeviceVariant {
  name: string;
  side: 'device';
  /** What it does differently, and why it may. */
  summary: string;
  behaviour(right: DeviceBehaviour): DeviceBehaviour;
}
