/** What the report of an earlier run is good for: the order of this one, and what has changed since. */
import { UsageError, usage } from '../common/usage.ts';
import { readInputText } from '../common/user-files.ts';
import {
  isFinding,
  isVerdict,
  type MutationReport,
  type MutationSince,
  type MutationSubject,
  mutationReportShape,
} from '../reports/mutation/report.ts';
import type { First } from './plan.ts';
import type { Subject } from './subject.ts';

/** A report, and what the user called it. */
export interface Earlier {
  readonly file: string;
  readonly report: MutationReport;
}

/** Throws UsageError for what is no report, or one of other defects. */
export function readEarlier(file: string, { side, api }: Pick<MutationReport, 'side' | 'api'>): Earlier {
  const report = usage(`--since ${file}`, () => JSON.parse(readInputText(file)) as unknown);
  if (!mutationReportShape.is(report))
    throw new UsageError(`--since ${file}: is no report of muster mutate; --report json=FILE writes one`);
  if (report.side !== side || report.api !== api)
    throw new UsageError(`--since ${file}: is of mutate ${report.side} --api ${report.api}, whose defects are others`);
  return { file, report };
}

type Verdict = NonNullable<MutationSubject['last']>;
type Named = Pick<Subject, 'name' | 'kind' | 'summary'>;

/** A server that is described otherwise is another one, though it has the name. */
const isSame = (one: Named, other: Named): boolean =>
  one.name === other.name && one.kind === other.kind && one.summary === other.summary;

/** Whether the tests passed on the faithful server whenever they ran there. */
const holds = ({ first_run: first, flaky }: Pick<MutationReport, 'first_run' | 'flaky'>): boolean =>
  first.passed && flaky === undefined;

/** The last verdict on a server: of that run, or of one before it. */
function verdictOn(subject: Named, { report }: Earlier): Verdict | undefined {
  const found = report.subjects.find((one) => isSame(one, subject));
  if (found === undefined) return undefined;
  const { state, last } = found;
  return isVerdict(state) && holds(report) ? { state, started_at: report.started_at } : last;
}

/** What is to come first: what was found, then what has no verdict yet. */
export function firstOf(subjects: readonly Subject[], earlier: Earlier | undefined): First {
  if (earlier === undefined) return [];
  const verdicts = subjects.map((subject) => ({ name: subject.name, verdict: verdictOn(subject, earlier) }));
  const named = (has: (verdict: Verdict | undefined) => boolean) =>
    new Set(verdicts.filter(({ verdict }) => has(verdict)).map(({ name }) => name));
  return [named((verdict) => verdict !== undefined && isFinding(verdict)), named((verdict) => verdict === undefined)];
}

/** What that run had, and this one was not asked for: it keeps its verdict, so that parts of a run add up. */
export function carried(
  subjects: readonly MutationSubject[],
  { report }: Earlier,
  all: readonly Named[],
): MutationSubject[] {
  const left = report.subjects.filter(
    (one) => all.some((each) => isSame(each, one)) && !subjects.some((each) => isSame(each, one)),
  );
  return left.map(({ duration_ms: _, how: _how, wrote: _wrote, reason: _reason, last: _last, ...one }) => ({
    ...one,
    state: 'not_run',
  }));
}

/** What of a report an earlier one is compared with. */
type Compared = Pick<MutationReport, 'muster' | 'command' | 'repeat' | 'first_run' | 'flaky' | 'subjects'>;

/** The subjects with the verdicts that this run has not repeated, and what has changed. `names`: all that there are. */
export function since(
  report: Compared,
  earlier: Earlier,
  all: readonly Named[],
): Required<Pick<MutationReport, 'since' | 'subjects'>> {
  const isOwn = ({ state }: MutationSubject): boolean => isVerdict(state) && holds(report);
  const judged = report.subjects.map((subject) => ({ subject, last: verdictOn(subject, earlier) }));
  const changed = (kind: Subject['kind'], isWrong: boolean): string[] =>
    judged
      .filter(({ subject, last }) => {
        if (subject.kind !== kind || !isOwn(subject) || last === undefined) return false;
        return isMissed(subject.state) === isWrong && isMissed(last.state) !== isWrong;
      })
      .map(({ subject }) => subject.name);
  return {
    subjects: judged.map(({ subject, last }) =>
      last === undefined || isOwn(subject) ? subject : { ...subject, last },
    ),
    since: {
      file: earlier.file,
      started_at: earlier.report.started_at,
      newly_killed: changed('defect', false),
      newly_survived: changed('defect', true),
      newly_brittle: changed('variant', true),
      newly_accepted: changed('variant', false),
      differs: differences(report, earlier, all),
    },
  };
}

/** Also when a baseline excuses it. */
const isMissed = (state: MutationSubject['state']): boolean => isFinding({ state }) || state === 'known';

/** Before the `--only` that its user goes on with: the command may have one of its own. */
const SEED = / --seed \d+(?= --only$)/;

/** In what that run was another one, as ends of a sentence about it. */
function differences(
  { muster, command, repeat, subjects }: Compared,
  { report: last }: Earlier,
  all: readonly Named[],
): MutationSince['differs'] {
  const gone = last.subjects.filter((one) => !all.some((each) => isSame(each, one))).length;
  const added = subjects.filter((one) => !last.subjects.some((each) => isSame(each, one))).length;
  const hasOtherTests = last.command !== command;
  return [
    ...(hasOtherTests ? [`ran other tests: ${last.command}`] : []),
    ...(!hasOtherTests && last.repeat.replace(SEED, '') !== repeat.replace(SEED, '') ? ['ran with other options'] : []),
    ...(holds(last) ? [] : ['met tests that did not always pass on the faithful simulator: its verdicts are not used']),
    ...(last.muster === muster ? [] : [`was of Muster ${last.muster}`]),
    ...(gone === 0 ? [] : [`had defects or variants that are gone, or described otherwise now (${gone})`]),
    ...(added === 0 ? [] : [`did not look at all of these defects and variants (not at ${added})`]),
  ];
}
