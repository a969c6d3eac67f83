import { commonOptions, deviceTargetOptions, platformTargetOptions } from '../check-options.ts';
import { consoleOptions, type OptionsOf, type OptionTable, optionsIn, pathOfSocket } from '../options.ts';

const WHERE = optionsIn('Where');
const RECORDING = optionsIn('Recording');
const CONSOLE = optionsIn('Console');

const { only, section, requirements, bail, report, verbose, baseline, 'fail-on': failOn } = commonOptions;

/** Excludes `--replay`, because a recording has no live traffic. */
const LIVE = { conflicts: 'replay' } as const;

const both = {
  'tls-cert': WHERE.file('Certificate (PEM) to serve clients over TLS; needs --url', LIVE),
  'tls-key': WHERE.file('Private key of it (PEM)', LIVE),
  record: RECORDING.file('Write what is seen to this file, without secrets, as lines of JSON', LIVE),
  'record-size': RECORDING.text('Size at which the file is renamed to FILE.1; FILE.1 to FILE.4 are kept', {
    default: '100MB',
  }),
  replay: RECORDING.file('Judge a recording again, or the HAR of any tool, and connect to nothing'),
  ui: { ...CONSOLE.flag('Serve a page of what is seen and found, on loopback; its address is printed as ui'), ...LIVE },
  'ui-port': { ...consoleOptions['ui-port'], ...LIVE },
  only,
  section,
  requirements,
  'max-time': optionsIn('How').text('End after this time, e.g. 30m', { defaultText: 'no limit', ...LIVE }),
  bail: { ...bail, ...LIVE },
  'fail-on': failOn,
  baseline,
  report,
  verbose,
} as const satisfies OptionTable;

const { socket, discovery, url, ca } = deviceTargetOptions;

export const watchDeviceOptions = {
  socket: { ...socket, ...LIVE },
  discovery: { ...discovery, ...LIVE },
  url,
  ca: { ...ca, ...LIVE },
  listen: WHERE.text('Where clients connect: a unix socket; with --discovery a discovery file; with --url a port', {
    path: pathOfSocket,
    ...LIVE,
  }),
  ...both,
} as const satisfies OptionTable;

export const watchPlatformOptions = {
  url: platformTargetOptions.url,
  ca: { ...platformTargetOptions.ca, ...LIVE },
  listen: WHERE.text('Port for clients, 0 for a free one, or HOST:PORT; without a host, on loopback', LIVE),
  ...both,
} as const satisfies OptionTable;

export type WatchArguments = OptionsOf<typeof both> & Partial<OptionsOf<typeof watchDeviceOptions>>;
