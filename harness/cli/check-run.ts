import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import process from 'node:process';
import { LimitReached, writingTo } from '../client/errors.ts';
import { usualUserAgent } from '../client/known-clients.ts';
import { defined } from '../common/defined.ts';
import { Redactor } from '../common/redact.ts';
import { printable, withoutCiCommands } from '../common/terminal.ts';
import { EXIT, interruptedCode, nearest, UsageError } from '../common/usage.ts';
import { prepareFile, writeWhole } from '../common/user-files.ts';
import { CAPABILITIES_OF } from '../contract/capabilities.ts';
import { badge, certificateIssuer, type Issuer } from '../reports/certificate/certificate.ts';
import { Refused } from '../reports/certificate/envelope.ts';
import { DAY } from '../reports/certificate/statement.ts';
import { createReporters, jsonReportFile } from '../reports/create.ts';
import { plural } from '../reports/findings.ts';
import { claimPlace, type Places, placesOf } from '../reports/format.ts';
import {
  applyBaseline,
  type Baseline,
  type BaselineUpdate,
  isExcused,
  oldEntries,
  readBaseline,
  UNASSIGNED,
  updatedBaseline,
  writeBaseline,
} from '../runner/baseline.ts';
import { type Demands, decidedProfile } from '../runner/coverage.ts';
import { makePlan, type Plan } from '../runner/plan.ts';
import { replayCommand } from '../runner/results.ts';
import { runSuite } from '../runner/run.ts';
import type { Api, CheckResult, Report, Suite, TargetDescription } from '../runner/types.ts';
import { RunOver } from '../runner/violation.ts';
import type { TargetFile } from '../targets/fields.ts';
import { withoutOwnDoing } from '../targets/launch/started.ts';
import { type Checked, type CheckTable, isReadOnly, type PlanArguments, runsOf, targetOnly } from './check-options.ts';
import { type Remembered, remember, remembered } from './last-run.ts';
import { commandLine, type GivenOptions, type OptionsOf, type ReplayPlan, storable, timeFrom } from './options.ts';
import { interruptSignal, takeFaults } from './process-end.ts';
import { VERSION } from './version.ts';

/** Resolves with the exit code; an interrupt also closes a target that is still starting. */
export async function runAndReport<T extends CheckTable, Context>(
  checked: Checked<T, Context>,
  options: OptionsOf<T>,
  again?: ReplayPlan,
): Promise<number> {
  const args = options as unknown as PlanArguments;
  const redactor = new Redactor();
  const say = (text: string): void =>
    void process.stderr.write(withoutCiCommands(`${printable(redactor.text(text))}\n`));
  const { command, ...settings } = settingsOf(checked, options, again);
  const suite = await checked.suite();
  const planned = await plannedBy(checked.api, args, again, redactor);
  const { seed, options: kept } = settings;
  const left = args['last-failed'] ? remembered(checked.api, kept) : undefined;
  // Refuses unknown ids of checks before the target starts.
  const { narrowedBy } = makePlan(suite, { ...planned, capabilities: new Set() });
  const { stdout, stderr, env } = process;
  const places = placesOf(again === undefined ? [] : [again.place]);
  const writing = { redactor, stdout, stderr, env, verbose: args.verbose };
  const reporters = createReporters(args.report ?? [], writing, places);
  const file = again?.file ?? jsonReportFile(args.report ?? []);
  const evidence = prepareEvidence(args, suite as unknown as Suite<never>, places, narrowedBy);
  using interrupt = interruptSignal();
  const faulty = new AbortController();
  using _ = takeFaults((error) => faulty.abort(new RunOver(`a fault in Muster: ${String(error)}`, { fault: true })));
  try {
    await using target = await checked.open(options, {
      redactor,
      patienceMs: args.patience * 1000,
      userAgent: args.identify === true ? `muster-conformance/${VERSION}` : usualUserAgent(seed),
      signal: interrupt.signal,
      notify: say,
    });
    evidence.opened(target.description, say);
    const { ended: _ended, ...lasting } = target.description;
    const unwritten: string[] = [];
    const report = await runSuite(suite, {
      ...settings,
      plan: narrowed(makePlan(suite, { ...planned, capabilities: target.capabilities }), left, again),
      target: again?.keep === true ? lasting : target.description,
      context: target.context,
      redactor,
      signal: AbortSignal.any([interrupt.signal, faulty.signal]),
      excuses: (result) => evidence.excuses(redactor.value(result)),
      replayCommand: (result) => replayCommand({ command, seed, file }, result),
      listeners: reporters,
      onUnwritten: (reason) => void unwritten.push(reason),
      settle: (results) => {
        target.conclude();
        // Masks secrets before the results are compared with the baseline and written.
        return evidence.settle(redactor.value(results));
      },
      ...defined({ unreachable: target.unreachable }),
    });
    for (const reason of unwritten) say(`muster: ${reason}`);
    const forgotten = again === undefined ? remember(checked.api, kept, report) : undefined;
    if (forgotten !== undefined && left !== undefined) say(`muster: ${forgotten}`);
    if (report.exit_code !== 0) tellOutput(report, await target.diagnostics());
    const code = evidence.finish(report, say);
    if (again?.keep === true) await keepUp(target.description, report, say, interrupt.signal);
    return unwritten.length > 0 && code !== EXIT.nonconformant ? EXIT.harness : code;
  } catch (error) {
    const isAbort = error === interrupt.signal.reason || (error instanceof Error && error.name === 'AbortError');
    if (interrupt.signal.aborted && isAbort) {
      process.stderr.write('muster: interrupted before anything was checked; nothing is left running\n');
      return interruptedCode(interrupt.signal);
    }
    if (error instanceof Error)
      Object.assign(error, { message: redactor.text(error.message), stack: redactor.text(error.stack ?? '') });
    throw error;
  }
}

