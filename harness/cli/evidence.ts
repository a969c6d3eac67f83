/** What a check writes in addition to its reports: an updated baseline, a certificate, a badge. All are prepared before the run. */

import { EXIT, UsageError } from '../common/usage.ts';
import { prepareFile, writeWhole } from '../common/user-files.ts';
import { badge } from '../reports/certificate/claims.ts';
import { Refused } from '../reports/certificate/dsse.ts';
import { certificateIssuer, type Issuer } from '../reports/certificate/issue.ts';
import { applyBaseline, type Baseline, readBaseline, updatedBaseline, writeBaseline } from '../runner/baseline.ts';
import type { CheckResult, Report, Suite, TargetDescription } from '../runner/types.ts';

export interface EvidenceArguments {
  baseline?: string;
  'update-baseline': boolean;
  certificate?: string;
  key?: string;
  badge?: string;
  only?: readonly string[];
  section?: readonly string[];
  fast: boolean;
}

export interface Evidence {
  /** Throws UsageError when what was opened cannot be certified as asked. */
  opened(target: TargetDescription): void;
  /** Whether the baseline excuses that check when it fails. */
  excuses(id: string): boolean;
  /** Turns outcomes by the baseline. */
  settle(results: CheckResult[]): CheckResult[];
  /** Writes what was asked for; the exit code, which is worse than the report's when a certificate is refused. */
  finish(report: Report, say: (text: string) => void): number;
}

/** Throws UsageError for files that cannot be read or written, and for options that contradict each other. */
export function prepareEvidence(
  args: EvidenceArguments,
  suite: Suite<never>,
  today: string = new Date().toISOString().slice(0, 10),
): Evidence {
  const of = { api: suite.api, ids: suite.checks.map((check) => check.id) };
  const path = args.baseline;
  const update = args['update-baseline'];
  if (update && path === undefined) throw new UsageError('--update-baseline needs --baseline FILE, which it writes');
  if (args.key !== undefined && args.certificate === undefined)
    throw new UsageError('--key signs a --certificate FILE');
  let baseline: Baseline | undefined = path === undefined ? undefined : readBaseline(path, { mayBeMissing: update });
  if (update && path !== undefined) prepareFile(`--baseline ${path}`, path);
  const issuer = args.certificate === undefined ? undefined : issuerFor(args, args.certificate);
  const badgeFile = args.badge === undefined ? undefined : prepareFile(`--badge ${args.badge}`, args.badge);
  return {
    opened(target) {
      if (issuer === undefined || target.digest !== undefined || target.artifact !== undefined) return;
      if (target.name === undefined || target.version === undefined) {
        const why = target.digest_missing === undefined ? '' : ` (${target.digest_missing})`;
        throw new UsageError(
          `--certificate has to say what was tested${why}: give --name and --target-version, --artifact FILE, or test an --image`,
        );
      }
    },
    excuses: (id) => update || (baseline?.known.some((entry) => entry.check === id && entry.expires >= today) ?? false),
    settle(results) {
      if (baseline === undefined) return results;
      if (update) baseline = updatedBaseline(results, baseline, today, of);
      return applyBaseline(results, baseline, today, of);
    },
    finish(report, say) {
      if (update && path !== undefined && baseline !== undefined) {
        writeBaseline(path, baseline);
        say(`baseline: ${path} excuses ${baseline.known.length} checks`);
      }
      if (badgeFile !== undefined) writeWhole(badgeFile, badge(report));
      return issuer === undefined ? report.exit_code : certify(issuer, report, say);
    },
  };
}

function issuerFor(args: EvidenceArguments, file: string): Issuer {
  const narrowing = [
    ...(args.fast ? ['--fast'] : []),
    ...(args.only === undefined ? [] : ['--only']),
    ...(args.section === undefined ? [] : ['--section']),
  ];
  if (narrowing.length > 0) {
    throw new UsageError(`--certificate needs a whole profile: leave out ${narrowing.join(' and ')}`);
  }
  return certificateIssuer(file, args.key);
}

function certify(issuer: Issuer, report: Report, say: (text: string) => void): number {
  try {
    const { file, keyId, verdict } = issuer.issue(report);
    say(`certificate: ${file} says ${verdict}, signed by key ${keyId}`);
    return report.exit_code;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.message);
    return report.exit_code === EXIT.conformant ? EXIT.incomplete : report.exit_code;
  }
}
