/**
 * Formats of `muster mutate --report`, among them the mutation testing schema, version 2
 * (stryker-mutator/mutation-testing-elements), which has defects as mutants and no term for variants.
 */
import {
  bar,
  cutTo,
  hanging,
  type Output,
  type Paint,
  printable,
  printableJson,
  width,
  withoutCiCommands,
  wrap,
} from '../../common/terminal.ts';
import { readableDuration } from '../../common/units.ts';
import { lines, plural } from '../findings.ts';
import { type Places, paintOf, reportWriter, type WritableFormat } from '../format.ts';
import { closing, type PrettyOptions, paragraphs } from '../pretty-findings.ts';
import {
  countsOf,
  findingOf,
  inPercent,
  inState,
  isFinding,
  type MutationReport,
  type MutationState,
  type MutationSubject,
  requirementOf,
} from './report.ts';

type MutantStatus = 'Killed' | 'Survived' | 'NoCoverage' | 'RuntimeError' | 'Timeout' | 'Ignored' | 'Pending';

const STATUS: Readonly<Partial<Record<MutationState, MutantStatus>>> = {
  killed: 'Killed',
  timed_out: 'Timeout',
  survived: 'Survived',
  known: 'Ignored',
  never_asked: 'NoCoverage',
  blocked: 'RuntimeError',
};

/** `sourceOf`: text of the file that declares a defect, '' for a missing file. */
function mutationElements(report: MutationReport, sourceOf: (file: string) => string): string {
  const defects = report.subjects.filter(({ kind }) => kind === 'defect');
  const files = [...Map.groupBy(defects, ({ file }) => file)].map(([file, members]) => {
    const source = sourceOf(file);
    return [file, { language: 'typescript', source, mutants: members.map((one) => mutant(one, source)) }];
  });
  // Thresholds in per cent by which viewers colour a score.
  const high = Math.round(report.min_score ?? 80);
  const document = {
    schemaVersion: '2',
    thresholds: { high, low: Math.min(high, 60) },
    files: Object.fromEntries(files),
    framework: { name: 'muster', version: report.muster },
    config: { command: report.command, seed: report.seed, api: report.api },
    performance: {
      setup: report.first_run.duration_ms,
      initialRun: report.first_run.duration_ms,
      mutation: report.duration_ms,
    },
  };
  return `${printableJson(document, 2)}\n`;
}

function mutant(subject: MutationSubject, source: string) {
  const { name, state, section, summary, requirements, by_hand: byHand, how, reason, duration_ms: duration } = subject;
  const required = requirements.map(({ text }) => text).join(' ');
  const why = lines(reason, how !== undefined && `the tests ${how}`).join('; ');
  const rows = source.split('\n');
  const index = rows.findIndex((row) => row.includes(`'${name}'`));
  const row = rows[index] ?? '';
  const line = Math.max(0, index) + 1;
  const from = Math.max(0, row.indexOf(`'${name}'`));
  const to = Math.max(from, row.length);
  return {
    id: name,
    mutatorName: `section ${section}`,
    description: `${summary} Required: ${required}`,
    replacement: byHand,
    location: { start: { line, column: from + 1 }, end: { line, column: to + 1 } },
    status: STATUS[state] ?? 'Pending',
    ...(why !== '' && { statusReason: why }),
    ...(duration !== undefined && { duration }),
  };
}

interface MutationWriting {
  readonly stdout: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly columns: number;
  readonly verbose: boolean;
  sourceOf(file: string): string;
}

const FORMATS: readonly WritableFormat<{ report: MutationReport; writing: MutationWriting }>[] = [
  {
    name: 'pretty',
    text: ({ report, writing }, isTerminal) =>
      withoutCiCommands(mutationText(report, { ...writing, paint: paintOf(writing, isTerminal) })),
  },
  { name: 'json', text: ({ report }) => `${printableJson(report, 2)}\n` },
  { name: 'mutation', text: ({ report, writing }) => mutationElements(report, writing.sourceOf) },
];

export const MUTATION_FORMATS_TEXT =
  'Report: pretty, json or mutation (the mutation testing report schema, for its viewers), each with =FILE';

/** Default: `pretty`. Throws UsageError for an unknown format, or a file that is taken or cannot be written. */
export function mutationWriters(
  specs: readonly string[],
  writing: MutationWriting,
  places?: Places,
): (report: MutationReport) => void {
  const write = reportWriter(specs.length === 0 ? ['pretty'] : specs, FORMATS, writing.stdout, places);
  return (report) => write({ report, writing });
}

const WROTE = { brittle: 6, first: 20 };
const FIRST = 3;
const LABEL = 14;

type Style = Required<PrettyOptions>;

function mutationText(report: MutationReport, style: Style): string {
  const { subjects, stale, score, exit_code: code, meaning, duration_ms: ms } = report;
  const { paint, columns } = style;
  const tone = code === 0 ? 'green' : code === 1 ? 'red' : 'yellow';
  const word = paint(['bold', tone], score === undefined ? 'NO SCORE' : `SCORE ${inPercent(score)}`);
  return paragraphs([
    heading(report, style),
    findings('Brittle: the tests fail on servers that are right', inState(subjects, 'brittle'), style),
    findings('Survived: the tests pass on servers that are wrong', inState(subjects, 'survived'), style),
    byReason('In the baseline', 'known', report, style),
    byReason('Never asked: nothing that the tests do could show these', 'never_asked', report, style),
    byReason('Blocked: these servers could not be started', 'blocked', report, style),
    stale.flatMap(({ name, reason }) => wrap(printable(`stale: ${name} ${reason}`), columns)),
    table(report, paint),
    closing(wrap(`${word}  ${countsOf(report)} · ${readableDuration(ms)}`, columns), code, meaning, style),
  ]);
}

