/** `--certificate FILE --key FILE`: from a finished run to a signed file. */
import type { KeyObject } from 'node:crypto';
import { UsageError } from '../../common/usage.ts';
import { prepareFile, writeWhole } from '../../common/user-files.ts';
import type { Report } from '../../runner/types.ts';
import { verdictOf } from './claims.ts';
import { seal } from './dsse.ts';
import { keyId, readPrivateKey } from './keys.ts';
import { statementOf, suitesDigest } from './statement.ts';

/** Certifies runs with one key, into one file. */
export interface Issuer {
  /** Writes the certificate; throws Refused, and writes nothing, when the run was not complete. */
  issue(report: Report): { file: string; keyId: string; result: string; verdict: string };
}

/** Reads the key and tries the file before the run. Throws UsageError. */
export function certificateIssuer(file: string, keyFile: string | undefined): Issuer {
  if (keyFile === undefined)
    throw new UsageError('--certificate needs --key FILE, a private key (`muster keygen FILE` makes one)');
  const key: KeyObject = readPrivateKey(keyFile);
  const place = prepareFile(`--certificate ${file}`, file);
  return {
    issue(report) {
      const statement = statementOf(report, suitesDigest());
      writeWhole(place, seal(Buffer.from(JSON.stringify(statement)), key));
      return {
        file: place,
        keyId: keyId(key),
        result: statement.predicate.result,
        verdict: verdictOf(statement.predicate),
      };
    },
  };
}
