/** Section 2: a resource looks the same in every answer that shows the resource. */
import { byExploring } from './oracle/checks.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '2', since: '2026-11-25' });

const same = requirement({
  id: 'platform.resource.same',
  clause: 'Every resource carries an `object` field naming its type.',
  text:
    'A resource shows the same values wherever it stands: alone, in lists, expanded in others, in the answer to a ' +
    'write, and in every version that has them.',
});
check(...byExploring(same));

const filtered = requirement({
  id: 'platform.list.filtered',
  section: '8',
  text: 'Filters and orders of lists, where a platform has them, take effect alike in every version.',
});
check(...byExploring(filtered, { least: { 'filtered or ordered pages': 1 } }));
