import { resolve } from 'node:path';
import process from 'node:process';
import type { Deviation } from '../../../simulators/console/page/device/document.ts';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import type { ControlOption } from '../../../simulators/device/control/server.ts';
import { dialectBehaviour } from '../../../simulators/device/dialect.ts';
import { FAULTS, parseFault } from '../../../simulators/device/faults.ts';
import type { ProcessSettings } from '../../../simulators/device/process/start.ts';
import {
  requireWritableParent,
  type TransportOptions,
  transportArguments,
  transportOptions,
  transportUsage,
} from '../../../simulators/device/transport.ts';
import { defined } from '../../common/defined.ts';
import { expectPlatformPackages } from '../../common/platform-packages.ts';
import { size } from '../../common/units.ts';
import { EXIT, exitCodesText, UsageError, usage } from '../../common/usage.ts';
import { SITUATIONS } from '../../contract/situations.ts';
import { DIALECTS } from '../../contract/versions.ts';
import { behaviourAsked, findByName, listOf, printsLists } from '../find-behaviour.ts';
import {
  command,
  consoleOptions,
  LOG_LEVELS,
  MQTT,
  OPTION,
  type OptionsOf,
  type OptionTable,
  optionsIn,
  pathOfSocket,
  timeFrom,
  uiPortOf,
  urlFrom,
  WEB,
  wholePath,
} from '../options.ts';

const WHERE = optionsIn('Where');
const ROBOT = optionsIn('Robot');
const PLATFORM = optionsIn('Platform');
const WRONG = optionsIn('Deviations');

const deviceOptions = {
  ...transportArguments,
  socket: { ...transportArguments.socket, path: wholePath },
  discovery: { ...transportArguments.discovery, path: wholePath },
  control: WHERE.text('Serve the control API on this port or unix socket', { path: pathOfSocket }),
  'control-token': WHERE.file('File with the token of a control API on a port; made if it is missing', {
    defaultText: 'a new token, in the ready line',
  }),
  ...consoleOptions,
  dir: ROBOT.file('Directory of the robot (required); created if missing'),
  retain: ROBOT.whole('Maximum number of events kept', { from: 1, default: 2000 }),
  'retain-bytes': ROBOT.text('Maximum size of the events kept, e.g. 1MB'),
  heartbeat: ROBOT.text('Time between heartbeats of a stream', { default: '30s' }),
  durability: ROBOT.oneOf(['sync', 'os'], 'When an event counts as stored: on disk (sync) or in the page cache (os)', {
    default: 'sync',
  }),
  'device-id': ROBOT.text('Id of the device', { defaultText: 'derived from the seed' }),
  name: ROBOT.text('Name of the device, 1 to 48 characters'),
  seed: ROBOT.text('Seed of ids, data and faults'),
  uplink: PLATFORM.oneOf(['none', 'agent', 'polling'], 'Connection to a platform', { default: 'none' }),
  platform: PLATFORM.text('URL of the platform'),
  token: PLATFORM.text('Provisioning token (agent) or API key (polling); or MUSTER_TOKEN in the environment', {
    secret: 'MUSTER_TOKEN',
  }),
  mqtt: PLATFORM.text('URL of the broker'),
  dialect: ROBOT.oneOf(DIALECTS, 'How it answers, and which headers it sends', { default: 'spec' }),
  defect: WRONG.list(`Plant some of ${deviceDefects.length} known defects; list prints them`),
  variant: WRONG.list(`Use some of ${deviceVariants.length} conformant variants; list prints them`),
  fault: WRONG.list(`Inject a fault: ${Object.keys(FAULTS).join(', ')}; an unknown one shows the syntax of each`),
  scenario: WRONG.text(
    `Play one of ${Object.keys(SITUATIONS).length} situations of the client suite, and nothing else; list prints them`,
  ),
  'log-level': OPTION.oneOf(LOG_LEVELS, 'Logs go to stderr as JSON lines', { default: 'info' }),
} as const satisfies OptionTable;

const KNOWN = { simulator: 'device', defects: deviceDefects, variants: deviceVariants } as const;

type Arguments = OptionsOf<typeof deviceOptions>;

function settingsOf(args: Arguments): ProcessSettings {
  const heartbeatMs = timeFrom('heartbeat', args.heartbeat);
  const { dir, defect = [], variant = [], fault = [], name, seed } = args;
  const { 'device-id': deviceId, 'retain-bytes': bytes } = args;
  const retainBytes = bytes === undefined ? undefined : size(bytes);
  if (dir === undefined) throw new UsageError('--dir: missing');
  if (bytes !== undefined && !retainBytes)
    throw new UsageError(`--retain-bytes ${bytes}: must be a size, e.g. 500000, 64kB, 1MB`);
  if (name !== undefined && name.length > 48)
    throw new UsageError(`--name: must have 1 to 48 characters, not ${name.length}`);
  if (deviceId !== undefined && !/^dvc_\S+$/.test(deviceId))
    throw new UsageError(`--device-id ${deviceId}: must start with dvc_`);
  for (const spec of fault) usage(`--fault ${spec}`, () => parseFault(spec));
  behaviourAsked({ defect, variant }, KNOWN, dialectBehaviour(args.dialect));
  return {
    device: {
      dir: resolve(dir),
      ...served(args),
      retain: args.retain,
      heartbeatMs,
      durability: args.durability,
      dialect: args.dialect,
      faults: [...fault],
      ...defined({ seed, retainBytes, name, deviceId }),
    },
    defects: [...new Set(defect)],
    variants: [...new Set(variant)],
    ...defined({ uplink: uplinkOf(args) }),
    logLevel: args['log-level'],
  };
}

