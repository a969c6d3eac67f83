/** Shared dependencies of all parts of the platform. */
import { createHash } from 'node:crypto';
import type { ResourceKind } from '../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../harness/contract/platform/operations.ts';
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
  /** Ids of devices that are online without an agent (`answering` in `index.ts`). */
  standIns: Set<string>;
  /** Messenger to devices, replaced once the agent side is up. */
  messenger: DeviceMessenger;
  /** Unique id for row `seq` of a collection. */
  newId(kind: ResourceKind, seq: number): string;
}

/** Makes ids from seed and row number: repeatable, unique in one database, and without a visible pattern. */
export function idsFrom(seed: string): (kind: ResourceKind, seq: number) => string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  return (kind, seq) => {
    const digest = createHash('sha256').update(`${seed}/${kind}/${seq}`).digest();
    let id = RESOURCES[kind].prefix;
    for (let index = 0; index < 20; index++) id += alphabet[(digest[index] as number) & 31];
    return id;
  };
}
