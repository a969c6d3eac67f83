import type { PlatformDefect } from './types.ts';

export const statusErrorAlways: PlatformDefect = {
  name: 'status-error-always',
  side: 'platform',
  summary: 'Shows the error status even when there is none.',
  breaks: ['platform.deployment.merge', 'platform.deployment.shape'],
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) =>
      kind === 'deployment' ? { ...resource, status: resource['error_status'] } : resource,
  }),
};
