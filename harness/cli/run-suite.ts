/** From parsed options and an opened target to reports and an exit code. */
import process from 'node:process';
import type { Redactor } from '../client/redact.ts';
import { createReporters, jsonReportFile } from '../reports/create.ts';
import { makePlan, type Plan } from '../runner/plan.ts';
import { replayCommand } from '../runner/replay-command.ts';
import { runSuite } from '../runner/run.ts';
import type { Replay } from '../runner/run-check.ts';
import type { Suite } from '../runner/types.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import { interruptSignal, type PlanArguments, positive, seedFrom } from './check-options.ts';
import { prepareEvidence } from './evidence.ts';
import { EXIT } from './exit.ts';
import { commandLine, withoutSecrets } from './own-arguments.ts';
import { withoutNarrowing } from './replay.ts';
import { VERSION } from './version.ts';

/** The target is opened here, so that an interrupt while it starts also closes it. Resolves with the exit code. */
export async function judge<Context>(
  suite: Suite<Context>,
  args: PlanArguments,
  redactor: Redactor,
  open: (signal: AbortSignal, notify: (text: string) => void) => Promise<OpenedTarget<Context>>,
): Promise<number> {
  const seed = seedFrom(args.seed);
  const runs = positive('runs', args.runs);
  positive('patience', args.patience);
  const shape = {
    only: args.only ?? [],
    sections: (args.section ?? []).map(String),
    fast: args.fast,
    readOnly: args['read-only'],
    profile: args.profile,
    ...(args.requirements === undefined ? {} : { requirements: args.requirements }),
  };
  // A wrong id or report is told before anything is started.
  makePlan(suite, { ...shape, capabilities: new Set() });
  const reporters = createReporters(args.report ?? [], {
    redactor,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    verbose: args.verbose,
  });
  const command = commandLine(withoutNarrowing(process.argv.slice(2)));
  const replay = args.replay === undefined ? undefined : (JSON.parse(args.replay) as Replay);
  const evidence = prepareEvidence(args, suite as unknown as Suite<never>);
  const interrupt = interruptSignal();
  try {
    await using target = await open(interrupt.signal, (text) => process.stderr.write(`${redactor.text(text)}\n`));
    evidence.opened(target.description);
    const report = await runSuite(suite, {
      plan: only(replay?.check, makePlan(suite, { ...shape, capabilities: target.capabilities })),
      target: target.description,
      context: target.context,
      redactor,
      seed,
      runs,
      profile: args.profile,
      version: VERSION,
      signal: interrupt.signal,
      listeners: reporters,
      settle: evidence.settle,
      arguments: withoutSecrets(process.argv.slice(2)),
      replayCommand: (result) => replayCommand({ command, seed, file: jsonReportFile(args.report ?? []) }, result),
      ...(replay === undefined ? {} : { replay }),
      ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
    });
    if (report.exit_code !== 0) {
      const said = target.diagnostics().trim();
      if (said !== '') process.stderr.write(`\nThe target wrote:\n${said.split('\n').slice(-20).join('\n')}\n`);
    }
    return evidence.finish(report, (text) => process.stderr.write(`${redactor.text(text)}\n`));
  } catch (error) {
    if (interrupt.signal.aborted && isAbort(error, interrupt.signal)) {
      process.stderr.write('muster: interrupted before anything was checked; nothing is left running\n');
      return EXIT.interrupted;
    }
    throw redacted(error, redactor);
  } finally {
    interrupt.release();
  }
}

/** `--only` takes a requirement for all its checks; a counterexample is one check's alone. */
const only = <Context>(id: string | undefined, plan: Plan<Context>): Plan<Context> =>
  id === undefined ? plan : { ...plan, checks: plan.checks.filter(({ check }) => check.id === id) };

const isAbort = (error: unknown, signal: AbortSignal): boolean =>
  error === signal.reason || (error instanceof Error && error.name === 'AbortError');

/** Whatever goes wrong is printed in the end. */
function redacted(error: unknown, redactor: Redactor): unknown {
  if (!(error instanceof Error)) return error;
  const stack = redactor.text(error.stack ?? '');
  error.message = redactor.text(error.message);
  error.stack = stack;
  return error;
}
