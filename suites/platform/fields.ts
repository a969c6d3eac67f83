/** Section 4.2 and conventions of HTTP and JSON: wrong and valid values in each field of a write. */
import { byExploring } from './oracle/checks.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '4.2', since: '2026-11-25' });

const fields = requirement({
  id: 'platform.robust.fields',
  text:
    'A field that is null or of a wrong type, wherever it stands in a body, causes no 5xx. ' +
    'A change that is refused changes nothing, and one that is accepted is shown.',
});

check(
  ...byExploring(fields, {
    needs: ['write'],
    makes: 'config_type',
    part: 'wrongFields',
    isMeant: ({ what }) => what === 'error',
  }),
);
check(...byExploring(fields, { aspect: 'changed', needs: ['write'], makes: 'device' }));