function tellOutput({ checks }: Report, written: string): void {
  if (checks.some(({ stderr }) => stderr !== undefined)) return;
  const last = printable(withoutOwnDoing(written).trim().split('\n').slice(-20).join('\n'));
  if (last !== '') process.stderr.write(withoutCiCommands(`\nThe target wrote:\n${last}\n`));
}

async function keepUp(target: TargetDescription, report: Report, say: (text: string) => void, signal: AbortSignal) {
  if (report.unreachable !== undefined || report.interrupted === true) return;
  if (target.ended !== true) return say('--keep: Muster did not start this target, so it stays as it is');
  say(`The target is up: ${target.address}, control ${target.control}. Ctrl+C (SIGINT) ends it.`);
  if (!signal.aborted) await once(signal, 'abort');
}

async function plannedBy(api: Api, args: PlanArguments, again: ReplayPlan | undefined, redactor: Redactor) {
  const given = failOn(args['fail-on']);
  let file: Partial<TargetFile> = {};
  if (args.target !== undefined) {
    const { loadTargetFile } = await import('../targets/settings.ts');
    file = loadTargetFile(args.target, process.env, redactor).file;
  }
  const filed = file.fail_on ?? [];
  return {
    only: again === undefined ? (args.only ?? []) : again.checks.map(({ check }) => check),
    sections: args.section ?? [],
    fast: args.fast,
    readOnly: isReadOnly(args) || (api === 'platform' && file.platform?.read_only === true),
    failOn: given,
    filedFailOn: typeof filed === 'string' ? ['*'] : filed,
    ...defined({ profile: args.profile, requirements: args.requirements }),
  };
}

export function failOn(given: readonly string[] = []): string[] {
  return given.flatMap((text) => {
    const [matched, named = '*'] = /^should(?:=(.+))?$/.exec(text) ?? [];
    if (matched !== undefined) return named.split(',').map((part) => part.trim());
    throw new UsageError(`--fail-on ${text}: accepted are should, and should=ID or should=SECTION, several by commas`);
  });
}

