/** Events that suites and load ask for by number: deployments that come and go while the current one stays. */
import { type Clock, timestamp } from '../../common/clock.ts';
import type { EventDraft } from '../log/line.ts';
import { deployedEvent, removedEvent } from './payloads.ts';

/** `count` events for a log whose newest id is `latest`; each pair deploys and removes one deployment. */
export function fillerEvents(latest: number, count: number, clock: Clock): EventDraft[] {
  const now = timestamp(clock);
  return Array.from({ length: count }, (_, at) => {
    const pair = latest + at - (at % 2);
    const removed = at % 2 === 1;
    const activity = removed ? 'archived' : 'deployed';
    const deployment = {
      object: 'deployment',
      id: `dpl_filler${pair}`,
      description: '',
      status: activity,
      activity_status: activity,
      error_status: 'none',
      target_status: activity,
      device_id: '',
      release_id: `rls_filler${pair}`,
      created_at: now,
    } as const;
    return removed ? removedEvent(deployment, now) : deployedEvent(deployment, now);
  });
}
