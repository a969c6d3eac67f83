import type { PlatformDefect } from './types.ts';

export const yamlRefused: PlatformDefect = {
  name: 'yaml-refused',
  side: 'platform',
  summary: 'Refuses yaml content.',
  breaks: ['platform.config-instance.yaml'],
  behaviour: (right) => ({
    ...right,
    acceptsFormat: (format, version) => format !== 'yaml' && right.acceptsFormat(format, version),
  }),
};
