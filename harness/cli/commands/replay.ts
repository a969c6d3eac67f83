import { resolve } from 'node:path';
import process from 'node:process';
import { MASK } from '../../common/secret-names.ts';
import { EXIT, exitCodesText, UsageError } from '../../common/usage.ts';
import { looksLikeReport, readJson, reportFrom } from '../../reports/json.ts';
import { isNamed } from '../../runner/plan.ts';
import { coordinatesOf } from '../../runner/run-check.ts';
import { APIS, type CheckResult, type Report } from '../../runner/types.ts';
import { isRemembered, partsOf } from '../last-run.ts';
import {
  type CommandContext,
  command,
  commandLine,
  commandWords,
  complete,
  type GivenOptions,
  isReplaced,
  OPTION,
  type ParsedCommand,
  type ReplayPlan,
  typedFrom,
} from '../options.ts';

export const replay = command({
  options: {
    file: OPTION.file('A report written by --report json=FILE', { positional: true, required: true }),
    only: OPTION.list('Run only these checks; * matches anything'),
    keep: OPTION.flag('Keep the started target running after the replay, until Ctrl+C'),
  },
  examples: Object.entries({
    'muster replay run.json': 'everything that failed or warned',
    'muster replay run.json --only device.events.replay.seam --keep': 'and look at the target afterwards',
    'muster replay run.json -- --socket /tmp/other.sock':
      'on another target: options after -- replace those of the run',
  }),
  epilogue:
    'A command, an address or a file that a report names is used again only where a run in this folder used it. ' +
    `Of another report, name the target after --.\n\nExit codes: ${exitCodesText('check')}.`,
  takesRest: true,
  async run({ file, only, keep }, context) {
    const { rest, parse, from } = context;
    const report = readReport(file);
    if (keep && report.api === 'client')
      throw new UsageError(
        '--keep: each situation starts a new client, so no client can be kept running; ' +
          'muster simulate device --scenario NAME serves one situation until Ctrl+C',
      );
    const failed = chosen(report, file, only);
    const anew = await parse(['check', report.api, ...rest]);
    if (anew === undefined) return EXIT.conformant;
    const outcomes = Object.fromEntries(failed.map(({ id, outcome }) => [id, outcome]));
    const { command: check } = anew;
    const given = await besideRun(report, anew, context);
    const before = (await parse(wordsBefore(report, file, anew)))?.given ?? {};
    const kept = Object.entries(before).filter(([name]) => !isReplaced(name, given, check.options));
    const options = { ...Object.fromEntries(kept), ...given };
    // Repeats the checks whose traffic broke a rule, too, because a rule sends no requests itself.
    const checks: ReplayPlan['checks'] = failed.flatMap((finding) => [
      coordinatesOf(finding),
      ...(finding.seen_by ?? []).map((seen) => ({ check: seen })),
    ]);
    const again = { file, place: resolve(from, file), outcomes, keep, checks, seed: report.seed };
    return await check.run(complete(check.options, options) as never, { ...context, again });
  },
});

/** Changes to the folder of the run: the caller's, or that of `muster.yaml`. Resolves with the typed options for it. */
async function besideRun({ api, options }: ReplayableReport, anew: ParsedCommand, { from, parse }: CommandContext) {
  const folder = isRemembered(api, options) ? undefined : ((await parse(['check', api], from))?.config?.folder ?? from);
  if (folder !== undefined && isRemembered(api, options, process.env, folder)) process.chdir(folder);
  return typedFrom(from, anew);
}

function wordsBefore({ api, options }: ReplayableReport, file: string, { command, given }: ParsedCommand): string[] {
  const { data, reaching } = partsOf(options);
  const isOwn = isRemembered(api, options);
  const isNamed = Object.keys(partsOf(given).reaching).length > 0;
  if (!isOwn && !isNamed && Object.keys(reaching).length > 0) {
    const masked = Object.keys(reaching).find((name) => String(reaching[name]).includes(MASK));
    if (masked !== undefined)
      throw new UsageError(`${file}: masks a secret in --${masked}, so name the target after --`);
    const line = commandLine([], command.options, reaching).replace(/^muster /, '');
    throw new UsageError(
      `${file}: no run in this folder was made with the target of this report, and what a report names is not run ` +
        `or asked by itself. Name the target after --; if you trust it, that of the report is: ${line}`,
    );
  }
  return commandWords(['check', api], command.options, isOwn ? { ...data, ...reaching } : data);
}

type ReplayableReport = Report & { options: GivenOptions };

function readReport(file: string): ReplayableReport {
  const report = readJson(file);
  if (!looksLikeReport(report) || !APIS.some((api) => api === report['api']))
    throw new UsageError(`${file}: is not a report of \`muster check\`; write one with --report json=FILE`);
  if (report['options'] === undefined)
    throw new UsageError(
      `${file}: contains no options to run its checks with (another program wrote it); ` +
        'write a new one with --report json=FILE',
    );
  return reportFrom(report, file) as ReplayableReport;
}

function chosen(report: Report, file: string, only: readonly string[] | undefined): CheckResult[] {
  const failed = report.checks.filter(({ outcome }) => ['fail', 'warn', 'known', 'flaky'].includes(outcome));
  if (failed.length === 0)
    throw new UsageError(`${file}: nothing failed in this report, so there is nothing to replay`);
  if (only === undefined) return failed;
  // Treats a complete id as one check, even if longer ids begin with the same words.
  const takesIn = (pattern: string) => (check: CheckResult) =>
    failed.some(({ id }) => id === pattern) ? check.id === pattern : isNamed(pattern, check.id, check.requirement_id);
  const unknown = only.find((pattern) => !failed.some(takesIn(pattern)));
  if (unknown !== undefined)
    throw new UsageError(
      `--only ${unknown}: not among what failed or warned in ${file}: ${failed.map(({ id }) => id).join(', ')}`,
    );
  return failed.filter((check) => only.some((pattern) => takesIn(pattern)(check)));
}
