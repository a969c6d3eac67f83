import type { Paint } from '../../common/terminal.ts';
import { readableDuration } from '../../common/units.ts';
import { lines } from '../../reports/findings.ts';
import type { Api } from '../../runner/types.ts';
import type { Problem, Verdict } from './evaluate.ts';
import type { SubjectKind } from './subjects.ts';

export interface Part {
  api: Api;
  verdicts: readonly Verdict[];
  /** Absent if only some defects ran. */
  checks?: readonly string[];
}

export const subjectsIn = (verdicts: readonly Verdict[]): number =>
  verdicts.reduce((sum, { subject: { members } }) => sum + (members?.length ?? 1), 0);

const verdictsOn = ({ verdicts }: Part, kind: SubjectKind): Verdict[] =>
  verdicts.filter(({ subject }) => subject.kind === kind);

const shareOf = (some: number, all: number): string => `${some} of ${all} (${Math.floor((100 * some) / all)} %)`;

function hidingShares({ api, verdicts }: Part): string[] {
  const whole = verdicts.filter(({ blockedByOthers }) => blockedByOthers !== undefined);
  const free = whole.filter(({ blockedByOthers }) => blockedByOthers === 0);
  const pairs = whole.filter(({ hidden }) => hidden !== undefined);
  const asked = pairs.filter(({ essential }) => essential === undefined);
  const both = asked.filter(({ hidden = [] }) => hidden.length === 0);
  const essentials = [...new Set(pairs.flatMap(({ essential = [] }) => essential))];
  return lines(
    asked.length > 0 && `${api}: ${shareOf(both.length, asked.length)} pairs show both defects`,
    asked.flatMap(({ subject, hidden = [] }) =>
      hidden.length === 0 ? [] : [`${api}: nothing shows ${hidden.join(', ')} of ${subject.name}`],
    ),
    essentials.length > 0 &&
      `${api}: ${pairs.length - asked.length} more cannot be asked about both: ${essentials.join(', ')} failed`,
    whole.length > 0 && `${api}: ${shareOf(free.length, whole.length)} have no check blocked by another`,
  );
}

function hidingProblems({ api, verdicts }: Part): TableProblem[] {
  const pairs = verdicts.filter(({ hidden }) => hidden !== undefined);
  const hiding = pairs.filter(({ hidden = [] }) => hidden.length > 0);
  if (hiding.length <= Math.max(1, 0.02 * pairs.length)) return [];
  return hiding.map(({ subject: { name }, hidden = [] }) => ({
    where: `${api} pair ${name}`,
    what: `nothing shows ${hidden.join(', ')}`,
    todo: 'let a reader allow for what the other one does: `deviation` of the check that finds it',
  }));
}

function headlinesOf(part: Part): { right: number; wrong: Verdict[] } {
  const judged = verdictsOn(part, 'defect').filter(({ headline }) => headline !== undefined);
  const wrong = judged.filter(({ headline }) => headline?.right === false);
  return { right: judged.length - wrong.length, wrong };
}

/** Ids of checks that fail on no defect; none if whole suites ran, in which failed checks block others. */
function unproven(part: Part): string[] {
  const { verdicts, checks = [] } = part;
  const red = new Set(verdictsOn(part, 'defect').flatMap((verdict) => verdict.red));
  return verdicts.some(({ headline }) => headline !== undefined) ? [] : checks.filter((id) => !red.has(id));
}

const countOn =
  (kind: SubjectKind) =>
  (part: Part): [ok: number, all: number] => {
    const verdicts = verdictsOn(part, kind);
    return [subjectsIn(verdicts.filter(({ problems }) => problems.length === 0)), subjectsIn(verdicts)];
  };

const COLUMNS: Readonly<Record<string, (part: Part) => [ok: number, all: number]>> = {
  conformant: countOn('reference'),
  'defects caught': countOn('defect'),
  'checks proven': (part) => {
    const all = part.checks?.length ?? 0;
    return [all - unproven(part).length, all];
  },
  'variants accepted': countOn('variant'),
  'null servers rejected': countOn('null'),
  'unwilling controls': countOn('unwilling'),
  'starved harness': countOn('starved'),
};
const NAME_WIDTH = 8;

export function closingTable(parts: readonly Part[], durationMs: number, paint: Paint): string {
  const rowOf = (part: Part): string => {
    const cells = Object.entries(COLUMNS).map(([heading, count]) => {
      const [ok, all] = count(part);
      return paint(ok === all ? 'green' : 'red', (all === 0 ? '–' : `${ok}/${all}`).padStart(heading.length));
    });
    return [part.api.padEnd(NAME_WIDTH), ...cells].join('  ');
  };
  const headings = [' '.repeat(NAME_WIDTH), ...Object.keys(COLUMNS)].join('  ');
  const wrong = problemsOf(parts);
  const headlineShares = parts.flatMap((part) => {
    const { right, wrong: others } = headlinesOf(part);
    const judged = right + others.length;
    const share = Math.floor((100 * right) / Math.max(1, judged));
    return judged === 0 ? [] : [`${part.api}: ${right} of ${judged} first findings name what is broken (${share} %)`];
  });
  const verdicts = parts.flatMap((part) => part.verdicts);
  const slowest = verdicts.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, 20);
  const end = wrong.length === 0 ? paint('green', 'All ok') : paint('red', `${wrong.length} problems`);
  return [
    paint('dim', headings),
    ...parts.map(rowOf),
    ...headlineShares,
    ...parts.flatMap(hidingShares),
    '',
    ...slowest.map((verdict) =>
      paint('dim', `${readableDuration(verdict.durationMs).padStart(10)}  ${placeOf(verdict.subject)}`),
    ),
    '',
    ...wrong.flatMap(({ where, what, todo }) => [
      `${paint('red', '✗')} ${where}: ${what}`,
      paint('dim', `  → ${todo}`),
    ]),
    `${end}: ${subjectsIn(verdicts)} subjects in ${readableDuration(durationMs)}`,
    '',
  ].join('\n');
}

interface TableProblem extends Problem {
  where: string;
}

export const placeOf = ({ api, kind, name }: Verdict['subject']): string => `${api} ${kind} ${name}`;

export function problemsOf(parts: readonly Part[]): TableProblem[] {
  return parts.flatMap((part) => [
    ...part.verdicts.flatMap(({ subject, problems }) =>
      problems.map((problem) => ({ where: placeOf(subject), ...problem })),
    ),
    ...headlineProblems(part),
    ...hidingProblems(part),
    ...unproven(part).map((id) => ({
      where: `${part.api} check ${id}`,
      what: 'red on no defect, so not proven able to fail',
      todo: `plant a defect that it catches in simulators/defects/`,
    })),
  ]);
}

function headlineProblems(part: Part): TableProblem[] {
  const { right, wrong } = headlinesOf(part);
  if (part.checks === undefined || right >= 0.95 * (right + wrong.length)) return [];
  return wrong.map(({ subject: { api, name, breaks = [] }, headline }) => ({
    where: `${api} defect ${name}`,
    what: `the first finding is ${headline?.id ?? 'missing'}, and it breaks ${breaks.join(', ')}`,
    todo: 'let that check rest on a plainer one, or fail for less',
  }));
}
