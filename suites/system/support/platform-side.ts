/** Everything that the system suite takes from the platform suite: how the platform is read, written to and pinged. */
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { SystemContext } from '../../../harness/targets/opened.ts';

export type { HttpResponse } from '../../../harness/client/http.ts';

import type { Platform } from '../../platform/support/context.ts';

export { boundedProperty } from '../../platform/support/bounded-property.ts';
export { createdItem, uniqueName } from '../../platform/support/create.ts';
export { actOn, archiveMade, tryDeployment } from '../../platform/support/deployments.ts';
export { type Item, readItem } from '../../platform/support/lists.ts';
export { type Pace, paces } from '../../platform/support/pace.ts';
export { blockIfForbidden, ping, pingCode, SECOND_NANOS } from '../../platform/support/ping.ts';
export { createReleaseFixture, type ReleaseFixture, type ReleaseOptions } from '../../platform/support/releases.ts';
export { ok, summary } from '../../platform/support/requests.ts';

/** The platform of this system, as the checks of the platform suite see it. */
export function platformSide(t: SystemContext & CheckContext): Platform {
  return { ...t, ...t.platform };
}
