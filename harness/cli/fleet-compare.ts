/** Compares the results of two fleet runs on one screen, or as JSON. */
import { compareFleets, type FigureChange, type FleetComparison } from '../../simulators/fleet/result/compared.ts';
import type { FleetResult } from '../../simulators/fleet/result/result.ts';
import { ResultError, readResult } from '../../simulators/fleet/result/shards.ts';
import { readableDuration } from '../common/durations.ts';
import { type Paint, printableJson, printableLine, printableValue } from '../common/terminal.ts';
import { EXIT, UsageError } from '../common/usage.ts';

export const isFleet = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'robots' in value && 'verdict' in value;

export function fleetIn(file: string): FleetResult {
  try {
    return readResult(file);
  } catch (error) {
    if (error instanceof ResultError) throw new UsageError(error.message);
    throw error;
  }
}

export interface ComparedFleets extends FleetComparison {
  files: readonly [string, string];
  code: number;
}

export function comparedFleets(files: readonly string[], isGate: boolean): ComparedFleets {
  const [first, second] = files.slice(-2);
  if (first === undefined || second === undefined)
    throw new UsageError(`${first ?? 'compare'}: one result of a fleet; accepted: two, the earlier one first`);
  const comparison = compareFleets(fleetIn(first), fleetIn(second));
  const { missed, figures, reasons } = comparison;
  const isWorse = missed.length > 0 || figures.some(({ change }) => change === 'worse');
  const isOpen = reasons.length > 0 || figures.some(({ change, name }) => change === 'gone' && !name.includes('{'));
  const code = !isGate ? EXIT.conformant : isOpen ? EXIT.incomplete : isWorse ? EXIT.nonconformant : EXIT.conformant;
  return { ...comparison, files: [first, second], code };
}

const NAME_COLUMNS = 44;
const CELL_COLUMNS = 11;
const MARKS = {
  worse: ['✗ worse', 'red'],
  better: ['✓ better', 'green'],
  same: ['', 'dim'],
  gone: ['not measured any more', 'yellow'],
  new: ['not measured before', 'dim'],
} as const;

/** Shows all figures of the whole run, and the changed figures of its phases and classes. */
export function fleetsText(compared: ComparedFleets, paint: Paint): string {
  const { files, figures, missed, settings, reasons, code } = printableValue(compared, printableLine);
  const shown = figures.filter(({ name, change }) => !name.includes('{') || change === 'worse' || change === 'better');
  const worse = figures.filter(({ change }) => change === 'worse').length;
  const word =
    reasons.length > 0
      ? 'NOT COMPARABLE'
      : worse + missed.length > 0
        ? `${worse + missed.length} WORSE`
        : 'NOTHING WORSE';
  const lines = [
    paint('bold', `${files[0]} → ${files[1]}`),
    ...settings.map(({ name, before, after }) => paint('yellow', `! ${name} differs: ${before} → ${after}`)),
    '',
    paint('dim', `${''.padEnd(NAME_COLUMNS)}${'before'.padStart(CELL_COLUMNS)}${'after'.padStart(CELL_COLUMNS)}`),
    ...shown.map((figure) => figureLine(figure, paint)),
    ...missed.map((expr) => paint('red', `✗ missed, and met before: ${expr}`)),
    '',
    ...reasons.map((reason) => paint('red', `- ${reason}`)),
    paint('bold', word) + paint('dim', ' (beyond chance, and durations by half and 1 ms)'),
    ...(code === EXIT.conformant ? [] : [paint('red', `exit ${code}`)]),
  ];
  return `${lines.join('\n')}\n`;
}

function figureLine({ name, before, after, change }: FigureChange, paint: Paint): string {
  const show = (value: number | null): string =>
    value === null
      ? '–'
      : name.endsWith('.rate')
        ? `${Number((100 * value).toPrecision(3))} %`
        : readableDuration(value);
  const [mark, format] = MARKS[change];
  const cells = [before, after].map((value) => show(value).padStart(CELL_COLUMNS)).join('');
  return `${name.padEnd(NAME_COLUMNS)}${cells}  ${paint(format, mark)}`.trimEnd();
}

export const fleetsJson = ({ files, code, ...comparison }: ComparedFleets): string =>
  `${printableJson({ files, exit_code: code, ...comparison }, 2)}\n`;
