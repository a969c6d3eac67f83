/** Known failures: each is excused by name, with a reason and until a day. An entry whose check passes is an error. */
import type { Api, CheckResult } from './types.ts';

/** One excused check. */
export interface BaselineEntry {
  /** Id of a check. */
  check: string;
  reason: string;
  /** Last day on which it excuses anything (YYYY-MM-DD). */
  expires: string;
}

/** The excused checks of all APIs. */
export interface Baseline {
  known: readonly BaselineEntry[];
}

/**
 * Applies a baseline to results. A failure that an entry names becomes `known`. These are errors: an entry whose check passes
 * (`fixed`), one that has expired, and one that names no check (the last two as results of their own). Entries of checks that were
 * left out or blocked change nothing, and neither do those of another API. Pure.
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
  const settled = results.map((result) => {
    const entry = entries.get(result.id);
    return entry === undefined ? result : settle(result, entry, today);
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
 * The baseline that excuses exactly what fails in `results`. Entries that still apply keep their reason and day; new ones get the
 * finding as reason, and thirty days. Entries of other APIs, and of checks that this run did not decide, stay. Pure.
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
      reason: `found on ${today}: expected ${result.expected ?? 'the requirement to hold'}; actual: ${result.actual ?? 'it does not'}`,
      expires: daysAfter(today, EXCUSED_DAYS),
    }));
  return { known: [...kept, ...added].sort((a, b) => a.check.localeCompare(b.check, 'en')) };
}

function daysAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}
