import type { SystemContext } from '../../targets/opened.ts';
import { checkCommand } from '../check-command.ts';
import { planOptions } from '../check-options.ts';
import { systemTargetOptions } from '../target-options.ts';

const options = { ...systemTargetOptions, ...planOptions } as const;

export const checkSystem = checkCommand<typeof options, SystemContext>({
  api: 'system',
  options,
  examples: [
    [
      "muster check system --command './agent --socket {socket}'",
      "enrolled in Muster's own platform by its environment",
    ],
    [
      'muster check system --socket a.sock --control c.sock --platform URL --device-id dvc_1',
      'an agent in your platform',
    ],
  ],
  suite: async () => (await import('../../../suites/system/index.ts')).systemSuite,
  async open(args, opening) {
    const { openSystem } = await import('../enrol/open-system.ts');
    return openSystem(args, { ...opening, readOnly: args['read-only'] });
  },
});
