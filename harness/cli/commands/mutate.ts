import process from 'node:process';
import { defined } from '../../common/defined.ts';
import { exitCodesText, headerSecret, UsageError } from '../../common/usage.ts';
import { DIALECTS, NEWEST_VERSION } from '../../contract/versions.ts';
import { mutateOptions } from '../mutate/options.ts';
import type { OwnPlatform } from '../mutate/system.ts';
import {
  command,
  MQTT,
  type OptionsOf,
  type OptionTable,
  optionsIn,
  textFrom,
  timeFrom,
  urlFrom,
  WEB,
} from '../options.ts';

const SERVER = optionsIn('Server');

const DIALECT = SERVER.oneOf(DIALECTS, 'Names of headers, and what is answered where the specification is silent', {
  default: 'spec',
});

const clientOptions = {
  api: SERVER.oneOf(['device', 'platform'], 'The API that the client speaks to', { required: true }),
  'seed-file': SERVER.file('Platform: the workspace that this YAML file describes'),
  devices: SERVER.whole('Platform: create this many devices, of which the first is online', {
    from: 0,
    to: 10_000,
    defaultText: '30',
  }),
  dialect: DIALECT,
  heartbeat: SERVER.text('Device: time between heartbeats of a stream', { defaultText: '1s' }),
  ...mutateOptions,
} as const satisfies OptionTable;

const systemOptions = {
  api: SERVER.oneOf(
    ['agent', 'platform'],
    'Where the defects are: in robots that are enrolled in your platform, or in a platform that your agent enrols in',
    { required: true },
  ),
  url: SERVER.text('Agent: base of the Platform API of your platform, e.g. http://127.0.0.1:8080/beta'),
  'api-key': SERVER.text('Agent: API key that may make provisioning tokens', { secret: 'MUSTER_API_KEY' }),
  'api-version': SERVER.text('Agent: API version of your platform', { defaultText: NEWEST_VERSION }),
  'agent-url': SERVER.text('Agent: where robots sync', { defaultText: 'the host of --url' }),
  mqtt: SERVER.text('Agent: the broker of your platform', { defaultText: 'the host of --url' }),
  dialect: DIALECT,
  heartbeat: SERVER.text('Agent: time between heartbeats of a robot', { defaultText: '1s' }),
  ...mutateOptions,
} as const satisfies OptionTable;

export const mutateSystem = command({
  options: systemOptions,
  examples: Object.entries({
    "MUSTER_API_KEY=… muster mutate system --api agent --url http://127.0.0.1:8080/beta --command './test.sh'":
      'which defects of a robot the tests of a platform find',
    "muster mutate system --api platform --command './test.sh'": 'which platform defects the tests of an agent find',
  }),
  epilogue:
    'With --api agent each run of the tests has a robot of its own in your platform, by MUSTER_DEVICE_ID and ' +
    'MUSTER_DEVICE_URL; it stays there, offline. With --api platform the tests start your agent, which finds its ' +
    'platform as in muster check system: MUSTER_PLATFORM_URL, MUSTER_MQTT_URL, MUSTER_TOKEN ' +
    `(fixtures/mutate/README.md).\n\nExit codes: ${exitCodesText('mutate')}.`,
  async run(args) {
    const { runMutate } = await import('../mutate/run-mutate.ts');
    // Runs one job at a time with `--api agent`, because tests may count the records of the shared platform.
    const jobs = args.jobs ?? (args.api === 'agent' ? 1 : undefined);
    const platform = ownPlatformOf(args);
    const sides = { side: 'system', api: args.api } as const;
    return await runMutate({ ...args, ...defined({ jobs }) }, systemOptions, sides, async (seed) => {
      const { requirementsOf } = await import('../mutate/subjects.ts');
      const { agentSubjects, platformForAgentSubjects } = await import('../mutate/system.ts');
      const { systemSuite } = await import('../../../suites/system/index.ts');
      const requirements = requirementsOf(systemSuite);
      if (platform === undefined) return platformForAgentSubjects({ dialect: args.dialect, seed }, requirements);
      const heartbeatMs = timeFrom('heartbeat', args.heartbeat ?? HEARTBEAT);
      return agentSubjects(platform, { heartbeatMs, seed, dialect: args.dialect }, requirements);
    });
  },
});