function narrowed<Context>(
  plan: Plan<Context>,
  left: Remembered | undefined,
  again: ReplayPlan | undefined,
): Plan<Context> {
  let { checks, narrowedBy } = plan;
  if (left !== undefined) {
    const { file, open } = left;
    checks = checks.filter(({ check }) => open.includes(check.id));
    if (checks.length === 0)
      throw new UsageError(
        `--last-failed: none of what the last run left open is asked for (${file}): ${open.slice(0, 10).join(', ')}`,
      );
    narrowedBy = [...narrowedBy, '--last-failed'];
  }
  // A check and its requirement may share an id, so the plan may hold checks that nobody asked to repeat.
  if (again !== undefined) {
    const asked = again.checks.map(({ check }) => check);
    checks = checks.filter(({ check }) => asked.includes(check.id));
  }
  return { ...plan, checks, narrowedBy };
}

function settingsOf<T extends CheckTable, Context>(
  checked: Checked<T, Context>,
  options: OptionsOf<T>,
  again?: ReplayPlan,
) {
  const { api, options: table, concurrency } = checked;
  const args = options as unknown as PlanArguments;
  const seed = args.seed ?? again?.seed ?? randomInt(2 ** 31);
  const runs = runsOf(args);
  return {
    command: commandLine(['check', api], table, targetOnly(options as GivenOptions)),
    seed,
    maxTimeMs: timeFrom('max-time', args['max-time']),
    demands: demandsOf(api, args),
    version: VERSION,
    // Ignores `--bail` with `--update-baseline`, because the new baseline excuses all findings.
    ...(args['update-baseline'] ? {} : defined({ bail: args.bail })),
    ...defined({ concurrency, runs, repeat: args.repeat }),
    // Stores the factor of a certified run, because the certificate names it.
    options: storable(table, { ...options, ...defined({ runs }) }),
    ...(again === undefined ? {} : { replays: again.checks, replayOf: { file: again.file, outcomes: again.outcomes } }),
  };
}

