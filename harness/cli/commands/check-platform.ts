import type { PlatformContext } from '../../targets/opened.ts';
import { checkCommand } from '../check-command.ts';
import { planOptions } from '../check-options.ts';
import { platformTarget, platformTargetOptions } from '../target-options.ts';

const options = { ...platformTargetOptions, ...planOptions } as const;

export const checkPlatform = checkCommand<typeof options, PlatformContext>({
  api: 'platform',
  options,
  examples: [
    ['MUSTER_API_KEY=… muster check platform --url https://api.example.com/beta --read-only', 'writes nothing'],
    ['muster check platform --url http://127.0.0.1:8080/beta --api-key KEY', 'everything'],
  ],
  suite: async () => (await import('../../../suites/platform/index.ts')).platformSuite,
  async open(args, opening) {
    const { openPlatformTarget } = await import('../../targets/open-platform.ts');
    return openPlatformTarget({ ...platformTarget(args, opening), readOnly: args['read-only'] });
  },
});
