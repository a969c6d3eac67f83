/** Section 2.6: lists show created resources. */

import { byExploring } from './oracle/checks.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '2.6', since: '2026-11-21' });

const created = requirement({
  id: 'platform.list.created',
  level: 'SHOULD',
  text: 'A resource that was created appears in its list, possibly after a while.',
});
check(...byExploring(created, { needs: ['write'], makes: 'device' }));
