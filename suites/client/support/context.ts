/** What every check of this suite is given. */
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { ClientContext } from '../../../harness/targets/opened.ts';

export type Client = ClientContext & CheckContext;
