/** What identifies a file in a certificate. */
import { createHash } from 'node:crypto';
import { readInput, whyNot } from '../../common/read-input.ts';
import { UsageError } from '../../common/usage-error.ts';

/** `sha256:…`. Throws UsageError when the file cannot be read. */
export function digestOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return `sha256:${createHash('sha256').update(readInput(file)).digest('hex')}`;
  } catch (error) {
    throw new UsageError(`artifact ${file}: cannot be read (${whyNot(error)})`);
  }
}