function served(args: Arguments): TransportOptions {
  const options = transportOptions(args);
  if (Object.keys(options).length === 0) throw new UsageError(`${transportUsage} says where to serve`);
  return options;
}

async function controlOf({ control: text, 'control-token': file }: Arguments): Promise<ControlOption | undefined> {
  const port = /^\d+$/.test(text ?? '') ? Number(text) : undefined;
  if (file !== undefined && port === undefined) throw new UsageError('--control-token: needs --control PORT');
  if (text === undefined) return undefined;
  if (port === undefined) {
    requireWritableParent('control', text);
    return { path: resolve(text) };
  }
  if (port > 65_535) throw new UsageError(`--control ${text}: must be a port up to 65535 or a path`);
  if (file === undefined) return { port };
  const { controlTokenIn } = await import('../../../simulators/common/control-guard.ts');
  return { port, token: usage('--control-token', () => controlTokenIn(file)) };
}

function uplinkOf(args: Arguments) {
  const { uplink, platform, token = process.env['MUSTER_TOKEN'] || undefined, mqtt, dialect } = args;
  if (uplink === 'none') {
    const given = (['platform', 'token', 'mqtt'] as const).find((option) => args[option] !== undefined);
    if (given !== undefined) throw new UsageError(`--${given} needs --uplink agent or --uplink polling`);
    return undefined;
  }
  if (platform === undefined) throw new UsageError(`--uplink ${uplink} needs --platform URL`);
  if (uplink === 'polling' && token === undefined) throw new UsageError('--uplink polling needs --token, the API key');
  urlFrom('platform', platform, WEB);
  if (mqtt !== undefined) urlFrom('mqtt', mqtt, MQTT);
  expectPlatformPackages();
  return { kind: uplink, platform, dialect, ...defined({ token, mqtt }) };
}

const NOT_PLAYED = ['control', 'dir', 'defect', 'variant', 'fault', 'platform', 'ui-port'] as const;

async function playScenario(name: string, args: Arguments): Promise<number> {
  const all = Object.entries(SITUATIONS).map(([each, { summary }]) => ({ name: each, summary }));
  if (name === 'list') {
    process.stdout.write(listOf(all));
    return EXIT.conformant;
  }
  findByName('--scenario', name, all, 'device');
  const other = NOT_PLAYED.find((option) => args[option] !== undefined) ?? (args.ui ? 'ui' : undefined);
  if (other !== undefined)
    throw new UsageError(`--${other}: does not go with --scenario, which plays a script without a robot behind it`);
  const where = served(args);
  const { runScenario } = await import('../../../simulators/device/scenario-player.ts');
  return await orUsage(runScenario(name, SITUATIONS[name] ?? { summary: '', answers: [] }, where));
}

async function orUsage(running: Promise<number>): Promise<number> {
  const { optionOf } = await import('../../../simulators/device/options.ts');
  return await running.catch((error: unknown) => {
    const option = optionOf(error);
    throw option === undefined || !(error instanceof Error) ? error : new UsageError(`--${option}: ${error.message}`);
  });
}

export const simulateDeviceCommand = command({
  options: deviceOptions,
  examples: Object.entries({
    'muster simulate device --socket /tmp/robot.sock --dir /tmp/robot': 'a robot to develop against',
    'muster simulate device --socket r.sock --dir r --control c.sock':
      'one that can be driven: curl --unix-socket c.sock -d \'{"count":3}\' http://x/events',
    'muster simulate device --socket r.sock --dir r --defect ids-restart-at-one': 'one that is wrong in a known way',
    'muster simulate device --socket r.sock --dir r --ui': 'with a page to watch and drive it',
    'muster simulate device --socket r.sock --scenario torn-data': 'a stream that is cut off in an event, for a client',
  }),
  epilogue: `Exit codes: ${exitCodesText('simulate')}.`,
  async run(args) {
    if (args.scenario !== undefined) return await playScenario(args.scenario, args);
    if (printsLists(args, KNOWN)) return EXIT.conformant;
    const settings = settingsOf(args);
    const control = await controlOf(args);
    const { runDevice } = await import('../../../simulators/device/process/run.ts');
    const uiPort = uiPortOf(args);
    const named = (kind: Deviation['kind'], all: readonly { name: string; summary: string }[]): Deviation[] =>
      all.map(({ name, summary }) => ({ name, kind, describe: summary }));
    const deviations = [...named('defect', deviceDefects), ...named('variant', deviceVariants)];
    const outside = defined({ control, ...(uiPort !== undefined && { uiPort, deviations }) });
    return await orUsage(runDevice(settings, outside));
  },
});
