/** Section 3: agreement of platform and device after any sequence of deployments, outages and restarts. */
import fc from 'fast-check';
import { describeCommands } from '../../harness/runner/property.ts';
import { type OutageModel, outageCommands } from './models/outages.ts';
import {
  deploy,
  EventFollower,
  onlineAfterwards,
  type System,
  section,
  untilActivity,
  untilCurrent,
} from './support/check.ts';

export const { requirement, check, checks } = section({ section: '3', since: '2026-11-21' });

const agreement = requirement({
  id: 'system.soak',
  level: 'SHOULD',
  text:
    'After any sequence of deployments, outages and restarts, platform and device agree: ' +
    'the newest deployment is current, all others are archived, and each was deployed at most once.',
});
check(
  agreement,
  { needs: ['write'], sharing: 'disruptive', premises: ['system.deploy', 'system.newer', 'system.offline'] },
  async (t: System) => {
    await t.property(
      outageCommands(t.device.capabilities.has('restart'), t.replayPath),
      async (commands) => {
        await t.online();
        await using events = await EventFollower.open(t);
        // The follower needs a cursor from a first event, or it would miss what happens while it reconnects.
        const first = await deploy(t, events);
        const model: OutageModel = { online: true, rollOuts: [first] };
        await onlineAfterwards(t, () => fc.asyncModelRun(() => ({ model, real: { t, events } }), commands));
        await mustAgree(t, events, model);
      },
      { runs: 4, describe: describeCommands },
    );
  },
);

async function mustAgree(t: System, events: EventFollower, { rollOuts }: OutageModel): Promise<void> {
  const last = await deploy(t, events);
  await untilCurrent(t, last.id);
  await untilActivity(t, last.id, 'deployed');
  for (const { id } of rollOuts) {
    await untilActivity(t, id, 'archived');
    const times = events.count('deployment.deployed', id);
    t.must(times <= 1, {
      expected: `${id} to be deployed at most once`,
      actual: `${times} events deployment.deployed`,
    });
  }
}
