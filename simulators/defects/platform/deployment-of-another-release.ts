import type { PlatformDefect } from './types.ts';

export const deploymentOfAnotherRelease: PlatformDefect = {
  name: 'deployment-of-another-release',
  side: 'platform',
  summary: 'Answers the creation of a deployment with the release of another.',
  breaks: ['platform.deployment.created'],
  behaviour: (right) => ({
    ...right,
    answer: (operation, answer) =>
      operation === 'createDeployment' && answer.status < 300
        ? { ...answer, body: { ...(answer.body as object), release_id: 'rls_00000000000000000000' } }
        : answer,
  }),
};
