import process from 'node:process';
import { defined } from '../../common/defined.ts';
import { Redactor } from '../../common/redact.ts';
import { exitCodesText } from '../../common/usage.ts';
import { mergedFields, platformFields } from '../../targets/fields.ts';
import { webAddress } from '../../targets/transports/index.ts';
import {
  type Checked,
  type CheckTable,
  clientTarget,
  clientTargetOptions,
  commonOptions,
  deviceTarget,
  deviceTargetOptions,
  isReadOnly,
  planOptions,
  platformTarget,
  platformTargetOptions,
  refuseOwnPlatform,
  runsOf,
  systemTargetOptions,
} from '../check-options.ts';
import { type Command, complete, type OptionTable, optionsIn } from '../options.ts';

const checkCommand = <const T extends CheckTable, Context>(checked: Checked<T, Context>): Command<T> => ({
  options: checked.options,
  examples: checked.examples,
  epilogue: `Exit codes: ${exitCodesText('check')}.`,
  async run(options, { again }) {
    const { runAndReport } = await import('../check-run.ts');
    return await runAndReport(checked, options, again);
  },
});

/** Limits the wait for a first answer to `--patience` in a fast run, which then soon ends on a silent target. */
const firstAnswer = ({ fast }: { fast: boolean }, { patienceMs }: { patienceMs: number }) =>
  fast ? { firstAnswerMs: patienceMs } : {};

export const checkDevice = checkCommand({
  api: 'device',
  options: { ...deviceTargetOptions, ...planOptions },
  examples: Object.entries({
    'muster check device --socket /run/agent.sock': 'what a black box can show',
    "muster check device --command './agent --socket {socket}' --control platform":
      'driven over its own connection to a platform',
    'muster check device --socket a.sock --control c.sock --report pretty --report junit=muster.xml':
      'everything, for CI',
  }),
  suite: async () => (await import('../../../suites/device/index.ts')).deviceSuite,
  async open(args, opening) {
    const target = { ...deviceTarget(args, opening), ...firstAnswer(args, opening) };
    if (args.control === 'platform') {
      const { openEnrolledDevice } = await import('../enrol/own-platform.ts');
      return openEnrolledDevice(target, opening, args);
    }
    refuseOwnPlatform(args, 'add --control platform');
    const { openDeviceTarget } = await import('../../targets/open-device.ts');
    return openDeviceTarget(target);
  },
});

const PLATFORM_OPTIONS = {
  ...platformTargetOptions,
  ...planOptions,
  'dry-run': {
    ...optionsIn('How').flag('Only list the records that a run would make, by trying it on a platform of Muster'),
    conflicts: 'last-failed',
  },
} as const satisfies OptionTable;

const checks = checkCommand({
  api: 'platform',
  options: PLATFORM_OPTIONS,
  examples: [
    ['MUSTER_API_KEY=… muster check platform --url https://api.example.com/beta --read-only', 'sends nothing but GET'],
    ['muster check platform --url http://127.0.0.1:8080/beta --api-key KEY', 'everything'],
  ],
  suite: async () => (await import('../../../suites/platform/index.ts')).platformSuite,
  async open(args, opening) {
    const { openPlatformTarget } = await import('../../targets/open-platform.ts');
    const target = { ...platformTarget(args, opening), ...firstAnswer(args, opening) };
    const opened = await openPlatformTarget({ ...target, readOnly: isReadOnly(args) });
    if (!args['dry-run'] && !opened.readOnly && opened.unreachable === undefined)
      opening.notify('muster: records that this run makes stay on the platform; --dry-run counts them');
    return opened;
  },
});

export const checkPlatform: Command<typeof PLATFORM_OPTIONS> = {
  ...checks,
  async run(options, context) {
    if (!options['dry-run']) return checks.run(options, context);
    const { dryRun } = await import('../dry-run.ts');
    const { seed, target } = options;
    const { loadTargetFile } = await import('../../targets/settings.ts');
    const file = target === undefined ? {} : loadTargetFile(target, process.env, new Redactor()).file;
    const asked = { url: options.url, dialect: options.dialect, apiVersion: options['api-version'] };
    const { url, dialect, apiVersion, readOnly = false } = mergedFields(platformFields, asked, file.platform);
    const table: OptionTable = PLATFORM_OPTIONS;
    const ofPlan = Object.entries(options).filter(([name]) => /^(?:Which|How)/.test(table[name]?.group ?? ''));
    const same = {
      ...Object.fromEntries(ofPlan),
      ...defined({ runs: runsOf(options), dialect, 'api-version': apiVersion }),
      'read-only': isReadOnly(options) || readOnly,
    };
    return dryRun({ url: url && webAddress('--url', url), seed, dialect }, async (change) =>
      checks.run(complete(PLATFORM_OPTIONS, { ...same, ...change }), context),
    );
  },
};

export const checkSystem = checkCommand({
  api: 'system',
  options: { ...systemTargetOptions, ...planOptions },
  examples: Object.entries({
    "muster check system --command './agent --socket {socket}'": "enrolled in Muster's own platform by its environment",
    'muster check system --socket a.sock --control c.sock --platform URL --device-id dvc_1':
      'an agent in your platform',
  }),
  suite: async () => (await import('../../../suites/system/index.ts')).systemSuite,
  async open(args, opening) {
    const { openSystem } = await import('../enrol/own-platform.ts');
    return openSystem(args, { ...opening, readOnly: args['read-only'] });
  },
});

export const checkClient = checkCommand({
  api: 'client',
  options: { ...clientTargetOptions, ...commonOptions },
  examples: [
    ["muster check client --command './my-client'", 'which speaks as fixtures/client.md says'],
    ['muster check client --image my-client:1.3', 'the same, in containers'],
    ["muster check client --command './my-client' --section 6.1 --verbose", 'only how it reads the stream'],
    ["muster check client --command './my-client' --only 'client.pages.*'", 'only how it pages through a list'],
  ],
  suite: async () => (await import('../../../suites/client/index.ts')).clientSuite,
  concurrency: 16,
  async open(args, opening) {
    const { openClientTarget } = await import('../../targets/client/open-client.ts');
    return openClientTarget(clientTarget(args, opening));
  },
});
