import type { PlatformDefect } from './types.ts';

export const slotsUnlisted: PlatformDefect = {
  name: 'slots-unlisted',
  side: 'platform',
  summary: 'Lists config schemas with no slots.',
  breaks: ['platform.schema.slots'],
  behaviour: (right) => ({
    ...right,
    answer: (operation, answer) => {
      const { data } = answer.body as { data?: object[] };
      if (operation !== 'listConfigSchemas' || data === undefined) return answer;
      const bare = data.map((schema) => ('instance_slots' in schema ? { ...schema, instance_slots: [] } : schema));
      return { ...answer, body: { ...(answer.body as object), data: bare } };
    },
  }),
};
