import type { PlatformDefect } from './types.ts';

export const groupRenameNewId: PlatformDefect = {
  name: 'group-rename-new-id',
  side: 'platform',
  summary: 'Answers a renaming with a group of another id.',
  breaks: ['platform.group.tree'],
  behaviour: (right) => ({
    ...right,
    answer: (operation, answer) => {
      const group = answer.body as Record<string, unknown>;
      return operation === 'updateGroup' ? { ...answer, body: { ...group, id: `${group['id']}-2` } } : answer;
    },
  }),
};
