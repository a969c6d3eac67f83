/** Section 9: expanded `current_release` and `current_deployment` of devices, and their status `archived`. */
import { codenamesFrom } from '../../harness/contract/versions.ts';
import { byExploring, inCodename } from './oracle/checks.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '9', since: '2026-11-21' });

const expand = requirement({
  id: 'platform.device.expand',
  clause: 'devices can expand `current_release` and `current_deployment` via `expand`',
  text:
    'From 2026-05-06.rainier on, devices carry current_release and current_deployment if these are expanded, ' +
    'and only then.',
});
for (const codename of codenamesFrom('rainier'))
  check(...byExploring(expand, { aspect: codename, needs: [codename], isMeant: inCodename(codename) }));

export const archived = requirement({
  id: 'platform.device.archived',
  clause: 'devices report an `archived` status',
  text: 'A client of an older version never sees the device status archived, which is new in 2026-08-17.everglades.',
});
check(...byExploring(archived, { needs: ['everglades', 'tetons', 'rainier'] }));
