import { defined } from '../common/defined.ts';
import type { TargetDescription } from '../runner/types.ts';
import { ControlError } from './control/control.ts';
import type { DeviceContext, OpenedTarget, PlatformContext, SystemContext } from './opened.ts';

export interface SystemParts {
  device: OpenedTarget<DeviceContext>;
  platform: OpenedTarget<PlatformContext>;
  deviceId: string | undefined;
  links: readonly { cut(): void; restore(): void }[] | undefined;
  platformName?: string;
  named?: TargetDescription['platform'];
  close(): Promise<void>;
}

export function openSystemTarget({ device, platform, links, ...rest }: SystemParts): OpenedTarget<SystemContext> {
  const { deviceId = '', platformName = platform.description.address, named, close } = rest;
  const capabilities = new Set([...device.capabilities, ...platform.capabilities]);
  const description: TargetDescription = {
    ...device.description,
    kind: 'system',
    address: `${device.description.address} in ${platformName}`,
    capabilities: [...capabilities],
    ...defined({ api_version: platform.description.api_version, platform: named }),
  };
  const restore = (): void => {
    for (const link of links ?? []) link.restore();
  };
  // State shared by all checks, because a later check repeats a failed start.
  let isStopped = false;
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
    context: (recorder, signal) => {
      const ofDevice = device.context(recorder, signal);
      return {
        device: ofDevice,
        platform: platform.context(recorder, signal),
        deviceId,
        prepare: async (requirement, id) => {
          restore();
          await ofDevice.prepare?.(requirement, id);
        },
        reconsider: async (error) => (ofDevice.reconsider === undefined ? error : await ofDevice.reconsider(error)),
        afterCheck: (error) => ofDevice.afterCheck?.(error),
        ...defined({ standardError: ofDevice.standardError }),
        offline: async () => {
          if (links === undefined && !ofDevice.capabilities.has('restart'))
            throw new ControlError(
              "control: taking an agent offline in a platform that isn't Muster's needs --control with restart",
            );
          isStopped = links === undefined;
          if (isStopped) await ofDevice.control.stop('SIGTERM');
          for (const link of links ?? []) link.cut();
        },
        online: async () => {
          if (isStopped) await ofDevice.control.start();
          isStopped = false;
          restore();
        },
      };
    },
    [Symbol.asyncDispose]: close,
  };
}
