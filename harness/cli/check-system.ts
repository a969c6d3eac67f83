import process from 'node:process';
import type { CommandModule } from 'yargs';
import { Redactor } from '../client/redact.ts';
import { UsageError } from '../common/usage-error.ts';
import { DIALECTS, type Dialect } from '../contract/versions.ts';
import type { SystemContext } from '../targets/contexts.ts';
import { ControlError } from '../targets/control/control.ts';
import { TcpProxy } from '../targets/control/tcp-proxy.ts';
import { openDeviceTarget } from '../targets/open-device.ts';
import { openPlatformTarget } from '../targets/open-platform.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import { type DeviceArguments, deviceOptions, deviceTargetOptions } from './check-device.ts';
import { type PlanArguments, typed, withPlanOptions } from './check-options.ts';
import { announcer, openAgent, startControlPlatform, startsAgent } from './control-platform.ts';
import { judge } from './run-suite.ts';

interface Arguments extends PlanArguments, DeviceArguments {
  platform?: string;
  'api-key'?: string;
  dialect?: Dialect;
  'api-version'?: string;
  'device-id'?: string;
}

export const checkSystem: CommandModule<object, Arguments> = {
  builder: (argv) =>
    typed<Arguments>(
      withPlanOptions(
        argv.options({
          ...deviceTargetOptions,
          platform: {
            type: 'string',
            describe: 'Base URL of a platform that the agent is enrolled in',
            group: 'Target:',
          },
          'api-key': { type: 'string', describe: 'Its API key; or MUSTER_API_KEY', group: 'Target:' },
          'device-id': { type: 'string', describe: "The platform's id of the agent's device", group: 'Target:' },
          dialect: { choices: DIALECTS, describe: 'Names of the headers', group: 'Target:' },
          'api-version': {
            type: 'string',
            describe: 'Version to speak',
            defaultDescription: 'the newest',
            group: 'Target:',
          },
        }),
      )
        .example(
          "$0 check system --command './agent --socket {socket}'",
          "enrolled in Muster's own platform by its environment",
        )
        .example(
          '$0 check system --socket a.sock --control c.sock --platform URL --device-id dvc_1',
          'an agent in your platform',
        ),
    ),
  handler: async (args) => {
    const redactor = new Redactor();
    const { systemSuite } = await import('../../suites/system/index.ts');
    process.exitCode = await judge(systemSuite, args, redactor, (signal, notify) =>
      open(args, redactor, signal, notify),
    );
  },
};

/** The agent goes first at the end: it would only see its platform fail. */
async function open(
  args: Arguments,
  redactor: Redactor,
  signal: AbortSignal,
  notify: (text: string) => void,
): Promise<OpenedTarget<SystemContext>> {
  const patienceMs = args.patience * 1000;
  const deviceTarget = deviceOptions(args, redactor, signal, notify);
  const dialect = args.dialect ?? 'spec';
  const started = args.platform !== undefined || (await startsAgent(deviceTarget, redactor));
  const stack = new AsyncDisposableStack();
  try {
    const links: TcpProxy[] = [];
    const own =
      args.platform === undefined
        ? stack.use(
            await startControlPlatform({
              redactor,
              dialect,
              signal,
              announce: announcer(started),
              relay: async (url) => {
                const link = stack.use(await TcpProxy.to(url));
                links.push(link);
                return link.url;
              },
            }),
          )
        : undefined;
    const opened =
      own === undefined
        ? await openDeviceTarget(deviceTarget)
        : await openAgent(own, { ...deviceTarget, env: { ...process.env, ...own.env } }, started);
    const device = stack.use(opened);
    const deviceId = device.unreachable === undefined ? (args['device-id'] ?? (await own?.enrolled())) : undefined;
    if (deviceId === undefined && device.unreachable === undefined) {
      throw new UsageError('--device-id: missing; with --platform, which of its devices is this agent?');
    }
    const apiKey = own?.apiKey ?? args['api-key'] ?? process.env['MUSTER_API_KEY'];
    const platform = stack.use(
      await openPlatformTarget({
        url: own?.url ?? args.platform ?? '',
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(args['api-version'] === undefined ? {} : { apiVersion: args['api-version'] }),
        ...(deviceId === undefined ? {} : { onlineDevice: deviceId }),
        dialect,
        readOnly: args['read-only'],
        redactor,
        signal,
        patienceMs,
      }),
    );
    const capabilities = new Set([...device.capabilities, ...platform.capabilities]);
    return {
      description: {
        ...device.description,
        kind: 'system',
        address: `${device.description.address} in ${own === undefined ? platform.description.address : "Muster's own platform"}`,
        capabilities: [...capabilities],
        ...(platform.description.api_version === undefined ? {} : { api_version: platform.description.api_version }),
      },
      capabilities,
      unreachable: device.unreachable ?? platform.unreachable,
      diagnostics: () => device.diagnostics(),
      context: (recorder, aborted) => {
        const ofDevice = device.context(recorder, aborted);
        return {
          device: ofDevice,
          platform: platform.context(recorder, aborted),
          deviceId: deviceId ?? '',
          offline: async () => {
            if (own === undefined) await stopped(ofDevice);
            for (const link of links) link.cut();
          },
          online: async () => {
            if (own === undefined) await ofDevice.control.start();
            for (const link of links) link.restore();
          },
        };
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function stopped(device: SystemContext['device']): Promise<void> {
  if (!device.capabilities.has('restart')) {
    throw new ControlError(
      "control: taking an agent offline in a platform that isn't Muster's needs --control with restart",
    );
  }
  await device.control.stop('SIGTERM');
}