function heading(report: MutationReport, { paint, columns }: Style): string[] {
  const { side, api, first_run: first, jobs, repeat, subjects } = report;
  const about = `${plural(jobs, 'job')} · first run ${readableDuration(first.duration_ms)} · seed ${report.seed}`;
  const again = subjects.some(isFinding) ? hanging(paint('dim', 'again'), [`${printable(repeat)} NAME`], 2, LABEL) : [];
  return [
    `${paint('bold', `mutate ${side}`)}  ${paint('dim', `defects of the ${api} · ${about}`)}`,
    ...hanging(paint('dim', 'tests'), wrap(printable(report.command), columns - LABEL - 2), 2, LABEL),
    // Leaves the command for a repetition unwrapped, so that a user can copy it.
    ...again,
    ...wroteLines(first.wrote, paint, WROTE.first),
  ];
}

function findings(title: string, subjects: readonly MutationSubject[], style: Style): string[] {
  if (subjects.length === 0) return [];
  const { paint, columns, verbose } = style;
  const full = verbose ? subjects.length : FIRST;
  const wide = Math.max(...subjects.map(({ name }) => name.length));
  const listed = subjects.flatMap(({ name, kind, section, summary }) => {
    const label = `${signOf(kind, paint)} ${name.padEnd(wide)} ${paint('dim', section.padEnd(3))} `;
    return hanging(label, wrap(summary, Math.max(30, columns - wide - 9)), 2, wide + 7);
  });
  const told = subjects.slice(0, full).flatMap((subject) => finding(subject, style));
  const heading = `${paint('bold', title)} ${paint('dim', String(subjects.length))}`;
  if (full >= subjects.length) return [heading, ...told];
  const more = `  The first ${FIRST}; --verbose tells all of them so, --only NAME one:`;
  return [heading, ...listed, paint('dim', more), ...told];
}

const signOf = (kind: MutationSubject['kind'], paint: Paint): string =>
  kind === 'defect' ? paint('red', '✗') : paint('yellow', '!');

function finding(subject: MutationSubject, { paint, columns }: Style): string[] {
  const { kind, name, section, summary, by_hand: byHand, how, wrote, state, reason, requirements } = subject;
  const required = requirementOf(subject);
  const [requirement] = requirements;
  const line = (label: string, text: string | undefined): string[] =>
    text === undefined ? [] : hanging(paint('dim', label), wrap(text, columns - LABEL - 4), 4, LABEL);
  return [
    `  ${signOf(kind, paint)} ${paint('bold', name)}  ${paint('dim', section)}`,
    ...line('server', summary),
    ...(required === '' ? line('', findingOf(subject)) : line('required', required)),
    ...line('clause', requirement?.clause && `“${requirement.clause}”`),
    ...line('explained', requirement && `muster explain ${requirement.id}`),
    ...line('tests', state === 'brittle' ? how : undefined),
    ...line('baseline', reason && printable(reason)),
    ...hanging(paint('dim', 'by hand'), [byHand], 4, LABEL),
    ...(state === 'brittle' ? wroteLines(wrote, paint, WROTE.brittle) : []),
  ];
}

const wroteLines = (wrote: string | undefined, paint: Paint, most: number): string[] =>
  wrote === undefined
    ? []
    : printable(wrote)
        .split('\n')
        .slice(-most)
        .map((line) => `    ${paint('dim', '│')} ${line}`);

function byReason(title: string, state: MutationState, { subjects }: MutationReport, style: Style): string[] {
  const { paint, columns, verbose } = style;
  const all = inState(subjects, state);
  if (all.length === 0) return [];
  const groups = [...Map.groupBy(all, ({ reason = '' }) => reason)].toSorted(([, a], [, b]) => b.length - a.length);
  const told = verbose ? groups : groups.slice(0, 12);
  const rest = groups.slice(told.length).flatMap(([, members]) => members).length;
  return [
    `${paint('bold', title)} ${paint('dim', String(all.length))}`,
    ...told.flatMap(([reason, members]) => {
      const names = verbose ? `: ${members.map(({ name }) => name).join(', ')}` : '';
      const shown = wrap(`${printable(reason)}${names}`, Math.max(20, columns - 8));
      return hanging(String(members.length).padStart(3), shown, 2, 5);
    }),
    ...(rest === 0 ? [] : [paint('dim', `  ${String(rest).padStart(3)}  for other reasons (--verbose)`)]),
  ];
}

function table({ sections }: MutationReport, paint: Paint): string[] {
  const rows = sections.filter(({ score, brittle, known }) => score !== undefined || brittle > 0 || known > 0);
  if (rows.length === 0) return [];
  const titles = rows.map(({ section, title }) => `${section.padEnd(4)} ${cutTo(title, 34)}`);
  const wide = Math.max(...titles.map(width));
  return rows.map(({ score, killed, survived, brittle, never_asked: never }, at) => {
    const counted = lines(
      `${killed} of ${killed + survived}`,
      brittle > 0 && `${brittle} brittle`,
      never > 0 && `${never} never asked`,
    ).join(', ');
    const drawn = bar(score ?? 0, 100, { columns: 20, paint });
    return `  ${(titles[at] ?? '').padEnd(wide)}  ${drawn} ${inPercent(score).padStart(7)}  ${paint('dim', counted)}`;
  });
}
