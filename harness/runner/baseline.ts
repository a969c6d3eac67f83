/**
 * Known failures and their file: each is excused by name, with a reason and until a day. An entry whose check passes is
 * an error.
 */
import { existsSync } from 'node:fs';
import Type, { type Static } from 'typebox';
import { LineCounter, parseDocument, stringify } from 'yaml';
import { printable } from '../common/terminal.ts';
import { UsageError } from '../common/usage.ts';
import { readInputText, whyNot, writeWhole } from '../common/user-files.ts';
import { shape } from '../contract/shape.ts';
import type { Api, CheckResult } from './types.ts';

/** Shape of the file, YAML or JSON; published as `fixtures/schemas/baseline.schema.json`. */
export const baselineFile = shape(
  'baseline',
  Type.Object(
    {
      $schema: Type.Optional(Type.String()),
      known: Type.Array(
        Type.Object(
          {
            check: Type.String({ minLength: 1, description: 'Id of a check (`muster list`)' }),
            reason: Type.String({ minLength: 1, description: 'Why it fails, for the readers of reports' }),
            expires: Type.String({
              pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
              description: 'Last day on which it is excused (YYYY-MM-DD)',
            }),
          },
          { additionalProperties: false },
        ),
      ),
    },
    {
      additionalProperties: false,
      title: 'Muster baseline',
      description: 'Checks that are known to fail, with a reason and for a time',
    },
  ),
);

/** The excused checks of all APIs. */
export type Baseline = Readonly<Pick<Static<typeof baselineFile.schema>, 'known'>>;
/** One excused check. */
export type BaselineEntry = Baseline['known'][number];

/**
 * Applies a baseline to results. A failure that an entry names becomes `known`. These are errors: an entry whose check
 * passes (`fixed`), one that has expired, and one that names no check (the last two as results of their own). Entries
 * of checks that were left out or blocked change nothing, and neither do those of another API. Pure.
 *
 * @param ids every check of the suite, also those that a narrowed run left out
 * @param today YYYY-MM-DD
 */
export function applyBaseline(
  results: readonly CheckResult[],
  baseline: Baseline,
  today: string,
  suite: { api: Api; ids: readonly string[] },
): CheckResult[] {
  const entries = new Map(baseline.known.map((entry) => [entry.check, entry]));
  const excused = results.map((result) => {
    const entry = entries.get(result.id);
    return entry === undefined ? result : settle(result, entry, today);
  });
  const known = new Map(excused.filter(({ outcome }) => outcome === 'known').map((result) => [result.id, result]));
  // What rests on a known failure cannot be decided before that is mended, so it is known as well.
  const settled = excused.map((result): CheckResult => {
    const cause = known.get(result.blocked_by ?? '');
    return cause === undefined ? result : { ...result, outcome: 'known', reason: `${result.reason}: ${cause.reason}` };
  });
  const seen = new Map(results.map((result) => [result.id, result]));
  const extra = baseline.known.flatMap((entry) => {
    if (apiOf(entry.check) !== suite.api) return [];
    if (!suite.ids.includes(entry.check)) return [complaint(entry, 'no check has this id: correct or remove it')];
    const outcome = seen.get(entry.check)?.outcome;
    // A failure that is no longer excused is an error by itself; a warning would hide that the entry has expired.
    return outcome === 'warn' && isOver(entry, today) ? [complaint(entry, over(entry))] : [];
  });
  return [...settled, ...extra];
}

function settle(result: CheckResult, entry: BaselineEntry, today: string): CheckResult {
  switch (result.outcome) {
    case 'fail':
    case 'warn':
      return isOver(entry, today)
        ? { ...result, reason: over(entry) }
        : { ...result, outcome: 'known', reason: `${entry.reason} (excused until ${entry.expires})` };
    case 'pass':
      return {
        ...result,
        outcome: 'fixed',
        reason: `holds now: remove it from the baseline (was excused: ${entry.reason})`,
      };
    default:
      return result;
  }
}

