/** Reads recorded runs of implementations as evidence for `muster fit`. */
import { defined } from '../../common/defined.ts';
import { UsageError } from '../../common/usage.ts';
import type { Api, Report } from '../../runner/types.ts';
import { verdictOf } from '../certificate/certificate.ts';
import type { Statement } from '../certificate/statement.ts';
import { recordedIn } from '../compare/entries.ts';
import { verdict } from '../verdict.ts';

/** `unknown`: an undecided run, or an expired certificate. */
export type Answer = 'yes' | 'no' | 'unknown';

export interface Subject {
  name: string;
  version?: string;
  digest?: string;
}

export interface Evidence {
  file: string;
  api: Api;
  startedAt: string;
  subject: Subject;
  platform?: Subject;
  apiVersion?: string;
  capabilities: readonly string[];
  answer: Answer;
  words: string;
}

/**
 * Reads reports and certificates, oldest first, except of implementations without a name. `today`: YYYY-MM-DD in UTC.
 * Throws UsageError, which names the unreadable file.
 */
export function readEvidence(paths: readonly string[], today: string): Evidence[] {
  const found = paths
    .flatMap(recordedIn)
    .flatMap((each) =>
      'report' in each
        ? (ofReport(each.report, each.file) ?? [])
        : (ofCertificate(each.certified, each.file, today) ?? []),
    );
  if (found.length === 0)
    throw new UsageError(`${paths.join(', ')}: no report and no certificate names what was tested (--name)`);
  return found.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
}

function ofReport(report: Report, file: string): Evidence | undefined {
  const { api, target, started_at: startedAt } = report;
  const digest = target.digest ?? target.artifact?.digest;
  const name = target.name ?? target.executable;
  if (name === undefined) return undefined;
  const { kind, word, meaning } = verdict(report);
  const words = kind === 'CONFORMANT' ? word : `${word}, as ${meaning}`;
  return {
    ...{ file, api, startedAt, words, capabilities: target.capabilities },
    subject: { name, ...defined({ version: target.version, digest }) },
    ...defined({ platform: target.platform, apiVersion: target.api_version }),
    answer: kind === 'CONFORMANT' ? 'yes' : kind === 'NOT CONFORMANT' ? 'no' : 'unknown',
  };
}

function ofCertificate({ subject: [what], predicate }: Statement, file: string, today: string): Evidence | undefined {
  const { muster, result } = predicate;
  const name = muster.subject_name ?? muster.executable;
  if (name === undefined) return undefined;
  const { valid_until: until = today } = muster;
  const hasEnded = until < today;
  const digest = muster.artifact?.digest.sha256 ?? (muster.digest_of === 'name' ? undefined : what?.digest.sha256);
  return {
    ...{ file, api: muster.api, startedAt: muster.started_at, capabilities: muster.capabilities },
    subject: {
      name,
      ...defined({ version: muster.subject_version, digest: digest && `sha256:${digest}` }),
    },
    ...defined({ platform: muster.platform, apiVersion: muster.api_version }),
    answer: result === 'FAILED' ? 'no' : hasEnded ? 'unknown' : 'yes',
    words: `${verdictOf(predicate)}${hasEnded ? `, which ended on ${until}` : ''}`,
  };
}
