/** A comparison for a terminal: what differs, then what changed last, then the verdict. */
import { cutTo, type Paint, printable, wrap } from '../../common/terminal.ts';
import type { Outcome } from '../../runner/types.ts';
import { OUTCOME_WORDS, plural, SYMBOLS } from '../findings.ts';
import { COLOURS } from '../pretty-findings.ts';
import {
  alikeness,
  type ChoiceRow,
  type Comparison,
  type GateVerdict,
  judgedApart,
  type RequirementRow,
} from './comparison.ts';

const MARK = 3;
/** Ids of changed checks that are named. The page has all. */
const NAMED = 12;

const TONES = { pass: 'green', warn: 'yellow', fail: 'red' } as const;

/** Lines for a terminal of so many columns, ready to be written. */
export function compareText(comparison: Comparison, verdict: GateVerdict, paint: Paint, columns: number): string {
  const blocks = [
    legend(comparison, paint, columns),
    requirementsThatDiffer(comparison, paint, columns),
    choicesThatDiffer(comparison, paint, columns),
    changes(comparison, paint, columns),
    closing(comparison, verdict, paint, columns),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function legend({ entries, requirements, choices }: Comparison, paint: Paint, columns: number): string[] {
  const [first] = entries;
  const about = `${plural(entries.length, 'report')} · ${plural(requirements.length, 'check')} · ${plural(choices.length, 'choice')}`;
  return [
    `${paint('bold', `compare ${first?.api ?? ''}`)}  ${paint('dim', about)}`,
    ...entries.map(({ label, startedAt }, index) => {
      const when = startedAt.slice(0, 16).replace('T', ' ');
      return `  ${String(index + 1).padStart(2)}  ${when}  ${cutTo(printable(label), Math.max(20, columns - 24))}`;
    }),
  ];
}

function requirementsThatDiffer({ entries, requirements }: Comparison, paint: Paint, columns: number): string[] {
  const differing = requirements.filter(({ differs }) => differs);
  if (differing.length === 0) return [];
  const rows = differing.filter(judgedApart);
  const others = differing.length - rows.length;
  const head = entries.map((_, index) => String(index + 1).padStart(MARK)).join('');
  const marks = MARK * entries.length;
  return [
    `${paint('bold', 'Checks that differ')} ${paint('dim', String(differing.length))}`,
    ...(rows.length === 0 ? [] : [paint('dim', `  ${head}`)]),
    ...rows.map(
      ({ id, level, outcomes }) =>
        `  ${outcomes.map((outcome) => mark(outcome, paint)).join('')}  ${cutTo(`${level.padEnd(6)} ${id}`, Math.max(20, columns - marks - 4))}`,
    ),
    ...wrap(key(rows), columns - 2).map((line) => paint('dim', `  ${line}`)),
    ...(others === 0 ? [] : [paint('dim', `  ${others} were not decided by all of them; --report html lists these`)]),
  ];
}

const mark = (outcome: Outcome | undefined, paint: Paint): string =>
  outcome === undefined ? '–'.padStart(MARK) : paint(COLOURS[outcome], SYMBOLS[outcome].padStart(MARK));

/** The symbols that are used, in words. */
function key(rows: readonly RequirementRow[]): string {
  const used = new Set(rows.flatMap(({ outcomes }) => outcomes));
  return [...used]
    .map((outcome) => (outcome === undefined ? '– has no such check' : `${SYMBOLS[outcome]} ${OUTCOME_WORDS[outcome]}`))
    .join(', ');
}

function choicesThatDiffer({ choices }: Comparison, paint: Paint, columns: number): string[] {
  const rows = choices.filter(({ differs }) => differs);
  if (rows.length === 0) return [];
  return [
    `${paint('bold', 'Choices that differ, where the specification is silent')} ${paint('dim', String(rows.length))}`,
    ...rows.flatMap((row) => [
      `  ${cutTo(printable(row.name), columns - 2)}  ${paint('dim', row.check)}`,
      ...valuesOf(row, columns - 12).map((line) => `    ${line}`),
    ]),
  ];
}

/** Each value with the numbers of those that have it. */
function valuesOf({ values }: ChoiceRow, columns: number): string[] {
  const groups = Map.groupBy(
    values.map((value, index) => ({ value, number: index + 1 })),
    ({ value }) => value ?? '– not observed',
  );
  return [...groups].map(
    ([value, of]) => `${of.map(({ number }) => number).join(', ')}  ${cutTo(printable(value), columns)}`,
  );
}

function changes({ entries, changes: of }: Comparison, paint: Paint, columns: number): string[] {
  const [before, now] = [entries.length - 1, entries.length];
  const lines = (symbol: string, words: string, ids: readonly string[]): string[] => {
    if (ids.length === 0) return [];
    const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : '';
    return wrap(`${symbol} ${words}: ${ids.slice(0, NAMED).join(', ')}${more}`, columns - 4).map((line, index) =>
      index === 0 ? `  ${line}` : `    ${line}`,
    );
  };
  const said = [
    ...lines('✗', 'hold no longer', idsOf(of.regressions)),
    ...lines('?', 'not decided any more', idsOf(of.undecided)),
    ...lines('✓', 'hold now', idsOf(of.mended)),
    ...lines(
      '~',
      'answered in another way',
      of.behaviour.map(({ name }) => printable(name)),
    ),
  ];
  return said.length === 0 ? [] : [paint('bold', `From ${before} to ${now}`), ...said];
}

const idsOf = (rows: readonly RequirementRow[]): string[] => rows.map(({ id }) => id);

function closing(comparison: Comparison, verdict: GateVerdict, paint: Paint, columns: number): string[] {
  return [
    paint('dim', '─'.repeat(Math.min(columns, 72))),
    ...wrap(`${paint(['bold', TONES[verdict.tone]], verdict.word)}  ${alikeness(comparison)}`, columns),
    ...wrap(`exit ${verdict.code}: ${verdict.meaning}`, columns).map((line) => paint('dim', line)),
  ];
}
