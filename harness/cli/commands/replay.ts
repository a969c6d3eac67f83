/**
 * Runs exactly the counterexamples of a JSON report again, in this process, with the options of the run that found
 * them.
 */
import { EXIT, UsageError } from '../../common/usage.ts';
import { readJson } from '../../reports/json.ts';
import { isNamed } from '../../runner/plan.ts';
import { coordinatesOf } from '../../runner/run-check.ts';
import { APIS, type CheckResult, type Report } from '../../runner/types.ts';
import { targetOnly } from '../check-options.ts';
import { command, complete, type GivenOptions, OPTION, type OptionTable } from '../options.ts';

export const replay = command({
  options: {
    file: OPTION.text('A report written by --report json=FILE', { positional: true, required: true }),
    only: OPTION.list('Run only these checks; * matches anything'),
    keep: OPTION.flag('Leave the target that Muster started up afterwards, until Ctrl+C'),
  },
  examples: [
    ['muster replay run.json', 'everything that failed or warned'],
    ['muster replay run.json --only device.events.replay.seam --keep', 'and look at the target afterwards'],
    [
      'muster replay run.json -- --socket /tmp/other.sock',
      'on another target: options after -- replace those of the run',
    ],
  ],
  takesRest: true,
  async run({ file, only, keep }, { rest, parse }) {
    const report = readReport(file);
    if (keep && report.api === 'client') {
      throw new UsageError(
        '--keep: a client is started anew for each situation, so nothing of it can be kept up; ' +
          'muster simulate device --scenario NAME plays one to it for as long as it takes',
      );
    }
    const failed = chosen(report, file, only);
    const anew = await parse(['check', report.api, ...rest]);
    if (anew === undefined) return EXIT.conformant;
    const outcomes = Object.fromEntries(failed.map(({ id, outcome }) => [id, outcome]));
    const { command: check, given } = anew;
    const options = { ...withoutExcluded(targetOnly(report.options), given, check.options), ...given };
    const again = { file, outcomes, keep, checks: failed.map(coordinatesOf), seed: report.seed };
    return await check.run(complete(check.options, options) as never, { rest, parse, again });
  },
});

/** Options of the run without those that one of the new ones excludes, as --image does --command. */
const withoutExcluded = (before: GivenOptions, given: GivenOptions, table: OptionTable): GivenOptions =>
  Object.fromEntries(
    Object.entries(before).filter(
      ([name]) =>
        !Object.keys(given).some((other) => table[name]?.conflicts === other || table[other]?.conflicts === name),
    ),
  );

type ReplayableReport = Report & { options: GivenOptions };

function readReport(file: string): ReplayableReport {
  const report = readJson(file) as Partial<Report> | null;
  if (!APIS.some((api) => api === report?.api) || !Array.isArray(report?.checks)) {
    throw new UsageError(`${file}: is not a report of \`muster check\`; write one with --report json=FILE`);
  }
  if (report?.options === undefined) {
    throw new UsageError(
      `${file}: contains no options to run its checks with (an older Muster or another program wrote it); ` +
        'write a new one with --report json=FILE',
    );
  }
  return report as ReplayableReport;
}

function chosen(report: Report, file: string, only: readonly string[] | undefined): CheckResult[] {
  const failed = report.checks.filter(({ outcome }) => ['fail', 'warn', 'known', 'flaky'].includes(outcome));
  if (failed.length === 0)
    throw new UsageError(`${file}: nothing failed in this report, so there is nothing to replay`);
  if (only === undefined) return failed;
  // The id of a check is often the beginning of others' ids.
  const takesIn = (pattern: string) => (check: CheckResult) =>
    failed.some(({ id }) => id === pattern) ? check.id === pattern : isNamed(pattern, check.id, check.requirement_id);
  const unknown = only.find((pattern) => !failed.some(takesIn(pattern)));
  if (unknown !== undefined) {
    throw new UsageError(
      `--only ${unknown}: not among what failed or warned in ${file}: ${failed.map(({ id }) => id).join(', ')}`,
    );
  }
  return failed.filter((check) => only.some((pattern) => takesIn(pattern)(check)));
}
