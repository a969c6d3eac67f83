/** `muster simulate device`: a Device API to develop against, until a signal ends it. */
import process from 'node:process';
import type { CommandModule } from 'yargs';
import { UsageError } from '../common/usage-error.ts';
import type { DeviceArguments } from './simulate-device-options.ts';
import { controlAddress, deviceArguments, settingsOf } from './simulate-device-options.ts';

export const simulateDeviceCommand: CommandModule<object, DeviceArguments> = {
  builder: (argv) =>
    deviceArguments(argv)
      .example('$0 simulate device --socket /tmp/robot.sock --dir /tmp/robot', 'a robot to develop against')
      .example(
        '$0 simulate device --socket r.sock --dir r --control c.sock',
        'one that can be driven: curl --unix-socket c.sock -d \'{"count":3}\' http://x/events',
      )
      .example(
        '$0 simulate device --socket r.sock --dir r --defect ids-restart-at-one',
        'one that is wrong in a known way',
      ),
  handler: async (args) => {
    const settings = settingsOf(args);
    const control = controlAddress(args.control);
    const [{ runDevice }, { optionOf }] = await Promise.all([
      import('../../simulators/device/process/run.ts'),
      import('../../simulators/device/start-error.ts'),
    ]);
    process.exitCode = await runDevice(settings, control).catch((error: unknown) => {
      const option = optionOf(error);
      throw option === undefined || !(error instanceof Error) ? error : new UsageError(`--${option}: ${error.message}`);
    });
  },
};
