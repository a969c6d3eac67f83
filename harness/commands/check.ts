import type { CommandModule } from 'yargs';
import { checkDevice } from './check-device.ts';
import { checkPlatform } from './check-platform.ts';
import { checkSystem } from './check-system.ts';

export const check: CommandModule = {
  command: 'check',
  describe: 'Judge an implementation against the specification',
  builder: (argv) =>
    argv
      .command(checkDevice)
      .command(checkPlatform)
      .command(checkSystem)
      .demandCommand(1, 'Name what to check: device, platform or system.'),
  handler: () => {},
};
