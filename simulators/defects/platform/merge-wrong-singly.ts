import type { PlatformDefect } from './types.ts';

export const mergeWrongSingly: PlatformDefect = {
  name: 'merge-wrong-singly',
  side: 'platform',
  summary: 'Leaves the error out of the status of a deployment that is read alone.',
  breaks: ['platform.deployment.merge'],
  behaviour: (right) => ({
    ...right,
    answer: (operation, answer) => {
      if (operation !== 'getDeployment') return answer;
      const deployment = answer.body as { activity_status: string };
      return { ...answer, body: { ...deployment, status: deployment.activity_status } };
    },
  }),
};
