import { createHash } from 'node:crypto';
import type { ResourceKind } from '../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../harness/contract/platform/operations.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Makes ids from the seed and the row number: repeatable, without a visible pattern, unique in one database. */
export function idsFrom(seed: string): (kind: ResourceKind, seq: number) => string {
  return (kind, seq) => {
    const digest = createHash('sha256').update(`${seed}/${kind}/${seq}`).digest();
    let id = RESOURCES[kind].prefix;
    for (let index = 0; index < 20; index++) id += ALPHABET[(digest[index] as number) & 31];
    return id;
  };
}
