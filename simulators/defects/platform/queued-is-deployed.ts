import type { PlatformDefect } from './types.ts';

export const queuedIsDeployed: PlatformDefect = {
  name: 'queued-is-deployed',
  side: 'platform',
  summary: 'Calls a deployment deployed before its device has heard of it.',
  breaks: ['system.offline'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' && resource['activity_status'] === 'queued'
        ? { ...resource, activity_status: 'deployed', status: right.mergeStatus('deployed', 'none') }
        : resource,
  }),
};
