/** Section 2.6: whether lists show what was created. */

import { pollWithin } from '../../harness/common/waiting.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType, createDevice } from './support/create.ts';
import { type Collection, SEARCHED_AT_MOST, walk } from './support/lists.ts';

export const { requirement, check, checks } = section({ section: '2.6', since: '2026-11-21' });

const created = requirement({
  id: 'platform.list.created',
  level: 'SHOULD',
  text: 'A resource that was created appears in its list, possibly after a while.',
});
check(created, { needs: ['write'] }, async (t: Platform) => {
  await mustBeListed(t, 'config_types', (await createConfigType(t)).id);
  await mustBeListed(t, 'devices', (await createDevice(t)).id);
});

/** The specification gives no time, so this is only a SHOULD, and not worth a long wait. */
const SHARE_OF_PATIENCE = 1 / 2;

async function mustBeListed(t: Platform, collection: Collection, id: string): Promise<void> {
  const timeoutMs = t.patienceMs * SHARE_OF_PATIENCE;
  let listed = 0;
  const found = await pollWithin(
    `${id} in ${collection}`,
    async () => {
      const { items, whole } = await walk(t, collection, SEARCHED_AT_MOST);
      listed = items.length;
      if (items.some((item) => item.id === id)) return 'listed';
      return whole ? undefined : 'too many items';
    },
    { timeoutMs, firstPauseMs: 50, growth: 2, signal: t.signal },
  );
  if (found === 'too many items') return t.note(`${collection} has too many items to look for a new one`);
  t.must(found === 'listed', {
    expected: `${id}, which was created, in ${collection}`,
    actual: `not among the ${listed} that are listed, ${Math.round(timeoutMs / 1000)} s later`,
  });
}
