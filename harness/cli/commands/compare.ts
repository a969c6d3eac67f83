import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { ownedFolder } from '../../common/owner.ts';
import { printableJson, printableLine, printableValue, withoutCiCommands } from '../../common/terminal.ts';
import { EXIT, exitCodesText, interruptedCode } from '../../common/usage.ts';
import { prepareFile } from '../../common/user-files.ts';
import {
  type Changes,
  type Comparison,
  compare as compareEntries,
  GATES,
  type GateVerdict,
  verdictOf,
} from '../../reports/compare/comparison.ts';
import { comparePage, compareText } from '../../reports/compare/comparison-formats.ts';
import { type Entry, entryOf, readEntries } from '../../reports/compare/entries.ts';
import { claimPlace, type Places, paintOf, placesOf, reportWriter, type WritableFormat } from '../../reports/format.ts';
import { looksLikeReport, readJson, reportFrom } from '../../reports/json.ts';
import { APIS } from '../../runner/types.ts';
import { loadSuites } from '../catalogue.ts';
import { type ComparedFleets, comparedFleets, fleetsJson, fleetsText, isFleet } from '../fleet-summary.ts';
import {
  type CommandContext,
  columns,
  command,
  complete,
  OPTION,
  type OptionsOf,
  type OptionTable,
  REPORTED,
  typedFrom,
  wholePath,
} from '../options.ts';
import { interruptSignal } from '../process-end.ts';
import { VERSION } from '../version.ts';

const options = {
  file: OPTION.list('Reports in JSON, certificates, or folders of these as a history; or two result.json of a fleet', {
    positional: true,
    path: wholePath,
  }),
  image: OPTION.list('Container images to check first, one after the other'),
  command: OPTION.list('Command lines to check first, one after the other'),
  api: OPTION.oneOf(APIS, 'What to check of images and commands', { default: 'device' }),
  gate: OPTION.oneOf(
    GATES,
    'Exit 1 if the last entry fails a check that the entry before it passed (regressions), ' +
      'or also if its answers differ where the specification is silent (behaviour); ' +
      'exit 2 if only one of the two decided a check',
    { default: 'none' },
  ),
  report: OPTION.list('Report: pretty, html or json, each with =FILE', REPORTED),
  out: OPTION.file('Folder that keeps the reports of what was checked first'),
} as const satisfies OptionTable;

export const compare = command({
  options,
  takesRest: true,
  examples: Object.entries({
    'muster compare 1.2.json 1.3.json --gate regressions': 'two releases',
    'muster compare mine.json theirs.json --report html=compare.html': 'two implementations, as a page',
    'muster compare reports/': 'a folder of reports as a history',
    'muster compare monday/result.json today/result.json --gate regressions': 'two runs of a fleet',
    'muster compare --image agent:1.2 --image agent:1.3 -- --socket /run/agent.sock --fast':
      'check two images first: options after -- are those of muster check',
  }),
  epilogue:
    'Certificates are read without a look at their signature: muster verify checks it.\n\n' +
    `Exit codes: ${exitCodesText('compare')}.`,
  async run(args, context) {
    const { file: files = [], report = ['pretty'], gate } = args;
    if (files.some((file) => file.endsWith('.json') && isFleet(readJson(file)))) {
      const write = reportWriter(report, FLEET_FORMATS, process.stdout, placesOf(files));
      const compared = comparedFleets(files, gate !== 'none');
      write(compared);
      return compared.code;
    }
    const kept = readEntries(files);
    const places = placesOf(kept.map(({ source }) => source));
    const write = reportWriter(report, FORMATS, process.stdout, places);
    using interrupt = interruptSignal();
    const made = await checked(args, context, places, interrupt.signal);
    if (typeof made === 'number') return made;
    const entries = [...kept, ...made];
    const checks = (await loadSuites()).flatMap((suite) => suite.checks);
    const comparison = compareEntries(entries, new Map(checks.map(({ id, requirement }) => [id, requirement])));
    const verdict = verdictOf(comparison, gate);
    write({ comparison, verdict });
    return verdict.code;
  },
});

