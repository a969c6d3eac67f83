/** `muster mutate`: how good the own tests of a client are, by the known defects that they find. */
import { exitCodesText, UsageError, usage } from '../../common/usage.ts';
import { readInputText } from '../../common/user-files.ts';
import { MUTATION_FORMATS_TEXT } from '../../reports/mutation/formats.ts';
import type { Suite } from '../../runner/types.ts';
import { command, type OptionsOf, type OptionTable, optionsIn, pathAfterEquals, wholePath } from '../options.ts';

const TESTS = optionsIn('Tests');
const SERVER = optionsIn('Server');
const WHICH = optionsIn('Which servers');
const OUTCOME = optionsIn('Outcome');

/** Of every `muster mutate`. */
const mutateOptions = {
  command: TESTS.text('Shell line that runs your tests; it ends with another code than 0 when they fail', {
    required: true,
  }),
  setup: TESTS.text('Shell line that prepares the server before each run of the tests, with the same environment'),
  jobs: TESTS.whole('Runs of the tests at a time, each with a server of its own', {
    from: 1,
    to: 256,
    defaultText: 'one for each core',
  }),
  'test-timeout': TESTS.text('Time for one run; what takes longer is killed, and counts as a failed test', {
    defaultText: '10s, or five times the first run',
  }),
  'max-first': TESTS.text('Time for the first run, on the faithful simulator', { default: '10m' }),
  only: WHICH.list('Only these defects and variants; * matches anything'),
  section: WHICH.list('Only those of these sections of the specification'),
  sample: WHICH.whole('So many defects and so many variants at most, from all sections alike', { from: 1 }),
  since: WHICH.text('Begin with what this JSON report found', { path: wholePath }),
  seed: WHICH.whole('Seed of the ids on the servers, and of the sample', { defaultText: 'a new one' }),
  'min-score': OUTCOME.number('Exit 1 only when less than this share of the defects is killed, in per cent', {
    from: 0,
    to: 100,
    defaultText: '100',
  }),
  baseline: OUTCOME.text('Known survivors, with reason, owner and expiry', { path: wholePath }),
  'update-baseline': OUTCOME.flag('Write what survived into the baseline, and say what changes'),
  report: OUTCOME.list(MUTATION_FORMATS_TEXT, { defaultText: 'pretty', path: pathAfterEquals }),
  verbose: OUTCOME.flag('Pretty report: say of each server that was not run why'),
} as const satisfies OptionTable;

const clientOptions = {
  api: SERVER.oneOf(['device', 'platform'], 'The API that the client speaks to', { required: true }),
  'seed-file': SERVER.text('Platform: the workspace that this YAML file describes', { path: wholePath }),
  devices: SERVER.whole('Platform: create this many devices, of which the first is online', {
    from: 0,
    to: 10_000,
    defaultText: '30',
  }),
  heartbeat: SERVER.text('Device: time between heartbeats of a stream', { defaultText: '1s' }),
  ...mutateOptions,
} as const satisfies OptionTable;

const DEVICES = 30;
const HEARTBEAT = '1s';

type ClientArguments = OptionsOf<typeof clientOptions>;

export const mutateClient = command({
  options: clientOptions,
  examples: [
    ["muster mutate client --api device --command 'npm test'", 'which defects of a Device API the tests find'],
    ["muster mutate client --api platform --command 'pytest -q' --min-score 80", 'a gate for CI'],
    [
      "muster mutate client --api device --command './test.sh' --sample 20 --report html=mutate.html",
      'a few of each section, as a page',
    ],
    [
      "muster mutate client --api device --command 'npm test' --since last.json --report json=last.json",
      'what the last run found comes first',
    ],
  ],
  epilogue:
    'The environment tells the tests where their server is: MUSTER_URL, MUSTER_SOCKET, MUSTER_PLATFORM_KEY, ' +
    'MUSTER_CONTROL_URL and others (fixtures/mutate/README.md). They run once on the faithful simulator, then on each ' +
    'defect, where they should fail, and on each legal variant, where they should pass.\n\n' +
    `Exit codes: ${exitCodesText('mutate')}.`,
  async run(args) {
    refuseOther(args);
    const { api } = args;
    const { runMutate } = await import('../mutate/run-mutate.ts');
    return await runMutate(args, { side: 'client', api }, (seed) => worldOf(args, seed));
  },
});

/** Throws UsageError for an option of the other API. */
function refuseOther({ api, 'seed-file': seedFile, devices, heartbeat }: ClientArguments): void {
  if (api === 'device' && seedFile !== undefined) throw new UsageError('--seed-file: needs --api platform');
  if (api === 'device' && devices !== undefined) throw new UsageError('--devices: needs --api platform');
  if (api === 'platform' && heartbeat !== undefined) throw new UsageError('--heartbeat: needs --api device');
  if (seedFile !== undefined && devices !== undefined)
    throw new UsageError('--seed-file and --devices: give one; each makes a whole workspace');
}

async function worldOf(args: ClientArguments, seed: number) {
  const { requirementsOf } = await import('../mutate/subjects.ts');
  if (args.api === 'device') {
    const heartbeatMs = await heartbeatOf(args.heartbeat ?? HEARTBEAT);
    const { deviceSuite } = await import('../../../suites/device/index.ts');
    const { deviceWorld } = await import('../mutate/device.ts');
    return deviceWorld({ heartbeatMs, seed }, requirementsOf([deviceSuite as unknown as Suite<never>]));
  }
  const { 'seed-file': path, devices = DEVICES } = args;
  const seedFile = path === undefined ? undefined : usage('--seed-file', () => readInputText(path));
  const { platformSuite } = await import('../../../suites/platform/index.ts');
  const { platformWorld } = await import('../mutate/platform.ts');
  const requirements = requirementsOf([platformSuite as unknown as Suite<never>]);
  return await platformWorld({ seed, seedFile, devices }, requirements, path).catch((error: unknown) => {
    if (!(error instanceof Error) || error.name !== 'SeedError') throw error;
    throw new UsageError(`--seed-file ${path}: ${error.message}`);
  });
}

const LONGEST_HEARTBEAT_MS = 86_400_000;

async function heartbeatOf(text: string): Promise<number> {
  const { duration } = await import('../../../simulators/device/faults.ts');
  const ms = duration(text);
  if (ms !== undefined && ms >= 1 && ms <= LONGEST_HEARTBEAT_MS) return ms;
  throw new UsageError(`--heartbeat ${text}: must be a duration from 1ms to 1d, e.g. 500ms, 30s, 2m`);
}
