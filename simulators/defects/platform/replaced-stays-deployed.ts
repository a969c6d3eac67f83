import type { PlatformDefect } from './types.ts';

export const replacedStaysDeployed: PlatformDefect = {
  name: 'replaced-stays-deployed',
  side: 'platform',
  summary: 'Archives the target of a replaced deployment, never its activity.',
  breaks: ['system.replace'],
  behaviour: (right) => ({
    ...right,
    retired: (activity) => activity,
    mayReport: (from, to) => to !== 'archived' && right.mayReport(from, to),
  }),
};
