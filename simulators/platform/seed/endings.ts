/** The newest deployments of a seeded device. A workspace of a dozen devices shows every state that a deployment can have. */
import type { Random } from '../../common/random.ts';
import type { DeploymentRow } from '../store/rows.ts';
import { at } from './vocabulary.ts';

export type Draft = Omit<DeploymentRow, 'seq' | 'id'>;

/** A seeded deployment, and what it is to its device at the end. */
export interface Part {
  draft: Draft;
  current: boolean;
  target: boolean;
}

export interface Scene {
  /** A draft that was queued at `queued` and deployed at `deployed`, with these changes. */
  draft(changes: Partial<Draft>): Draft;
  queued: string;
  deployed: string;
  queue: { readonly queued: number; nextInQueue(): number };
}

const ENDINGS = ['deployed', 'removing', 'staged', 'retrying', 'failed', 'drifted', 'queued'] as const;
type Ending = (typeof ENDINGS)[number];
/** How often each occurs, of 100, once all have. */
const SHARES: Record<Ending, number> = {
  deployed: 62,
  removing: 8,
  staged: 8,
  retrying: 4,
  failed: 4,
  drifted: 7,
  queued: 7,
};

/** `turn` counts the devices with a history: the first ones take the endings in turn. */
export function endingFor(turn: number, dice: Random): Ending {
  const taken = ENDINGS[turn];
  if (taken !== undefined) return taken;
  let left = dice.next() * 100;
  for (const ending of ENDINGS) {
    left -= SHARES[ending];
    if (left < 0) return ending;
  }
  return 'deployed';
}

const AFTERWARDS = 6 * 3_600_000;
const BEFOREHAND = 1_800_000;

/** The deployments that lead to `ending`. */
export function present(ending: Ending, { draft, queued, deployed, queue }: Scene): Part[] {
  const later = at(Date.parse(deployed) + AFTERWARDS);
  const next = { created_at: later, updated_at: later, deployed_at: null } as const;
  const live = {
    activity_status: 'deployed',
    target_status: 'deployed',
    deployed_at: deployed,
    updated_at: deployed,
  } as const;
  const onDevice: Part = { draft: draft(live), current: true, target: true };
  const waiting = { activity_status: 'queued', target_status: 'deployed' } as const;
  const staged = { activity_status: 'staged', target_status: 'staged', queued_at: null, queue_order: null } as const;
  switch (ending) {
    case 'deployed':
      return [onDevice];
    case 'queued':
      return [{ draft: draft(waiting), current: false, target: true }];
    case 'retrying':
      return [{ draft: draft({ ...waiting, error_status: 'retrying' }), current: false, target: true }];
    case 'failed':
      return [
        {
          draft: draft({ error_status: 'failed', archived_at: later, updated_at: later }),
          current: false,
          target: false,
        },
      ];
    case 'removing': {
      // Replaced while the device was offline: the old one is removed when the new one arrives.
      const leaving = draft({ ...live, activity_status: 'removing', target_status: 'archived', updated_at: later });
      const coming = draft({
        ...waiting,
        ...next,
        queued_at: later,
        queue_before: queue.queued,
        queue_order: queue.nextInQueue(),
      });
      return [
        { draft: leaving, current: true, target: false },
        { draft: coming, current: false, target: true },
      ];
    }
    case 'staged': {
      const ready = draft({ ...staged, ...next, queue_before: queue.queued });
      return [onDevice, { draft: ready, current: false, target: false }];
    }
    case 'drifted': {
      // Staged first, but the other one was deployed before it.
      const earlier = at(Date.parse(queued) - BEFOREHAND);
      const drifted = draft({ ...staged, activity_status: 'drifted', created_at: earlier, updated_at: queued });
      return [{ draft: drifted, current: false, target: false }, onDevice];
    }
  }
}
