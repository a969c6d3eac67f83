/** Report of `muster mutate` for a terminal: findings, score by section, verdict. */
import { readableDuration } from '../../common/durations.ts';
import { bar, cutTo, hanging, type Paint, printable, width, wrap } from '../../common/terminal.ts';
import { plural } from '../findings.ts';
import {
  countsOf,
  findingOf,
  inPercent,
  inState,
  isFinding,
  type MutationReport,
  type MutationSection,
  type MutationState,
  type MutationSubject,
  requirementOf,
} from './report.ts';

const NAMED = 12;
const WROTE = { brittle: 6, first: 20 };
const FIRST = 3;
const LABEL = 14;
const BAR = 20;

export function mutationText(report: MutationReport, style: Style): string {
  const { subjects } = report;
  const { paint, columns } = style;
  const blocks = [
    heading(report, paint, columns),
    findings('Brittle: the tests fail on servers that are right', inState(subjects, 'brittle'), style),
    findings('Survived: the tests pass on servers that are wrong', inState(subjects, 'survived'), style),
    byReason('In the baseline', 'known', report, style),
    byReason('Never asked: nothing that the tests do could show these', 'never_asked', report, style),
    byReason('Blocked: these servers could not be started', 'blocked', report, style),
    stale(report, columns),
    table(report.sections, paint),
    closing(report, paint, columns),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function heading(report: MutationReport, paint: Paint, columns: number): string[] {
  const { side, api, first_run: first, jobs, repeat, subjects } = report;
  const about = `${plural(jobs, 'job')} · first run ${readableDuration(first.duration_ms)} · seed ${report.seed}`;
  const again = subjects.some(isFinding) ? hanging(paint('dim', 'again'), [`${printable(repeat)} NAME`], 2, LABEL) : [];
  return [
    `${paint('bold', `mutate ${side}`)}  ${paint('dim', `defects of the ${api} · ${about}`)}`,
    ...hanging(paint('dim', 'tests'), wrap(printable(report.command), columns - LABEL - 2), 2, LABEL),
    // Leaves commands unwrapped, so that a user can copy each command.
    ...again,
    ...wroteLines(first.wrote, paint, WROTE.first),
  ];
}

function findings(title: string, subjects: readonly MutationSubject[], style: Style): string[] {
  if (subjects.length === 0) return [];
  const { paint, columns, verbose } = style;
  const full = verbose ? subjects.length : FIRST;
  const wide = Math.max(...subjects.map(({ name }) => name.length));
  const lines = subjects.flatMap(({ name, kind, section, summary }) =>
    hanging(
      `${signOf(kind, paint)} ${name.padEnd(wide)} ${paint('dim', section.padEnd(3))} `,
      wrap(summary, Math.max(30, columns - wide - 9)),
      2,
      wide + 7,
    ),
  );
  const told = subjects.slice(0, full).flatMap((subject) => finding(subject, paint, columns));
  const heading = `${paint('bold', title)} ${paint('dim', String(subjects.length))}`;
  if (full >= subjects.length) return [heading, ...told];
  const more = `  The first ${FIRST}; --verbose tells all of them so, --only NAME one:`;
  return [heading, ...lines, paint('dim', more), ...told];
}

const signOf = (kind: MutationSubject['kind'], paint: Paint): string =>
  kind === 'defect' ? paint('red', '✗') : paint('yellow', '!');

function finding(subject: MutationSubject, paint: Paint, columns: number): string[] {
  const { kind, name, section, summary, by_hand: byHand, how, wrote, state, reason, requirements } = subject;
  const required = requirementOf(subject);
  const line = (label: string, text: string): string[] =>
    hanging(paint('dim', label), wrap(text, columns - LABEL - 4), 4, LABEL);
  return [
    `  ${signOf(kind, paint)} ${paint('bold', name)}  ${paint('dim', section)}`,
    ...line('server', summary),
    ...(required === '' ? line('', findingOf(subject)) : line('required', required)),
    ...requirements
      .slice(0, 1)
      .flatMap(({ id, clause }) => [
        ...(clause === undefined ? [] : line('clause', `“${clause}”`)),
        ...line('explained', `muster explain ${id}`),
      ]),
    ...(state === 'brittle' && how !== undefined ? line('tests', how) : []),
    ...(reason === undefined ? [] : line('baseline', printable(reason))),
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

interface Style {
  paint: Paint;
  columns: number;
  verbose: boolean;
}

function byReason(title: string, state: MutationState, { subjects }: MutationReport, style: Style): string[] {
  const { paint, columns, verbose } = style;
  const all = inState(subjects, state);
  if (all.length === 0) return [];
  const groups = [...Map.groupBy(all, ({ reason = '' }) => reason)].toSorted(([, a], [, b]) => b.length - a.length);
  const told = verbose ? groups : groups.slice(0, NAMED);
  const rest = groups.slice(told.length).flatMap(([, members]) => members).length;
  return [
    `${paint('bold', title)} ${paint('dim', String(all.length))}`,
    ...told.flatMap(([reason, members]) => {
      const names = verbose ? `: ${members.map(({ name }) => name).join(', ')}` : '';
      return hanging(
        String(members.length).padStart(3),
        wrap(`${printable(reason)}${names}`, Math.max(20, columns - 8)),
        2,
        5,
      );
    }),
    ...(rest === 0 ? [] : [paint('dim', `  ${String(rest).padStart(3)}  for other reasons (--verbose)`)]),
  ];
}

const stale = ({ stale: entries }: MutationReport, columns: number): string[] =>
  entries.flatMap(({ name, reason }) => wrap(printable(`stale: ${name} ${reason}`), columns));

function table(sections: readonly MutationSection[], paint: Paint): string[] {
  const rows = sections.filter(({ score, brittle, known }) => score !== undefined || brittle > 0 || known > 0);
  if (rows.length === 0) return [];
  const titles = rows.map(({ section, title }) => `${section.padEnd(4)} ${cutTo(title, 34)}`);
  const wide = Math.max(...titles.map(width));
  return rows.map(({ score, killed, survived, brittle, never_asked: never }, at) => {
    const counted = [
      `${killed} of ${killed + survived}`,
      ...(brittle > 0 ? [`${brittle} brittle`] : []),
      ...(never > 0 ? [`${never} never asked`] : []),
    ].join(', ');
    const drawn = bar(score ?? 0, 100, { columns: BAR, paint });
    return `  ${(titles[at] ?? '').padEnd(wide)}  ${drawn} ${inPercent(score).padStart(7)}  ${paint('dim', counted)}`;
  });
}

function closing(report: MutationReport, paint: Paint, columns: number): string[] {
  const { score, exit_code: code, meaning, duration_ms: ms } = report;
  const tone = code === 0 ? 'green' : code === 1 ? 'red' : 'yellow';
  const word = score === undefined ? 'NO SCORE' : `SCORE ${inPercent(score)}`;
  return [
    paint('dim', '─'.repeat(Math.min(columns, 72))),
    ...wrap(`${paint(['bold', tone], word)}  ${countsOf(report)} · ${readableDuration(ms)}`, columns),
    ...wrap(printable(`exit ${code}: ${meaning}`), columns).map((line) => paint('dim', line)),
  ];
}