function ownPlatformOf(args: OptionsOf<typeof systemOptions>): OwnPlatform | undefined {
  const { api, url, 'api-key': key = process.env['MUSTER_API_KEY'], 'agent-url': agentUrl, mqtt } = args;
  const { 'api-version': version = NEWEST_VERSION } = args;
  if (api === 'platform') {
    const given = (['url', 'api-key', 'api-version', 'agent-url', 'mqtt', 'heartbeat'] as const).find(
      (name) => args[name] !== undefined,
    );
    if (given !== undefined) throw new UsageError(`--${given}: needs --api agent`);
    return undefined;
  }
  if (url === undefined) throw new UsageError('--url: missing; --api agent needs it');
  const { origin } = urlFrom('url', url, WEB);
  if (agentUrl !== undefined) urlFrom('agent-url', agentUrl, WEB);
  if (mqtt !== undefined) urlFrom('mqtt', mqtt, MQTT);
  if (key === undefined || key === '')
    throw new UsageError('--api-key: missing; --api agent needs it, here or in MUSTER_API_KEY');
  return { url, apiKey: headerSecret('--api-key', key), version, agentUrl: agentUrl ?? origin, mqtt };
}

const HEARTBEAT = '1s';

export const mutateClient = command({
  options: clientOptions,
  examples: Object.entries({
    "muster mutate client --api device --command 'npm test'": 'which defects of a Device API the tests find',
    "muster mutate client --api platform --command 'pytest -q' --min-score 80": 'a gate for CI',
    "muster mutate client --api device --command './test.sh' --sample 20 --report mutation=mutate.json":
      'a few of each section, for a viewer',
  }),
  epilogue:
    'The environment tells the tests where their server is: MUSTER_URL, MUSTER_SOCKET, MUSTER_PLATFORM_KEY, ' +
    'MUSTER_CONTROL_URL and others (fixtures/mutate/README.md). They run once on the faithful simulator, then on ' +
    'each defect, where they should fail, and on each legal variant, where they should pass.\n\n' +
    `Exit codes: ${exitCodesText('mutate')}.`,
  async run(args) {
    const { api, 'seed-file': seedFile, devices, heartbeat } = args;
    if (api === 'device' && seedFile !== undefined) throw new UsageError('--seed-file: needs --api platform');
    if (api === 'device' && devices !== undefined) throw new UsageError('--devices: needs --api platform');
    if (api === 'platform' && heartbeat !== undefined) throw new UsageError('--heartbeat: needs --api device');
    if (seedFile !== undefined && devices !== undefined)
      throw new UsageError('--seed-file and --devices: give one; each makes a whole workspace');
    const { runMutate } = await import('../mutate/run-mutate.ts');
    return await runMutate(args, clientOptions, { side: 'client', api }, (seed) => worldOf(args, seed));
  },
});

async function worldOf(args: OptionsOf<typeof clientOptions>, seed: number) {
  const { requirementsOf } = await import('../mutate/subjects.ts');
  if (args.api === 'device') {
    const heartbeatMs = timeFrom('heartbeat', args.heartbeat ?? HEARTBEAT);
    const { deviceSuite } = await import('../../../suites/device/index.ts');
    const { deviceSubjects } = await import('../mutate/device.ts');
    return deviceSubjects({ heartbeatMs, seed, dialect: args.dialect }, requirementsOf(deviceSuite));
  }
  const { 'seed-file': path, devices = 30 } = args;
  const seedFile = path === undefined ? undefined : textFrom('seed-file', path);
  const { platformSuite } = await import('../../../suites/platform/index.ts');
  const { platformSubjects } = await import('../mutate/platform.ts');
  const setting = { seed, seedFile, devices, dialect: args.dialect };
  return await platformSubjects(setting, requirementsOf(platformSuite), path).catch((error: unknown) => {
    if (!(error instanceof Error) || error.name !== 'SeedError') throw error;
    throw new UsageError(`--seed-file ${path}: ${error.message}`);
  });
}
