/** Changes since an earlier report, in words. */
import { isFinding, isVerdict, type MutationReport, type MutationSubject, STATE_WORDS } from './report.ts';

/** Names in a line; each format lists all subjects elsewhere. */
const NAMED = 6;

export function sinceLines({ since, subjects, first_run: first, flaky }: MutationReport): string[] {
  if (since === undefined) return [];
  const { file, started_at: at, differs } = since;
  const changes = [
    changed('newly killed', since.newly_killed),
    changed('newly survived', since.newly_survived),
    changed('newly brittle', since.newly_brittle),
    changed('brittle no more', since.newly_accepted),
  ].flat();
  const holds = first.passed && flaky === undefined;
  const what = changes.length > 0 ? changes.join('; ') : 'no verdict has changed';
  const left = subjects.filter(({ last }) => last !== undefined);
  const states = [...Map.groupBy(left, ({ last }) => last?.state ?? 'not_run')].toSorted();
  const counts = states.map(([state, members]) => `${members.length} ${STATE_WORDS[state]}`).join(', ');
  return [
    `Since ${file} (${at.slice(0, 16).replace('T', ' ')} UTC): ${holds ? what : 'nothing is compared'}.`,
    ...(left.length === 0
      ? []
      : [`Not judged by this run, and counted nowhere else in it: ${left.length} of an earlier one (${counts}).`]),
    ...(differs.length === 0 ? [] : [`That run ${differs.join('; it ')}.`]),
  ];
}

function changed(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > NAMED ? `, and ${names.length - NAMED} more` : '';
  return [`${names.length} ${what} (${names.slice(0, NAMED).join(', ')}${more})`];
}

export const foundEarlier = (subjects: readonly MutationSubject[]): MutationSubject[] =>
  subjects.filter(({ state, last }) => !isVerdict(state) && last !== undefined && isFinding(last));
