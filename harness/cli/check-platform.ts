import process from 'node:process';
import type { CommandModule } from 'yargs';
import { Redactor } from '../client/redact.ts';
import { DIALECTS, type Dialect } from '../contract/versions.ts';
import type { PlatformTargetOptions } from '../targets/options.ts';
import { type PlanArguments, typed, withPlanOptions } from './check-options.ts';

interface Arguments extends PlanArguments {
  url?: string;
  'api-key'?: string;
  'limited-key'?: string;
  dialect?: Dialect;
  'api-version'?: string;
  'online-device'?: string;
  'offline-device'?: string;
  command?: string;
  image?: string;
  port?: number;
  target?: string;
  ca?: string;
  capability?: string[];
  artifact?: string;
  name?: string;
  'target-version'?: string;
}

export const checkPlatform: CommandModule<object, Arguments> = {
  builder: (argv) =>
    typed<Arguments>(
      withPlanOptions(
        argv.options({
          url: { type: 'string', describe: 'Base URL ({base_url} of the specification)', group: 'Target:' },
          'api-key': { type: 'string', describe: 'API key; or MUSTER_API_KEY in the environment', group: 'Target:' },
          'limited-key': {
            type: 'string',
            describe: 'A key without devices:read; or MUSTER_LIMITED_KEY',
            group: 'Target:',
          },
          dialect: { choices: DIALECTS, describe: 'Names of the headers', group: 'Target:' },
          'api-version': {
            type: 'string',
            describe: 'Version to speak',
            defaultDescription: 'the newest',
            group: 'Target:',
          },
          'online-device': { type: 'string', describe: 'Id of a device that answers pings', group: 'Target:' },
          'offline-device': { type: 'string', describe: 'Id of a device that does not', group: 'Target:' },
          command: { type: 'string', describe: 'Shell line that starts the platform', group: 'Target:' },
          image: { type: 'string', describe: 'Container image of the platform', group: 'Target:' },
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
          capability: { type: 'string', array: true, describe: 'Declare a capability', group: 'Target:' },
        }),
      )
        .example('MUSTER_API_KEY=… $0 check platform --url https://api.example.com/beta --read-only', 'writes nothing')
        .example('$0 check platform --url http://127.0.0.1:8080/beta --api-key KEY', 'everything'),
    ),
  handler: async (args) => {
    const redactor = new Redactor();
    const [{ judge }, { platformSuite }, { openPlatformTarget }] = await Promise.all([
      import('./run-suite.ts'),
      import('../../suites/platform/index.ts'),
      import('../targets/open-platform.ts'),
    ]);
    process.exitCode = await judge(platformSuite, args, redactor, (signal, notify) =>
      openPlatformTarget(platformOptions(args, redactor, signal, notify)),
    );
  },
};

function platformOptions(
  args: Arguments,
  redactor: Redactor,
  signal: AbortSignal,
  notify: (text: string) => void,
): PlatformTargetOptions {
  const options = {
    url: args.url,
    apiKey: args['api-key'] ?? process.env['MUSTER_API_KEY'],
    limitedKey: args['limited-key'] ?? process.env['MUSTER_LIMITED_KEY'],
    dialect: args.dialect,
    apiVersion: args['api-version'],
    onlineDevice: args['online-device'],
    offlineDevice: args['offline-device'],
    command: args.command,
    image: args.image,
    port: args.port,
    target: args.target,
    ca: args.ca,
    capability: args.capability,
    artifact: args.artifact,
    name: args.name,
    version: args['target-version'],
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return { ...given, readOnly: args['read-only'], patienceMs: args.patience * 1000, redactor, signal, notify };
}