const FORMATS: readonly WritableFormat<{ comparison: Comparison; verdict: GateVerdict }>[] = [
  {
    name: 'pretty',
    text: ({ comparison, verdict }, isTerminal) =>
      withoutCiCommands(
        compareText(printableValue(comparison, printableLine), verdict, paintOf(process, isTerminal), columns()),
      ),
  },
  { name: 'html', text: ({ comparison, verdict }) => comparePage(comparison, verdict, VERSION) },
  { name: 'json', text: ({ comparison, verdict }) => `${printableJson(asJson(comparison, verdict), 2)}\n` },
];

const FLEET_FORMATS: readonly WritableFormat<ComparedFleets>[] = [
  { name: 'pretty', text: (compared, isTerminal) => fleetsText(compared, paintOf(process, isTerminal)) },
  { name: 'json', text: fleetsJson },
];

const asJson = ({ entries, requirements, choices, steps, changes }: Comparison, verdict: GateVerdict) => ({
  verdict: verdict.word,
  share: verdict.share,
  exit_code: verdict.code,
  meaning: verdict.meaning,
  entries: entries.map(({ label, source, api, startedAt }) => ({ label, source, api, started_at: startedAt })),
  requirements: requirements.map((row) => ({
    ...row,
    outcomes: row.outcomes.map((outcome) => outcome ?? null),
    findings: row.findings.map((said) => said ?? null),
  })),
  choices: choices.map((row) => ({ ...row, values: row.values.map((value) => value ?? null) })),
  changes: changesAsJson(changes),
  steps: steps.map((step) => ({
    from: entries[step.to - 1]?.label,
    to: entries[step.to]?.label,
    checks: step.checks,
    decided_by_both: step.both,
    ...changesAsJson(step),
  })),
});

function changesAsJson({ regressions, undecided, undecidedBefore, inOneSet, mended, behaviour }: Changes) {
  const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
  return {
    regressions: ids(regressions),
    undecided: ids(undecided),
    undecided_before: ids(undecidedBefore),
    in_one_set: ids(inOneSet),
    mended: ids(mended),
    behaviour: behaviour.map(({ check, name }) => ({ check, name })),
  };
}

/** Returns an exit code instead of entries after an interrupt, or if a failed check leaves no report. */
async function checked(args: OptionsOf<typeof options>, context: CommandContext, places: Places, signal: AbortSignal) {
  const { image = [], command: lines = [], api, out } = args;
  const targets = [
    ...image.map((value) => ({ name: 'image', value })),
    ...lines.map((value) => ({ name: 'command', value })),
  ];
  if (targets.length === 0) return [];
  const folder = out === undefined ? ownedFolder('compare') : resolve(out);
  const fileOf = (index: number): string => join(folder, `${index + 1}.json`);
  try {
    const entries: Entry[] = [];
    for (const index of targets.keys()) claimPlace(places, `--out ${folder}`, fileOf(index));
    for (const [index, { name, value }] of targets.entries()) {
      const file = fileOf(index);
      process.stderr.write(`checking ${index + 1} of ${targets.length} (--${name})\n`);
      const words = ['check', api, `--${name}`, value, '--report', `json=${file}`, ...context.rest];
      const parsed = await context.parse(words);
      if (parsed === undefined) return [];
      // Removes an earlier run's report, which would be compared if the new one cannot be written.
      rmSync(prepareFile('--out', file), { force: true });
      const code = await parsed.command.run(
        complete(parsed.command.options, typedFrom(context.from, parsed)) as never,
        context,
      );
      if (signal.aborted) return interruptedCode(signal);
      // Replaces the code, which is 1 if a report with findings could not be written.
      if (code !== EXIT.conformant && !existsSync(file)) return EXIT.harness;
      const json = readJson(file);
      if (!looksLikeReport(json)) continue;
      const report = reportFrom(json, file);
      // Takes the value from the report, which masks secrets.
      entries.push(entryOf(report, String(report.options?.[name])));
    }
    return entries;
  } finally {
    if (out === undefined) rmSync(folder, { recursive: true, force: true });
  }
}
