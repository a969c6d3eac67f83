import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const groupRenameLost: PlatformDefect = {
  name: 'group-rename-lost',
  side: 'platform',
  summary: 'Answers a renaming with the new name, and keeps the old one.',
  breaks: ['platform.group.tree'],
  behaviour: (right) => ({
    ...right,
    ...firstNames(),
  }),
};

function firstNames(): Pick<PlatformBehaviour, 'answer'> {
  const names = new Map<unknown, unknown>();
  return {
    answer: (operation, { status, body }) => {
      const group = body as Record<string, unknown>;
      if (operation === 'createGroup') names.set(group['id'], group['name']);
      return {
        status,
        body: operation === 'getGroup' ? { ...group, name: names.get(group['id']) ?? group['name'] } : body,
      };
    },
  };
}
