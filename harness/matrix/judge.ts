/** Judges one subject, and the matrix as a whole. */
import type { Report } from '../check/types.ts';
import type { Subject, Verdict } from './types.ts';

/** A defect is judged by the checks of the requirements it breaks, or with `whole` by all of them. */
export async function judge(subject: Subject, whole = false): Promise<Verdict> {
  const started = performance.now();
  const report = await subject.judge(subject.kind === 'defect' && !whole ? subject.breaks : undefined);
  const ran = report.checks.filter((check) => check.outcome !== 'not_applicable');
  const red = ran.filter((check) => check.outcome === 'fail' || check.outcome === 'warn');
  const verdict: Verdict = {
    subject,
    outcomes: new Map(
      ran.map((check) => [check.id, { level: check.level, outcome: check.outcome, requirement: check.requirement_id }]),
    ),
    red: red.map((check) => check.id),
    blocked: ran.filter((check) => check.outcome === 'blocked').map((check) => `${check.id} (${check.reason})`),
    durationMs: performance.now() - started,
    problems: [],
  };
  verdict.problems = problemsOf(verdict, report);
  return verdict;
}

function problemsOf({ subject, red, blocked, outcomes }: Verdict, report: Report): string[] {
  const fails = report.checks.filter((check) => check.outcome === 'fail');
  const why = (id: string): string => {
    const check = report.checks.find((candidate) => candidate.id === id);
    return `${id}: expected ${check?.expected}; actual: ${check?.actual}`;
  };
  switch (subject.kind) {
    case 'right':
      return [...red.map(why), ...blocked.map((id) => `blocked: ${id}`)];
    case 'variant':
      return [...fails.map((check) => why(check.id)), ...blocked.map((id) => `blocked: ${id}`)];
    case 'null': {
      const passed = [...outcomes].filter(([, check]) => check.level === 'MUST' && check.outcome === 'pass');
      return passed.map(([id]) => `a server that does nothing passes ${id}`);
    }
    case 'defect': {
      if (red.length === 0) return [`nothing caught it${blocked.length > 0 ? `; blocked: ${blocked.join(', ')}` : ''}`];
      const named = red.some((id) => subject.breaks?.some((broken) => id === broken || id.startsWith(`${broken}.`)));
      return named ? [] : [`caught only by ${red.join(', ')}, not by ${subject.breaks?.join(' or ')}`];
    }
  }
}

/** Checks that stay green on every defect: they can't be shown to fail. */
export function neverRed(verdicts: readonly Verdict[], ids: readonly string[]): string[] {
  const red = new Set(verdicts.filter(({ subject }) => subject.kind === 'defect').flatMap((verdict) => verdict.red));
  return ids.filter((id) => !red.has(id));
}
