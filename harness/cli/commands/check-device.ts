import type { DeviceContext } from '../../targets/opened.ts';
import { checkCommand } from '../check-command.ts';
import { planOptions } from '../check-options.ts';
import { deviceTarget, deviceTargetOptions } from '../target-options.ts';

const options = { ...deviceTargetOptions, ...planOptions } as const;

export const checkDevice = checkCommand<typeof options, DeviceContext>({
  api: 'device',
  options,
  examples: [
    ['muster check device --socket /run/agent.sock', 'what a black box can show'],
    [
      "muster check device --command './agent --socket {socket}' --control platform",
      'driven over its own connection to a platform',
    ],
    [
      'muster check device --socket a.sock --control c.sock --report pretty --report junit=muster.xml',
      'everything, for CI',
    ],
  ],
  suite: async () => (await import('../../../suites/device/index.ts')).deviceSuite,
  async open(args, opening) {
    const target = deviceTarget(args, opening);
    if (args.control === 'platform') {
      const { openEnrolledDevice } = await import('../enrol/enrolled-device.ts');
      return openEnrolledDevice(target, opening);
    }
    const { openDeviceTarget } = await import('../../targets/open-device.ts');
    return openDeviceTarget(target);
  },
});
