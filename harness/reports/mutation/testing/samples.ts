import { type MutationReport, type MutationSubject, scoreOf, sectionsOf, summaryOf } from '../report.ts';

const CLAUSE = { text: 'The cursor itself is not repeated.', clause: 'Events after the cursor are replayed.' };

export const sampleSubject = (given: Partial<MutationSubject> = {}): MutationSubject => ({
  name: 'replay-inclusive',
  kind: 'defect',
  state: 'survived',
  section: '6.2',
  summary: 'Replays the event of the cursor as well.',
  requirements: [{ id: 'device.events.replay.exclusive', section: '6.2', ...CLAUSE }],
  file: 'simulators/defects/device/6.2-replay.ts',
  by_hand: 'muster simulate device --socket robot.sock --dir robot --defect replay-inclusive',
  duration_ms: 120,
  how: 'ended with exit code 0',
  ...given,
});

const SUBJECTS: readonly MutationSubject[] = [
  sampleSubject(),
  sampleSubject({ name: 'replay-skips-first', state: 'killed', how: 'ended with exit code 1' }),
  sampleSubject({ name: 'zero-is-no-cursor', state: 'timed_out', how: 'were not over within 10 s' }),
  sampleSubject({ name: 'replay-limited', state: 'known', reason: 'accepted <until> then' }),
  sampleSubject({ name: 'types-ignored', section: '4.1', state: 'never_asked', reason: 'nothing called for it' }),
  sampleSubject({ name: 'replay-capped', state: 'blocked', reason: 'no port is left' }),
  sampleSubject({ name: 'heartbeat-none', state: 'not_run' }),
  sampleSubject({ name: 'retains-2', kind: 'variant', state: 'accepted', requirements: [] }),
  sampleSubject({
    name: 'ids-with-gaps',
    kind: 'variant',
    state: 'brittle',
    requirements: [],
    how: 'ended with exit code 1',
    wrote: 'expected 7, not <b>8</b>\u0007 & "more"',
  }),
];

export function sampleMutation(subjects = SUBJECTS, given: Partial<MutationReport> = {}): MutationReport {
  const score = scoreOf(subjects);
  return {
    muster: '0.1.0',
    side: 'client',
    api: 'device',
    command: 'npm test -- "<all>"',
    repeat: `muster mutate client --api device --command 'npm test -- "<all>"' --jobs 1 --seed 7 --only`,
    seed: 7,
    started_at: '2026-11-26T22:00:00.000Z',
    duration_ms: 61_000,
    jobs: 2,
    test_timeout_ms: 10_000,
    first_run: { passed: true, how: 'ended with exit code 0', duration_ms: 900 },
    summary: summaryOf(subjects),
    ...(score === undefined ? {} : { score }),
    sections: sectionsOf(subjects),
    stale: [],
    exit_code: 1,
    meaning: '1 of the defects survived',
    subjects: [...subjects],
    ...given,
  };
}
