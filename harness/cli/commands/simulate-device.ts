/** `muster simulate device`: a Device API to develop against, until a signal ends it. */
import { UsageError } from '../../common/exit-codes.ts';
import { command } from '../options.ts';
import { controlAddress, deviceOptions, settingsOf } from '../simulate-device-options.ts';

export const simulateDeviceCommand = command({
  options: deviceOptions,
  examples: [
    ['muster simulate device --socket /tmp/robot.sock --dir /tmp/robot', 'a robot to develop against'],
    [
      'muster simulate device --socket r.sock --dir r --control c.sock',
      'one that can be driven: curl --unix-socket c.sock -d \'{"count":3}\' http://x/events',
    ],
    ['muster simulate device --socket r.sock --dir r --defect ids-restart-at-one', 'one that is wrong in a known way'],
  ],
  async run(args) {
    const settings = settingsOf(args);
    const control = controlAddress(args.control);
    const [{ runDevice }, { optionOf }] = await Promise.all([
      import('../../../simulators/device/process/run.ts'),
      import('../../../simulators/device/start-error.ts'),
    ]);
    return await runDevice(settings, control).catch((error: unknown) => {
      const option = optionOf(error);
      throw option === undefined || !(error instanceof Error) ? error : new UsageError(`--${option}: ${error.message}`);
    });
  },
});
