/** What is known of the implementation under test: what the tester says of it, and what Muster measured. */

import { basename } from 'node:path';
import { defined } from '../common/defined.ts';
import { UsageError } from '../common/usage.ts';
import { whyNot } from '../common/user-files.ts';
import type { TargetDescription } from '../runner/types.ts';
import { identityFields, mergedFields, type TargetFile, type TargetOptions } from './fields.ts';
import { sha256 } from './launch/executable.ts';
import type { Ran } from './launch/started.ts';

type Identity = Pick<
  TargetDescription,
  'name' | 'version' | 'digest' | 'digest_of' | 'executable' | 'digest_missing' | 'artifact'
>;

/** Name, version and artifact as they were given, and the digest of what Muster itself ran. Throws UsageError. */
export function identityOf(
  options: Pick<TargetOptions, 'name' | 'version' | 'artifact'>,
  file: Partial<TargetFile>,
  ran: Ran | undefined,
): Identity {
  const { name, version, artifact } = mergedFields(identityFields, options, file);
  const digest = digestOf(artifact);
  return {
    ...defined({ name, version }),
    ...(ran === undefined ? {} : measured(ran)),
    ...(artifact === undefined || digest === undefined ? {} : { artifact: { name: basename(artifact), digest } }),
  };
}

function measured({ of, name, digest, problem }: Ran): Partial<Identity> {
  if (digest === undefined) return problem === undefined ? {} : { digest_missing: problem };
  return { digest, digest_of: of, ...defined({ executable: name }) };
}

/** Measures again at the end of a run. A digest that does not hold any more is taken out of the description. */
export function concludeIdentity(description: TargetDescription, ran: Ran | undefined): void {
  const why = ran?.changed?.();
  if (why === undefined) return;
  delete description.digest;
  delete description.digest_of;
  description.digest_missing = why;
}

/** SHA-256 of a file as `sha256:…`. Throws UsageError when the file cannot be read. */
export function digestOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return sha256(file);
  } catch (error) {
    throw new UsageError(`artifact ${file}: cannot be read (${whyNot(error)})`);
  }
}
