import process from 'node:process';
import type { CommandModule, Options } from 'yargs';
import { Redactor } from '../client/redact.ts';
import type { OpenDeviceTarget } from '../targets/opened.ts';
import type { DeviceTargetOptions } from '../targets/options.ts';
import { fieldsOf, TRANSPORTS, type TransportFieldName, type TransportFields } from '../targets/transports/index.ts';
import type { Transport } from '../targets/transports/transport.ts';
import { type PlanArguments, typed, withPlanOptions } from './check-options.ts';

/** How a device is named on the command line. */
export interface DeviceArguments extends TransportFields {
  command?: string;
  image?: string;
  port?: number;
  target?: string;
  ca?: string;
  control?: string;
  capability?: string[];
  artifact?: string;
  name?: string;
  'target-version'?: string;
}

type Arguments = PlanArguments & DeviceArguments;

/** The fields by which each transport is named, as options. */
function transportOptions(transports: readonly Transport[]): Record<TransportFieldName, Options> {
  const options = Object.entries(fieldsOf(transports)).map(([name, { help }]): [string, Options] => [
    name,
    { type: 'string', describe: help, group: 'Target:' },
  ]);
  return Object.fromEntries(options) as Record<TransportFieldName, Options>;
}

export const deviceTargetOptions = {
  ...transportOptions(TRANSPORTS),
  command: { type: 'string', describe: 'Shell line that starts the agent', group: 'Target:' },
  image: { type: 'string', describe: 'Container image of the agent', group: 'Target:' },
  port: { type: 'number', describe: 'Port that the image listens on', group: 'Target:' },
  target: { type: 'string', describe: 'Target file (YAML)', group: 'Target:' },
  ca: { type: 'string', describe: 'Certificate authorities to trust (PEM)', group: 'Target:' },
  artifact: {
    type: 'string',
    describe: 'File whose SHA-256 identifies what is tested in a certificate',
    group: 'Target:',
  },
  name: { type: 'string', describe: 'Name of what is tested', group: 'Target:' },
  'target-version': { type: 'string', describe: 'Its version', group: 'Target:' },
  control: {
    type: 'string',
    describe:
      'Control API (URL, port or socket; with --image a path in it), or platform: lets the suite drive the agent',
    group: 'Target:',
  },
  capability: { type: 'string', array: true, describe: 'Declare a capability', group: 'Target:' },
} satisfies Record<string, Options>;

export const checkDevice: CommandModule<object, Arguments> = {
  builder: (argv) =>
    typed<Arguments>(
      withPlanOptions(argv.options(deviceTargetOptions))
        .example('$0 check device --socket /run/agent.sock', 'what a black box can show')
        .example(
          "$0 check device --command './agent --socket {socket}' --control platform",
          'driven over its own uplink',
        )
        .example('$0 check device --socket a.sock --control c.sock --report junit=muster.xml', 'everything, for CI'),
    ),
  handler: async (args) => {
    const redactor = new Redactor();
    const [{ judge }, { deviceSuite }] = await Promise.all([
      import('./run-suite.ts'),
      import('../../suites/device/index.ts'),
    ]);
    process.exitCode = await judge(deviceSuite, args, redactor, (signal, notify) =>
      open(args, redactor, signal, notify),
    );
  },
};

async function open(
  args: Arguments,
  redactor: Redactor,
  signal: AbortSignal,
  notify: (text: string) => void,
): Promise<OpenDeviceTarget> {
  const options = deviceOptions(args, redactor, signal, notify);
  if (args.control !== 'platform') {
    const { openDeviceTarget } = await import('../targets/open-device.ts');
    return openDeviceTarget(options);
  }
  const { openEnrolledDevice } = await import('./control-platform.ts');
  return openEnrolledDevice(options, { redactor, signal });
}

export function deviceOptions(
  args: DeviceArguments & Pick<PlanArguments, 'patience'>,
  redactor: Redactor,
  signal: AbortSignal,
  notify: (text: string) => void,
): DeviceTargetOptions {
  const { 'target-version': version, ...named } = args;
  const values: Record<string, unknown> = { ...named, version };
  for (const [name, { variable }] of Object.entries(fieldsOf(TRANSPORTS))) {
    if (variable !== undefined) values[name] ??= process.env[variable];
  }
  const given = [...Object.keys(deviceTargetOptions), 'version']
    .filter((name) => values[name] !== undefined)
    .map((name) => [name, values[name]]);
  return { ...Object.fromEntries(given), patienceMs: args.patience * 1000, redactor, signal, notify };
}
