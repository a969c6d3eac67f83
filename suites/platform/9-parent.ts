/** Section 9, migration rule 3: accepted values of `parent_id` in a new deployment. */
import { byExploring } from './oracle/checks.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const parent = requirement({
  id: 'platform.deployment.parent',
  level: 'MUST',
  clause:
    '`parent_id` may be omitted or a deployment id; `null` asserts that the device has no current target deployment.',
  text:
    'On creation, parent_id may be omitted or a deployment id; ' +
    'null is accepted exactly if the device has no current target deployment.',
});
const PATHS = {
  'null-accepted': '/parent_id null',
  'null-refused': '/parent_id null beside a target',
  accepted: '/parent_id',
  'at-once': '/parent_id null at once',
};
for (const [aspect, path] of Object.entries(PATHS))
  check(
    ...byExploring(parent, {
      ...{ aspect, needs: ['write', 'everglades'], makes: 'deployment', part: 'parents' },
      isMeant: (comparison) => comparison.path === path,
    }),
  );
