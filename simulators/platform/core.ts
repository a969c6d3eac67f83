/** What every part of the platform works with. */

import type { ResourceKind } from '../../harness/contract/platform/operation.ts';
import type { DialectNames } from '../../harness/contract/versions.ts';
import type { Clock } from '../common/clock.ts';
import type { PlatformBehaviour } from './behaviour.ts';
import type { DeviceMessenger } from './ports.ts';
import type { Store } from './store/store.ts';

export interface Core {
  store: Store;
  behaviour: PlatformBehaviour;
  clock: Clock;
  names: DialectNames;
  /** The way to the devices; replaced once the agent side is up. */
  messenger: DeviceMessenger;
  /** The id of row `seq` of a collection: never the same twice. */
  newId(kind: ResourceKind, seq: number): string;
}