function demandsOf(api: Api, { require: lists = [], 'min-decided': least }: PlanArguments): Demands {
  const known = api === 'system' ? [...CAPABILITIES_OF.device, ...CAPABILITIES_OF.platform] : CAPABILITIES_OF[api];
  const names = lists.flatMap((list) => list.split(',')).map((name) => name.trim());
  const require = names.map((name) => {
    const found = known.find((one) => one === name);
    if (found !== undefined) return found;
    const near = nearest(name, known);
    const meant = near === undefined ? '' : `did you mean ${near}? `;
    throw new UsageError(`--require ${name}: ${meant}accepted are ${known.join(', ')}`);
  });
  if (least === undefined) return { require };
  const [, digits = '', percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(least) ?? [];
  const value = Number(digits);
  if (digits !== '' && percent === '%' && value <= 100) return { require, minDecided: { percent: value } };
  if (digits !== '' && percent === '' && Number.isSafeInteger(value)) return { require, minDecided: { count: value } };
  throw new UsageError(
    `--min-decided ${least}: must be a whole number of checks, or up to 100% of them, e.g. 40 or 80%`,
  );
}

type Evidence = 'baseline' | 'update-baseline' | 'certificate' | 'key' | 'valid-until' | 'signer' | 'badge';
export type EvidenceArguments = Pick<PlanArguments, Evidence | 'fast' | 'last-failed'>;

export function prepareEvidence(
  args: EvidenceArguments,
  suite: Suite<never>,
  places: Places,
  narrowedBy: readonly string[] = [],
  today: string = new Date().toISOString().slice(0, 10),
) {
  const scope = { api: suite.api, ids: suite.checks.map((check) => check.id) };
  const { baseline: path, 'update-baseline': update } = args;
  if (update && path === undefined) throw new UsageError('--update-baseline needs --baseline FILE, which it writes');
  for (const name of ['key', 'valid-until', 'signer'] as const)
    if (args[name] !== undefined && args.certificate === undefined)
      throw new UsageError(`--${name} is for a --certificate FILE`);
  for (const name of ['baseline', 'key', 'certificate', 'badge'] as const)
    if (args[name] !== undefined) claimPlace(places, `--${name} ${args[name]}`, resolve(args[name]));
  const baseline: Baseline | undefined = path === undefined ? undefined : readBaseline(path, { mayBeMissing: update });
  let updated: BaselineUpdate | undefined;
  if (update && path !== undefined) prepareFile(`--baseline ${path}`, path);
  const issuer = args.certificate === undefined ? undefined : issuerFor(args, args.certificate, narrowedBy);
  const badgeFile = args.badge === undefined ? undefined : prepareFile(`--badge ${args.badge}`, args.badge);
  return {
    opened(target: TargetDescription, say: (text: string) => void): void {
      const old = baseline === undefined || update ? [] : oldEntries(baseline);
      if (old.length > 0)
        say(
          `baseline: ${path} does not say which finding it excuses of ${old.join(', ')}, so any is excused: run this ` +
            'again with --update-baseline, which writes the finding',
        );
      if (issuer === undefined || target.digest !== undefined || target.artifact !== undefined) return;
      if (target.name === undefined || target.version === undefined) {
        const why = target.digest_missing === undefined ? '' : ` (${target.digest_missing})`;
        throw new UsageError(
          `--certificate has to say what was tested${why}: give --name and --target-version, --artifact FILE, ` +
            'or test an --image',
        );
      }
    },
    excuses: (result: CheckResult): boolean => baseline !== undefined && isExcused(baseline, result, today),
    settle(results: CheckResult[]): CheckResult[] {
      if (baseline === undefined) return results;
      if (update) updated = updatedBaseline(results, baseline, today, scope);
      return applyBaseline(results, updated ?? baseline, today, scope);
    },
    finish(report: Report, say: (text: string) => void): number {
      let code = report.exit_code;
      const attempt = (write: () => void): void => {
        try {
          write();
        } catch (error) {
          if (!(error instanceof LimitReached)) throw error;
          say(`muster: ${error.message}`);
          code = EXIT.harness;
        }
      };
      if (issuer !== undefined)
        attempt(() => {
          code = certify(issuer, report, suite, say);
        });
      attempt(() => {
        if (path === undefined || updated === undefined) return;
        const { known, changes } = updated;
        say([`baseline: ${path} adds (+), keeps (=), removes (-):`, ...changes].join('\n  '));
        writeBaseline(path, updated);
        const open = known.filter(({ owner }) => owner === UNASSIGNED).length;
        const todo = open === 0 ? '' : `; ${open} of them ${open === 1 ? 'waits' : 'wait'} for a reason and an owner`;
        say(`baseline: ${path} excuses ${plural(known.length, 'finding')}${todo}`);
      });
      if (badgeFile !== undefined)
        attempt(() => writingTo(`--badge: ${badgeFile}`, () => writeWhole(badgeFile, badge(report))));
      return report.exit_code === EXIT.nonconformant ? report.exit_code : code;
    },
  };
}

function issuerFor(args: EvidenceArguments, file: string, narrowedBy: readonly string[]): Issuer {
  const flags = (['fast', 'last-failed'] as const).filter((name) => args[name]).map((name) => `--${name}`);
  const narrowing = new Set([...flags, ...narrowedBy]);
  if (narrowing.size > 0)
    throw new UsageError(`--certificate needs a whole profile: leave out ${[...narrowing].join(' and ')}`);
  const { 'valid-until': validUntil, signer } = args;
  const isPast = validUntil !== undefined && !(Date.parse(validUntil) + 86_400_000 > Date.now());
  if (validUntil !== undefined && (!DAY.test(validUntil) || isPast))
    throw new UsageError(`--valid-until ${validUntil}: must be a day from today on, e.g. 2027-06-30`);
  return certificateIssuer(file, args.key, { validUntil, signer });
}

function certify(issuer: Issuer, report: Report, suite: Suite<never>, say: (text: string) => void): number {
  try {
    const { file, keyId, verdict } = issuer.issue(report);
    say(`certificate: ${file} says ${verdict}, signed by key ${keyId}`);
    return report.exit_code;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const smaller = report.profile_coverage.undecided.length > 0 ? decidedProfile(suite, report) : undefined;
    say(`${error.message}${smaller === undefined ? '' : `; --profile ${smaller} is decided`}`);
    return report.exit_code === EXIT.conformant ? EXIT.incomplete : report.exit_code;
  }
}
