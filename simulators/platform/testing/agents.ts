/** Two agents that are built differently, for the model of platform and agent: Muster's own, and one that keeps all it was told. */
import type { AgentDeployment, DeploymentReport } from '../../../harness/contract/agent.ts';
import { DeployError } from '../../device/ports.ts';
import { type DeploymentSource, Syncer } from '../../device/uplink/sync.ts';
import { ManualTime } from '../../device/uplink/testing/manual-time.ts';
import { MemoryDevice } from '../../device/uplink/testing/memory-device.ts';

/** What becomes of a deployment on the device: its description says it. */
export const OUTCOMES = ['works', 'works when healed', 'never works'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface TestAgent {
  /** Deployments on the device. */
  active(): string[];
  /** Rejects with what broke the sync. Throws TwoTargetsError when the platform left it with two targets. */
  sync(): Promise<void>;
  /** The process ends, and another one goes on with what is on the disk. */
  restart(): void;
  /** From now on everything but `never works` works, and no back-off is left. */
  heal(): void;
}

/** An agent was left with more than one deployment that it is to bring about. */
export class TwoTargetsError extends Error {
  override name = 'TwoTargetsError';
}

/** Muster's own: it acts on what the platform lists, and ends a deployment that can never work as `failed`. */
export function listingAgent(source: DeploymentSource): TestAgent {
  const device = new MemoryDevice();
  const time = new ManualTime();
  const never = new AbortController().signal;
  let healed = false;
  let syncer = new Syncer(device, source, time);
  device.beforeDeploy = ({ description }) => {
    if (description === 'never works') return new DeployError('it never works', false);
    return description === 'works' || healed ? undefined : new DeployError('not now', true);
  };
  return {
    active: () => device.active().map(({ id }) => id),
    sync: () => syncer.run(never),
    restart: () => {
      syncer = new Syncer(device, source, time);
    },
    heal: () => {
      healed = true;
      time.advance(86_400_000);
    },
  };
}

/** What it keeps on its disk of each deployment that it was told of. */
interface Known {
  target: AgentDeployment['target_status'];
  activity: 'queued' | 'deployed' | 'archived';
}

/**
 * As a published agent is built: it keeps every deployment that it was told of, changes only what it is told about, brings about
 * nothing while it has two targets, and retries for ever.
 */
export function keepingAgent(source: DeploymentSource): TestAgent {
  const known = new Map<string, Known>();
  const never = new AbortController().signal;
  let healed = false;
  const active = () => [...known].filter(([, { activity }]) => activity === 'deployed').map(([id]) => id);
  const report = (id: string, what: DeploymentReport) => source.report?.(id, what, never);
  const archive = async (id: string, of: Known): Promise<void> => {
    of.activity = 'archived';
    await report(id, { activity_status: 'archived' });
  };
  const works = ({ description }: AgentDeployment) =>
    description === 'works' || (description !== 'never works' && healed);
  const reach = async (wanted: AgentDeployment, of: Known): Promise<void> => {
    await source.contents(wanted.config_instances ?? [], never);
    if (!works(wanted)) return await report(wanted.id, { error_status: 'retrying' });
    for (const id of active()) await archive(id, known.get(id) as Known);
    of.activity = 'deployed';
    await report(wanted.id, { activity_status: 'deployed', error_status: 'none' });
  };
  return {
    active,
    restart: () => {},
    heal: () => {
      healed = true;
    },
    sync: async () => {
      const listed = await source.list(never);
      for (const { id, target_status } of listed) {
        known.set(id, { activity: 'queued', ...known.get(id), target: target_status });
      }
      const targets = [...known].filter(([, { target, activity }]) => target === 'deployed' && activity !== 'archived');
      if (targets.length > 1) throw new TwoTargetsError(targets.map(([id]) => id).join(' and '));
      for (const told of listed) {
        const of = known.get(told.id) as Known;
        if (of.activity === 'archived') await report(told.id, { activity_status: 'archived' });
        else if (of.target === 'archived') await archive(told.id, of);
        else if (of.activity === 'queued') await reach(told, of);
        else if (told.activity_status !== 'deployed') await report(told.id, { activity_status: 'deployed' });
      }
    },
  };
}
