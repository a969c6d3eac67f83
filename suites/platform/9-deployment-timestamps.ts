/** Section 9, 2026-08-17.everglades: queued, deployed and archived timestamps of deployments. */
import { byExploring } from './oracle/checks.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const timestamps = requirement({
  id: 'platform.deployment.timestamps',
  level: 'MUST',
  clause: 'deployments report queued, deployed and archived timestamps',
  text:
    'From 2026-08-17.everglades on, deployments report when they were queued, deployed and archived: ' +
    'each once it has happened, in that order.',
});
/** Needs no write, so the check runs on a read-only platform, too. */
check(...byExploring(timestamps, { aspect: 'listed', needs: ['everglades'] }));
check(...byExploring(timestamps, { needs: ['write', 'everglades'], makes: 'deployment' }));
