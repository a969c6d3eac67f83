/** Data of `muster mutate`; the shape is published as `fixtures/schemas/mutation.schema.json`. */
import type { Static } from 'typebox';
import { sectionTitle } from '../../contract/sentences.ts';
import { objectShape, oneOf, Type } from '../../contract/shape.ts';

export const SUBJECT_KINDS = ['defect', 'variant'] as const;

/** States of defects (`killed`, `timed_out`, `survived`), of variants (`accepted`, `brittle`), and of both (others). */
const MUTATION_STATES = [
  'killed',
  'timed_out',
  'survived',
  'known',
  'accepted',
  'brittle',
  'never_asked',
  'blocked',
  'not_run',
] as const;
export type MutationState = (typeof MUTATION_STATES)[number];

const text = Type.String();
const told = (description: string) => Type.Optional(Type.String({ description }));
const count = Type.Integer({ minimum: 0 });
const milliseconds = Type.Number({ minimum: 0 });
const percent = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 100, description: `${description}; absent where none ran` }));

const subject = Type.Object({
  name: Type.String({ description: 'As --defect and --variant take it' }),
  kind: oneOf(SUBJECT_KINDS),
  state: oneOf(MUTATION_STATES),
  section: text,
  summary: Type.String({ description: 'What differs from the reference, in one sentence' }),
  requirements: Type.Array(
    Type.Object({
      id: text,
      section: text,
      text,
      clause: told('The sentence of the specification that it rests on, quoted'),
    }),
    { description: 'What a defect breaks' },
  ),
  file: Type.String({ description: 'Where it is declared' }),
  by_hand: Type.String({ description: 'Command line that starts a server that deviates so' }),
  duration_ms: Type.Optional(milliseconds),
  how: told('How the tests ended'),
  wrote: told('The last lines that the tests wrote; where they killed it, 2000 characters at most'),
  reason: told('Why it did not run, was never asked, or is excused'),
});
export type MutationSubject = Static<typeof subject>;

const section = Type.Object({
  section: text,
  title: text,
  killed: Type.Integer({ minimum: 0, description: 'With those that timed out' }),
  survived: count,
  known: count,
  brittle: count,
  never_asked: count,
  score: percent('Killed, of those that were killed or survived'),
});

export const mutationReportShape = objectShape(
  'MutationReport',
  {
    muster: Type.String({ description: 'Version' }),
    side: oneOf(['client', 'system'], 'Whose tests ran: those of a client, or of one side of the system'),
    api: oneOf(['device', 'platform', 'agent'], 'What the defects were planted in'),
    command: text,
    repeat: Type.String({ description: 'Command line that runs one of them again, for a name that follows it' }),
    seed: Type.Integer(),
    started_at: text,
    duration_ms: milliseconds,
    jobs: Type.Integer({ minimum: 1 }),
    test_timeout_ms: Type.Optional(milliseconds),
    first_run: Type.Object(
      { passed: Type.Boolean(), how: text, duration_ms: milliseconds, wrote: told('The last lines, unless it passed') },
      { description: 'The tests on the faithful simulator' },
    ),
    flaky: told('Why nothing holds: how the tests failed on the faithful simulator later, or why there was none'),
    summary: Type.Object(
      Object.fromEntries(MUTATION_STATES.map((state) => [state, count])) as Record<MutationState, typeof count>,
    ),
    score: percent('Killed, of those that were killed or survived, in per cent'),
    min_score: Type.Optional(Type.Number()),
    sections: Type.Array(section),
    stale: Type.Array(Type.Object({ name: text, reason: text }), {
      description: 'Entries of the baseline that excuse nothing any more',
    }),
    interrupted: Type.Optional(Type.Literal(true)),
    exit_code: Type.Integer(),
    meaning: Type.String({ description: 'The exit code in words' }),
    subjects: Type.Array(subject),
  },
  { title: 'Muster mutation report', description: 'What the own tests of a client find of known defects' },
);
export type MutationReport = Static<typeof mutationReportShape.schema>;

export const isKilled = ({ state }: Pick<MutationSubject, 'state'>): boolean =>
  state === 'killed' || state === 'timed_out';

const KILLED_CHARACTERS = 2000;

/** Cuts the output of killing tests; call it only after redaction, because the redactor misses a cut secret. */
export const shortened = (report: MutationReport): MutationReport => ({
  ...report,
  subjects: report.subjects.map((subject) => {
    const { wrote = '' } = subject;
    if (!isKilled(subject) || wrote.length <= KILLED_CHARACTERS) return subject;
    return { ...subject, wrote: `…${wrote.slice(-KILLED_CHARACTERS)}` };
  }),
});

export const isFinding = ({ state }: Pick<MutationSubject, 'state'>): boolean =>
  state === 'survived' || state === 'brittle';

export const inState = <S extends Pick<MutationSubject, 'state'>>(subjects: readonly S[], state: MutationState): S[] =>
  subjects.filter((one) => one.state === state);

export const summaryOf = (subjects: readonly MutationSubject[]): MutationReport['summary'] =>
  Object.fromEntries(MUTATION_STATES.map((state) => [state, inState(subjects, state).length])) as never;

/** Share of killed defects among killed and surviving ones, in per cent; undefined if there are none. */
export function scoreOf(subjects: readonly MutationSubject[]): number | undefined {
  const killed = subjects.filter(isKilled).length;
  const decided = killed + inState(subjects, 'survived').length;
  return decided === 0 ? undefined : (100 * killed) / decided;
}

export function sectionsOf(subjects: readonly MutationSubject[]): Static<typeof section>[] {
  return [...Map.groupBy(subjects, (one) => one.section)]
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([section, members]) => {
      const number = (state: MutationState): number => inState(members, state).length;
      const score = scoreOf(members);
      return {
        section,
        title: section === '' ? 'Any section' : sectionTitle(section),
        killed: members.filter(isKilled).length,
        survived: number('survived'),
        known: number('known'),
        brittle: number('brittle'),
        never_asked: number('never_asked'),
        ...(score === undefined ? {} : { score }),
      };
    });
}

/** Rounded down to a tenth, so that only a full score reads 100 %. */
export const inPercent = (score: number | undefined): string =>
  score === undefined ? '–' : `${Math.floor(score * 10) / 10} %`;

export const countsOf = ({ summary }: Pick<MutationReport, 'summary'>): string =>
  MUTATION_STATES.filter((state) => summary[state] > 0)
    .map((state) => `${summary[state]} ${state === 'known' ? 'in the baseline' : state.replaceAll('_', ' ')}`)
    .join(' · ');

export const findingOf = ({ kind, state }: Pick<MutationSubject, 'kind' | 'state'>): string =>
  kind === 'defect'
    ? `The tests ${state === 'survived' ? 'pass' : 'passed'} although the server is wrong.`
    : 'The tests fail although the server is right: the specification leaves this open.';

/** First requirement that a defect breaks; '' for a variant, which breaks none. */
export const requirementOf = ({ requirements }: Pick<MutationSubject, 'requirements'>): string =>
  requirements[0]?.text ?? '';
