import type { PlatformDefect } from './types.ts';

export const yamlBecomesJson: PlatformDefect = {
  name: 'yaml-becomes-json',
  side: 'platform',
  summary: 'Calls yaml content json.',
  breaks: ['platform.config-instance.yaml'],
  behaviour: (right) => ({
    ...right,
    answer: (operation, { status, body }) => {
      const { content, ...rest } = body as { content?: object };
      const changed = operation.endsWith('ConfigInstance') && content !== undefined;
      return { status, body: changed ? { ...rest, content: { ...content, format: 'json' } } : body };
    },
  }),
};
