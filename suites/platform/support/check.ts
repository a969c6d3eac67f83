/** How a check of this suite is declared, and what it is given. */
import { checks } from '../../../harness/runner/define.ts';
import type { PlatformContext } from '../../../harness/targets/opened.ts';
import { boundedProperty } from './bounded-property.ts';
import { archiveMade } from './deployments.ts';
import { blockIfUndecided } from './unchanged.ts';

export type { Platform } from './context.ts';

const declare = checks<PlatformContext>();
type Declare = typeof declare;

/** The check that at least one collection answers with a list: where none does, no other check means anything. */
export const ANY_LIST = 'platform.list.envelope.any';

/**
 * Declares a check of one requirement. However it ends, it leaves no deployment behind that the platform lets it archive. A check that
 * was never decided because others kept writing ends as blocked.
 */
export const check: Declare = (requirement, options, run) => {
  const isFirst = `${requirement.id}.${options.aspect}` === ANY_LIST;
  const premises = isFirst ? [] : [ANY_LIST, ...(options.premises ?? [])];
  return declare(requirement, { ...options, premises }, async (t) => {
    try {
      await run({ ...t, property: boundedProperty(t) });
    } finally {
      await archiveMade(t);
    }
    blockIfUndecided(t);
  });
};
