import { cutTo, hanging, type Paint, printable, wrap } from '../common/terminal.ts';
import { readableDuration } from '../common/units.ts';
import { sectionTitle } from '../contract/sentences.ts';
import type { CheckResult, Report } from '../runner/types.ts';
import { exchangesOf } from './exchanges.ts';
import {
  COLOURS,
  evidenceOf,
  type FindingGroup,
  findingsOf,
  howOften,
  lines,
  plural,
  SYMBOLS,
  scriptLines,
  tryLine,
} from './findings.ts';
import type { ReporterOptions } from './format.ts';

export interface PrettyOptions extends Pick<ReporterOptions, 'verbose'> {
  paint: Paint;
  columns: number;
}

const LABEL = 11;
const WHOLE = 5;
const NAMED = 6;

export const paragraphs = (blocks: readonly (readonly string[])[]): string =>
  blocks
    .filter((block) => block.length > 0)
    .map((block) => `${block.join('\n')}\n`)
    .join('\n');

export const closing = (
  conclusion: readonly string[],
  code: number,
  meaning: string,
  { paint, columns }: PrettyOptions,
): string[] => [
  paint('dim', '─'.repeat(Math.min(columns, 72))),
  ...conclusion,
  ...wrap(printable(`exit ${code}: ${meaning}`), columns).map((line) => paint('dim', line)),
];

export const idList = (ids: readonly string[]): string =>
  ids.slice(0, NAMED).join(' ') + (ids.length > NAMED ? ` and ${ids.length - NAMED} more` : '');

export function findings(report: Report, outcome: 'warn' | 'fail', options: PrettyOptions): string[] {
  const groups = findingsOf(report, outcome);
  if (groups.length === 0) return [];
  const { paint, columns, verbose } = options;
  const heading = outcome === 'fail' ? 'Failed: a MUST does not hold' : 'Warned: a SHOULD does not hold';
  const hidden = groups.length > WHOLE && verbose !== true;
  const note = (text: string): string[] => ['', ...wrap(text, columns - 2).map((line) => paint('dim', `  ${line}`))];
  return lines(
    `${paint(['bold', COLOURS[outcome]], heading)} ${paint('dim', String(groups.length))}`,
    groups.flatMap((group, index) => [
      '',
      ...(index < WHOLE || verbose === true ? findingLines(group, options, index === 0) : briefLines(group, options)),
    ]),
    hidden && ['', paint('dim', `  The first ${WHOLE} are shown in full; for the others add --report html=FILE.`)],
    report.target.ended === true && note(ended(report, groups)),
  );
}

function ended({ api }: Report, groups: readonly FindingGroup[]): string {
  if (api === 'client')
    return (
      'To debug a client, play a situation to it for as long as it takes: muster simulate device --scenario NAME ' +
      '(--scenario list names them), or muster simulate platform.'
    );
  const replayed = groups.some(({ lead }) => lead.replay_command?.startsWith('muster replay ') === true);
  const how = replayed
    ? "the line 'again' starts it again; add --keep to leave it running"
    : "with --report json=RUN.json, 'muster replay RUN.json --keep' starts it again and leaves it running";
  return `What was started for this run has ended: ${how}.`;
}

const TONES: Readonly<Record<string, 'green' | 'red'>> = { expected: 'green', actual: 'red' };

