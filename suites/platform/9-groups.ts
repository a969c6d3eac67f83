/** Section 9, 2026-08-17.everglades: the tree of device groups, and the read-only group of a device. */
import { byExploring } from './oracle/checks.ts';
import type { Comparison } from './oracle/differences.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const options = { needs: ['write', 'everglades'] } as const;

const tree = requirement({
  id: 'platform.group.tree',
  level: 'MUST',
  clause: "Device groups (create, rename, move; a device's group membership is read-only)",
  text:
    'Groups can be created, renamed, moved and read, and form a tree after any move; ' +
    'a write to a device cannot change its group.',
});
check(...byExploring(tree, { ...options, makes: 'group' }));
const isMembership = ({ path, what }: Comparison): boolean => path.endsWith('/group_id') || what === 'error';
check(...byExploring(tree, { ...options, makes: 'group', aspect: 'membership', isMeant: isMembership }));

const isAtOnce = ({ path }: Comparison): boolean => path.endsWith(' at once');
check(
  ...byExploring(tree, {
    ...{ ...options, aspect: 'concurrent', premises: [tree.id] },
    ...{ makes: 'group', isMeant: isAtOnce, part: 'groupsAtOnce', isFree: 'a group shows no parent_id' },
  }),
);
