import type { PlatformVariant } from './types.ts';

export const groupParentByAnotherName: PlatformVariant = {
  name: 'group-parent-by-another-name',
  side: 'platform',
  summary: 'Calls the parent of a group parent_group_id, and takes no notice of parent_id.',
  behaviour: (right) => ({
    ...right,
    resource: (kind, resource) => {
      if (kind !== 'group') return resource;
      const { parent_id: parent, ...rest } = resource;
      return { ...rest, parent_group_id: parent };
    },
    bodyProblems: (operation, value, check) => {
      if ((operation === 'createGroup' || operation === 'moveGroup') && typeof value === 'object' && value !== null) {
        const body = value as { parent_id?: unknown; parent_group_id?: unknown };
        delete body.parent_id;
        if (body.parent_group_id !== undefined) body.parent_id = body.parent_group_id;
        delete body.parent_group_id;
      }
      return right.bodyProblems(operation, value, check);
    },
  }),
};
