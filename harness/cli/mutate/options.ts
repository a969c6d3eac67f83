import { MUTATION_FORMATS_TEXT } from '../../reports/mutation/formats.ts';
import { SUBJECT_KINDS } from '../../reports/mutation/report.ts';
import { type OptionsOf, type OptionTable, optionsIn, REPORTED } from '../options.ts';

const TESTS = optionsIn('Tests');
const WHICH = optionsIn('Which servers');
const OUTCOME = optionsIn('Outcome');

export const mutateOptions = {
  command: TESTS.text('Shell line that runs your tests; its exit code is not 0 when they fail', {
    required: true,
  }),
  setup: TESTS.text('Shell line that prepares the server before each run of the tests, with the same environment'),
  jobs: TESTS.whole('Runs of the tests at a time, each with a server of its own', {
    from: 1,
    to: 256,
    defaultText: 'one for each core',
  }),
  'test-timeout': TESTS.text('Time for one run; what takes longer is killed, and counts as a failed test', {
    defaultText: '10s, or five times the first run; 60s at least on a variant',
  }),
  'max-first': TESTS.text('Time for the first run, on the faithful simulator', { default: '10m' }),
  only: WHICH.list('Only these defects and variants; * matches anything'),
  section: WHICH.list('Only those of these sections of the specification'),
  kind: WHICH.oneOf(SUBJECT_KINDS, 'Only defects, or only variants'),
  sample: WHICH.whole('Maximum number of defects, and of variants, spread evenly over the sections', { from: 1 }),
  seed: WHICH.whole('Seed of the ids on the servers, and of the sample', { defaultText: 'a new one' }),
  'min-score': OUTCOME.number('Exit 1 only when less than this share of the defects is killed, in per cent', {
    from: 0,
    to: 100,
    defaultText: '100',
  }),
  baseline: OUTCOME.file('Known survivors, with reason, owner and expiry'),
  'update-baseline': OUTCOME.flag('Write what survived into the baseline, and say what changes'),
  report: OUTCOME.list(MUTATION_FORMATS_TEXT, REPORTED),
  verbose: OUTCOME.flag('Pretty report: give the reason for each server that was not run'),
} as const satisfies OptionTable;

export type MutateArguments = OptionsOf<typeof mutateOptions>;
