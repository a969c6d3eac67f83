/** Section 9, migration rule 2: the immutable slug of a config type. */
import { byExploring } from './oracle/checks.ts';
import { section } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const slug = requirement({
  id: 'platform.config-type.slug',
  level: 'MUST',
  clause: '`PATCH /config_types/{config_type_id}` does not accept `slug`; slugs are immutable.',
  text: 'From 2026-08-17.everglades on, PATCH of a config type does not accept slug: no request changes it.',
});
check(...byExploring(slug, { needs: ['write', 'everglades'], makes: 'config_type' }));
