import type { CommandModule } from 'yargs';
import { checkDevice } from './check-device.ts';
import { checkPlatform } from './check-platform.ts';

export const check: CommandModule = {
  command: 'check',
  describe: 'Judge an implementation against the specification',
  builder: (argv) =>
    argv.command(checkDevice).command(checkPlatform).demandCommand(1, 'Name what to check: device or platform.'),
  handler: () => {},
};
