/**
 * `npm run mutants`: runs a suite on mutants of the plain servers.
 * A surviving mutant shows a requirement without a check, or belongs in `equivalent.yaml`.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { random } from '../../../simulators/common/random.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { inParallel } from '../../common/parallel.ts';
import { readableDuration } from '../../common/units.ts';
import { UsageError } from '../../common/usage.ts';
import type { CheckResult, Report } from '../../runner/types.ts';
import { RunOver } from '../../runner/violation.ts';
import { shuffled } from '../matrix/selection.ts';
import { count, exitWithUsage, names, toolOptions, writeTestResults } from '../options.ts';
import { type RunChoice, runDeviceSuite, runPlatformSuite } from '../subjects/run.ts';
import {
  ACTIVE_MUTANT,
  instrumentedServer,
  type Mutant,
  mutantText,
  PLAIN_APIS,
  type PlainApi,
  readEquivalents,
  splitEquivalents,
} from './mutants.ts';

const values = toolOptions('npm run mutants -- [options]', {
  api: names('mutants of one server', PLAIN_APIS),
  sample: count('so many of each server, drawn by the seed (all of them)', 0, 0),
  seed: count('which of them: the day', Math.floor(Date.now() / 86_400_000), 0),
  only: { type: 'string', requiresArg: true, describe: 'those whose line in the output holds this text' },
  least: count('the share of them that has to be found, per cent', 95, 0),
  fast: { type: 'boolean', default: false, describe: 'leave out the checks that have to wait' },
  concurrency: count('suites at once', 4),
  verbose: { type: 'boolean', default: false, describe: 'print each that was found, too' },
});

interface Verdict {
  mutant: Mutant;
  by: string | undefined;
  durationMs: number;
}

type Way = (start: string, dir: string, choice: RunChoice) => Promise<Report>;

const WAYS: Readonly<Record<PlainApi, readonly Way[]>> = {
  device: [
    (start, dir, choice) => runDevice(`${start} --socket {socket} --dir '${dir}'`, choice),
    (start, dir, choice) =>
      runDevice(`${start} --discovery {discovery} --dir '${dir}'`, { ...choice, sections: ['5'] }),
  ],
  platform: [
    (start, _dir, choice) => {
      const command = `${start} --key dev=devices:read --key poor= --devices 130`;
      return runPlatformSuite({ command, apiKey: 'dev', limitedKey: 'poor' }, choice);
    },
  ],
};

const runDevice = (start: string, choice: RunChoice): Promise<Report> =>
  runDeviceSuite({ command: `${start} --control {control} --heartbeat 1` }, choice);

async function foundBy(api: PlainApi, program: string, id: string): Promise<string | undefined> {
  const start = `export ${ACTIVE_MUTANT}=${id}; exec '${process.execPath}' '${program}'`;
  for (const run of WAYS[api]) {
    using folder = scratch();
    const over = new AbortController();
    let first: CheckResult | undefined;
    const report = await run(start, folder.path, {
      fast: values.fast,
      maxTimeMs: 240_000,
      signal: over.signal,
      listeners: [
        {
          onCheckEnd(result) {
            if (result.outcome !== 'fail' && result.outcome !== 'warn') return;
            first ??= result;
            over.abort(new RunOver('one finding is enough'));
          },
        },
      ],
    }).catch((error: unknown) => {
      if (error instanceof UsageError) return undefined;
      throw error;
    });
    if (report === undefined || report.unreachable !== undefined) return 'it does not start';
    if (first !== undefined) return first.id;
    // A blocked check or an incomplete run also finds a mutant.
    const blocked = report.checks.find(({ outcome }) => outcome === 'blocked');
    if (blocked !== undefined) return `blocked: ${blocked.id}`;
    const [open] = report.profile_coverage.undecided;
    if (report.exit_code !== 0) return `incomplete: ${open === undefined ? 'differs from what it declares' : open.why}`;
  }
  return undefined;
}

const started = performance.now();
using folder = scratch();
const servers = await Promise.all(
  (values.api ?? PLAIN_APIS).map(async (api) => {
    const { code, mutants } = await instrumentedServer(api);
    // Node runs an `.mts` file as a module without a package.json.
    const program = join(folder.path, `${api}.mts`);
    writeFileSync(program, code);
    const { visible, equivalent } = splitEquivalents(mutants, readEquivalents());
    const asked = visible.filter((mutant) => mutantText(mutant).includes(values.only ?? ''));
    const drawn = shuffled(asked, random(values.seed).next).slice(0, values.sample);
    return { api, program, mutants: values.sample === 0 ? asked : drawn, equivalent };
  }),
);
if (servers.every(({ mutants }) => mutants.length === 0)) exitWithUsage('no mutant is left to run');
const problems: { where: string; what: string }[] = [];
const found: Verdict[] = [];
for (const { api, program, mutants, equivalent } of servers) {
  if (values.sample > 0) process.stdout.write(`${api}: ${mutants.length} mutants, with --seed ${values.seed}\n`);
  const without = await foundBy(api, program, 'none');
  if (without !== undefined) throw new Error(`the plain ${api} itself, without a mutant: ${without}`);
  const verdicts: Verdict[] = [];
  await inParallel(mutants, values.concurrency, async (mutant) => {
    const begun = performance.now();
    const by = await foundBy(api, program, mutant.id);
    verdicts.push({ mutant, by, durationMs: performance.now() - begun });
    if (by === undefined || values.verbose)
      process.stdout.write(`${by === undefined ? '✗ SURVIVED' : '✓'} ${mutantText(mutant)}  ${by ?? ''}\n`);
    if (process.stderr.isTTY) process.stderr.write(`\r${verdicts.length} of ${mutants.length}\r`);
  });
  const killed = verdicts.filter(({ by }) => by !== undefined);
  found.push(...killed);
  const counts = Map.groupBy(verdicts, ({ by }) => by ?? 'survived');
  const byRequirement = [...counts]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([by, all]) => `${String(all.length).padStart(6)}  ${by}`);
  const share = (100 * killed.length) / Math.max(1, verdicts.length);
  process.stdout.write(
    `${byRequirement.join('\n')}\n${api}: ${killed.length} of ${verdicts.length} found ` +
      `(${share.toFixed(1)} %), ${verdicts.length - killed.length} survived, ${equivalent.length} equivalent\n`,
  );
  if (share < values.least)
    problems.push({ where: api, what: `${share.toFixed(1)} % found; ${values.least} % are due` });
}
for (const { where, what } of problems) process.stdout.write(`✗ ${where}: ${what}\n`);
process.stdout.write(`${readableDuration(performance.now() - started)}\n`);
writeTestResults('harness/tools/mutants/run.ts', found.length, [
  ...found.map(({ mutant, durationMs }) => ({ fullName: mutantText(mutant), duration: durationMs })),
  ...problems.map(({ where, what }) => ({ fullName: where, failureMessages: [what] })),
]);
process.exitCode = problems.length > 0 ? 1 : 0;