export function findingLines(group: FindingGroup, options: PrettyOptions, first: boolean): string[] {
  const { lead: result } = group;
  const { paint, columns, verbose } = options;
  const where =
    `${result.level} · section ${result.section} ${sectionTitle(result.section)} · ` +
    `${readableDuration(result.duration_ms)}`;
  const room = Math.max(30, columns - 4 - LABEL);
  const evidence = evidenceOf(result).flatMap(([name, text]) => {
    const tone = TONES[name];
    const shown = text === undefined ? [] : wrap(printable(text), room);
    return hanging(paint('dim', name), tone === undefined ? shown : shown.map((line) => paint(tone, line)), 4, LABEL);
  });
  const exchanges = exchangesOf(result, { columns: room, most: 3 });
  const all = result.exchanges?.length ?? 0;
  const which = all > exchanges.length ? `${exchanges.length} of ${all}` : 'exchange';
  return [
    `  ${mark(result, paint)} ${paint('bold', result.id)}  ${paint('dim', where)}`,
    ...wrap(printable(result.requirement), columns - 4).map((line) => `    ${line}`),
    ...evidence,
    ...repeating(result, paint, verbose === true ? Number.POSITIVE_INFINITY : first ? 40 : 0),
    ...exchanges.flatMap(({ headline, lines: shown }, index) => [
      `    ${label(paint, index === 0 ? which : '')}${headline}`,
      ...shown.map((line) => paint('dim', `    ${' '.repeat(LABEL)}${line}`)),
    ]),
    ...again(result, paint),
    ...following(group, options),
  ];
}

/** Commands stay unwrapped, so that a user can copy them. */
function repeating(result: CheckResult, paint: Paint, most: number): string[] {
  const line = tryLine(result);
  const script = scriptLines(result);
  if (line !== undefined) return [`    ${label(paint, 'try')}${line}`];
  if (script === undefined) return [];
  const folded = `${script.length} lines, with --report html=FILE or --verbose`;
  if (script.length > most) return [`    ${label(paint, 'script')}${paint('dim', folded)}`];
  return script.map((text, index) => `    ${label(paint, index === 0 ? 'script' : '')}${text}`.trimEnd());
}

function following({ consequences, blocked }: FindingGroup, { paint, columns, verbose }: PrettyOptions): string[] {
  const shown = verbose === true ? consequences : consequences.slice(0, 12);
  const rest = consequences.length - shown.length;
  const room = columns - 8;
  const counted = (list: readonly CheckResult[], noun: string, why: string): string | false =>
    list.length > 0 && `    ${paint('bold', plural(list.length, noun))} ${paint('dim', why)}`;
  return lines(
    counted(consequences, 'finding', 'may follow from it'),
    shown.map((result) => {
      const words = cutTo(printable(result.actual ?? ''), Math.max(20, room - result.id.length));
      return `      ${mark(result, paint)} ${result.id}  ${paint('dim', words)}`.trimEnd();
    }),
    rest > 0 && paint('dim', `      … and ${rest} more (--verbose lists them)`),
    counted(blocked, 'check', 'not run because of it'),
    blocked.length > 0 && wrap(idList(blocked.map(({ id }) => id)), room).map((line) => paint('dim', `      ${line}`)),
  );
}

function briefLines(group: FindingGroup, { paint, columns }: PrettyOptions): string[] {
  const { lead: result, consequences, blocked } = group;
  const { id, level, section } = result;
  const about = lines(
    `${level} · section ${section}`,
    howOften(result),
    consequences.length > 0 && `${consequences.length} may follow`,
    blocked.length > 0 && `${plural(blocked.length, 'check')} not run`,
  );
  return lines(
    `  ${mark(result, paint)} ${paint('bold', id)}  ${paint('dim', about.join(' · '))}`,
    (['expected', 'actual'] as const).map((name) => {
      const words = cutTo(printable(result[name] ?? ''), columns - 4 - LABEL);
      return `    ${label(paint, name)}${paint(TONES[name] ?? 'dim', words)}`;
    }),
    again(result, paint),
  );
}

const mark = ({ outcome }: CheckResult, paint: Paint): string => paint([COLOURS[outcome], 'bold'], SYMBOLS[outcome]);

const again = ({ replay_command: command }: CheckResult, paint: Paint): string[] =>
  command === undefined ? [] : [`    ${label(paint, 'again')}${printable(command)}`];

const label = (paint: Paint, text: string): string => paint('dim', text) + ' '.repeat(Math.max(1, LABEL - text.length));