function complaint(entry: BaselineEntry, reason: string): CheckResult {
  return {
    id: `baseline:${entry.check}`,
    level: 'MUST',
    section: '',
    requirement: 'Every entry of the baseline excuses a check that fails.',
    requirement_id: 'baseline',
    outcome: 'fixed',
    duration_ms: 0,
    reason,
  };
}

const isOver = (entry: BaselineEntry, today: string): boolean => entry.expires < today;
const over = (entry: BaselineEntry): string => `its excuse ended on ${entry.expires} (${entry.reason})`;
const apiOf = (id: string): string => id.split('.', 1)[0] ?? '';

const EXCUSED_DAYS = 30;

/**
 * The baseline that excuses exactly what fails in `results`. Entries that still apply keep their reason and day; new
 * ones get the finding as reason, and thirty days. Entries of other APIs, and of checks that this run did not decide,
 * stay. Pure.
 */
export function updatedBaseline(
  results: readonly CheckResult[],
  baseline: Baseline,
  today: string,
  suite: { api: Api; ids: readonly string[] },
): Baseline {
  const byId = new Map(results.map((result) => [result.id, result]));
  const undecided = new Set(['blocked', 'not_applicable']);
  const kept = baseline.known.filter((entry) => {
    if (apiOf(entry.check) !== suite.api) return true;
    if (!suite.ids.includes(entry.check)) return false;
    const outcome = byId.get(entry.check)?.outcome;
    if (outcome === undefined || undecided.has(outcome)) return true;
    return (outcome === 'fail' || outcome === 'warn' || outcome === 'known') && !isOver(entry, today);
  });
  const named = new Set(kept.map((entry) => entry.check));
  const added = results
    .filter((result) => result.outcome === 'fail' && !named.has(result.id))
    .map((result) => ({
      check: result.id,
      reason: printable(
        `found on ${today}: expected ${result.expected ?? 'the requirement to hold'}; actual: ` +
          `${result.actual ?? 'it does not'}`,
      ),
      expires: daysAfter(today, EXCUSED_DAYS),
    }));
  return { known: [...kept, ...added].sort((a, b) => a.check.localeCompare(b.check, 'en')) };
}

function daysAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/**
 * Reads a baseline. Throws UsageError with the line. A missing file is an empty baseline only when it is about to be
 * written.
 */
export function readBaseline(path: string, options: { mayBeMissing?: boolean } = {}): Baseline {
  if (!existsSync(path)) {
    if (options.mayBeMissing === true) return { known: [] };
    throw new UsageError(`--baseline ${path}: no such file; --update-baseline writes it`);
  }
  const lines = new LineCounter();
  // Days stay text: `core` reads an unquoted date as a string.
  const document = parseDocument(textOf(path), { lineCounter: lines, schema: 'core' });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new UsageError(
      `--baseline ${path}:${line}:${col}: ${error.message.split(/ at line \d+|\n/)[0] ?? 'not YAML'}`,
    );
  }
  const content: unknown = document.toJS();
  if (!baselineFile.is(content)) {
    const [problem] = baselineFile.problems(content);
    throw new UsageError(
      `--baseline ${path}: ${problem?.path || '/'} ${problem?.message ?? ''}; an entry is {check, reason, ` +
        'expires: YYYY-MM-DD}',
    );
  }
  const twice = content.known.find((entry, index) => content.known.findIndex((at) => at.check === entry.check) < index);
  if (twice !== undefined) throw new UsageError(`--baseline ${path}: ${twice.check} is listed twice`);
  return { known: content.known };
}

function textOf(path: string): string {
  try {
    return readInputText(path);
  } catch (error) {
    throw new UsageError(`--baseline ${path}: cannot be read (${whyNot(error)})`);
  }
}

const HEADING = `# Checks that are known to fail. Each is excused until the day it expires; an entry whose check \
passes is an error.
# Written by: muster check … --baseline THIS --update-baseline
`;

/** Writes a baseline, whole or not at all. A path that ends in .json gets JSON. */
export function writeBaseline(path: string, baseline: Baseline): void {
  const content = { known: baseline.known };
  const text = path.endsWith('.json')
    ? `${JSON.stringify(content, null, 2)}\n`
    : HEADING + stringify(content, { lineWidth: 120 });
  writeWhole(path, text);
}
