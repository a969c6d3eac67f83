/** Section 9, 2026-08-17.everglades and migration rule 1: paths of instances in a config schema. */
import { codenamesBefore } from '../../harness/contract/versions.ts';
import { byExploring, inCodename } from './oracle/checks.ts';
import type { Comparison } from './oracle/differences.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const options = { needs: ['write', 'everglades'], makes: 'config_schema' } as const;

const isDerived = ({ what, path }: Comparison): boolean => what === 'shape' && path === '/instance_slots';

const slots = requirement({
  id: 'platform.schema.slots',
  level: 'MUST',
  clause: 'an omitted `instance_slots` makes the server derive a default filepath instead of reusing a previous one',
  text:
    'From 2026-08-17.everglades on, a config schema names its paths in instance_slots[].filepath; ' +
    'if they are omitted, the server derives one and reuses none. Older versions use instance_filepath.',
});
check(...byExploring(slots, { ...options, isMeant: (found) => inCodename('everglades')(found) && !isDerived(found) }));
check(...byExploring(slots, { ...options, aspect: 'derived', isMeant: isDerived }));
for (const codename of codenamesBefore('everglades'))
  check(
    ...byExploring(slots, {
      ...{ aspect: codename, needs: ['write', codename], makes: 'config_schema' },
      isMeant: inCodename(codename),
    }),
  );
