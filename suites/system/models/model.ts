/** What can be known of platform and device together: which deployments were made, in what order, and whether the device is there. */
import type { Follower } from '../support/events.ts';
import type { RolledOut } from '../support/roll-out.ts';
import type { System } from '../support/system.ts';

export interface SystemModel {
  online: boolean;
  made: RolledOut[];
}

export interface SystemReality {
  t: System;
  events: Follower;
}
