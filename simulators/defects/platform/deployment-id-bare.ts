import type { PlatformDefect } from './types.ts';

export const deploymentIdBare: PlatformDefect = {
  name: 'deployment-id-bare',
  side: 'platform',
  summary: 'Gives the id of a release without its prefix.',
  breaks: ['platform.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment'
        ? { ...resource, release_id: String(resource['release_id']).replace('rls_', '') }
        : resource,
  }),
};
