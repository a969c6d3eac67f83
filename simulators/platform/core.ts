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
  /** Devices that answer pings without an agent. */
  standIns: Set<string>;
  /** Placeholder until the agent side starts. */
  messenger: DeviceMessenger;
  newId(kind: ResourceKind, seq: number): string;
}

export function idsFrom(seed: string): (kind: ResourceKind, seq: number) => string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  return (kind, seq) => {
    const digest = createHash('sha256').update(`${seed}/${kind}/${seq}`).digest();
    let id = RESOURCES[kind].prefix;
    for (let index = 0; index < 20; index++) id += alphabet[(digest[index] as number) & 31];
    return id;
  };
}
