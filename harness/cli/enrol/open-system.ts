/** Agent and platform as one target: by default the agent is enrolled in a platform of Muster's own. */

import process from 'node:process';
import { defined } from '../../common/defined.ts';
import { UsageError } from '../../common/usage.ts';
import type { TargetDescription } from '../../runner/types.ts';
import { ControlError } from '../../targets/control/control.ts';
import { TcpProxy } from '../../targets/control/tcp-proxy.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import type { DeviceContext, OpenedTarget, PlatformContext, SystemContext } from '../../targets/opened.ts';
import type { Opening } from '../check-options.ts';
import type { OptionsOf } from '../options.ts';
import { deviceTarget, type systemTargetOptions } from '../target-options.ts';
import { startControlPlatform } from './control-platform.ts';
import { agentSettings, announcer, openAgent } from './enrolled-device.ts';
import { ownPlatform, refuseOwnPlatform } from './platform-options.ts';

/** The agent is closed first, because otherwise it would see its platform fail. */
export async function openSystem(
  args: OptionsOf<typeof systemTargetOptions>,
  { readOnly, ...opening }: Opening & { readOnly: boolean },
): Promise<OpenedTarget<SystemContext>> {
  const { redactor, signal, patienceMs } = opening;
  const target = deviceTarget(controlledBy(args), opening);
  const { started, file } =
    args.platform === undefined ? await agentSettings(target, redactor) : { started: true, file: undefined };
  if (args.platform !== undefined) refuseOwnPlatform(args, 'leave out --platform', ['dialect']);
  const described = ownPlatform(args, file);
  const dialect = described.dialect ?? 'spec';
  const stack = new AsyncDisposableStack();
  try {
    const links: TcpProxy[] = [];
    const own =
      args.platform === undefined
        ? stack.use(
            await startControlPlatform({
              ...described,
              redactor,
              signal,
              announce: announcer(started),
              relay: async (url, port) => {
                const link = stack.use(await TcpProxy.to(url, port));
                links.push(link);
                return link.url;
              },
            }),
          )
        : undefined;
    const opened =
      own === undefined
        ? await openDeviceTarget(target)
        : await openAgent(
            own,
            { ...target, env: { ...process.env, ...own.env }, placeholders: own.placeholders },
            started,
          );
    const device = stack.use(opened);
    const deviceId = device.unreachable === undefined ? (args['device-id'] ?? (await own?.enrolled())) : undefined;
    if (deviceId === undefined && device.unreachable === undefined) {
      throw new UsageError('--device-id: missing; with --platform, which of its devices is this agent?');
    }
    const apiKey = own?.apiKey ?? args['api-key'] ?? process.env['MUSTER_API_KEY'];
    const platform = stack.use(
      await openPlatformTarget({
        url: own?.url ?? args.platform ?? '',
        ...defined({ ca: own?.caFile, apiKey, apiVersion: args['api-version'], onlineDevice: deviceId }),
        dialect,
        readOnly,
        redactor,
        signal,
        patienceMs,
      }),
    );
    return systemOf({ device, platform, deviceId, links, isOwn: own !== undefined, close: () => stack.disposeAsync() });
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** As for a device, `--control platform` means Muster's own, which is what an agent gets here anyway. Throws UsageError beside another. */
function controlledBy(args: OptionsOf<typeof systemTargetOptions>): OptionsOf<typeof systemTargetOptions> {
  if (args.control !== 'platform') return args;
  if (args.platform !== undefined)
    throw new UsageError("--control platform: that is Muster's own; leave out --platform");
  const { control: _, ...rest } = args;
  return rest;
}

interface Parts {
  device: OpenedTarget<DeviceContext>;
  platform: OpenedTarget<PlatformContext>;
  deviceId: string | undefined;
  /** Proxies between the agent and Muster's own platform; none with another platform. */
  links: readonly TcpProxy[];
  isOwn: boolean;
  close(): Promise<void>;
}

function systemOf({ device, platform, deviceId, links, isOwn, close }: Parts): OpenedTarget<SystemContext> {
  const capabilities = new Set([...device.capabilities, ...platform.capabilities]);
  const description: TargetDescription = {
    ...device.description,
    kind: 'system',
    address: `${device.description.address} in ${isOwn ? "Muster's own platform" : platform.description.address}`,
    capabilities: [...capabilities],
    ...defined({ api_version: platform.description.api_version }),
  };
  return {
    description,
    conclude: () => {
      device.conclude();
      const { digest, digest_of, digest_missing } = device.description;
      Object.assign(description, { digest, digest_of, digest_missing });
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
        prepare: async (requirement) => {
          // A check that was ended may have left the agent offline.
          for (const link of links) link.restore();
          await ofDevice.prepare?.(requirement);
        },
        reconsider: async (error) => (ofDevice.reconsider === undefined ? error : await ofDevice.reconsider(error)),
        offline: async () => {
          if (!isOwn) await stopped(ofDevice);
          for (const link of links) link.cut();
        },
        online: async () => {
          if (!isOwn) await ofDevice.control.start();
          for (const link of links) link.restore();
        },
      };
    },
    [Symbol.asyncDispose]: close,
  };
}

async function stopped(device: SystemContext['device']): Promise<void> {
  if (!device.capabilities.has('restart')) {
    throw new ControlError(
      "control: taking an agent offline in a platform that isn't Muster's needs --control with restart",
    );
  }
  await device.control.stop('SIGTERM');
}
