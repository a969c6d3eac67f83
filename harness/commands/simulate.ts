import type { CommandModule } from 'yargs';
import { simulateDeviceCommand } from './simulate-device.ts';
import { simulatePlatformCommand } from './simulate-platform.ts';

export const simulate: CommandModule = {
  command: 'simulate',
  describe: 'Run a faithful server to develop against',
  builder: (argv) =>
    argv
      .command(simulateDeviceCommand)
      .command(simulatePlatformCommand)
      .demandCommand(1, 'Name what to simulate: device or platform.'),
  handler: () => {},
};
