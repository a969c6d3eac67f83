/** Section 3: whatever befalls the device, both sides agree in the end. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { type SystemModel, systemCommands } from './models/index.ts';
import { Follower } from './support/events.ts';
import { current, rollOut, shownAs } from './support/roll-out.ts';
import { check, type System } from './support/system.ts';

const SOAK = requirement({
  id: 'system.soak',
  level: 'SHOULD',
  section: '3',
  since: '2026-11-21',
  text: 'After any sequence of deployments, cuts and restarts platform and device agree: the newest deployment is current, all others are archived, and each was deployed at most once.',
});
const soak = check(SOAK, { needs: ['write'], writes: true, sharing: 'disruptive' }, async (t: System) => {
  await t.property(
    systemCommands(t.device.capabilities.has('restart'), t.replayPath),
    async (commands) => {
      await t.online();
      await using events = await Follower.open(t);
      // Without a cursor a stream that is opened again would leave out what happened in between.
      const first = await rollOut(t);
      await events.until('deployment.deployed', first.id);
      const model: SystemModel = { online: true, made: [first] };
      try {
        await fc.asyncModelRun(() => ({ model, real: { t, events } }), commands);
      } finally {
        await t.online();
      }
      const last = await rollOut(t);
      await events.until('deployment.deployed', last.id);
      await current(t, last.id);
      await shownAs(t, last.id, 'deployed');
      for (const { id } of model.made) {
        await shownAs(t, id, 'archived');
        const times = events.count('deployment.deployed', id);
        t.must(times <= 1, {
          expected: `${id} to be deployed once at most`,
          actual: `${times} events deployment.deployed`,
        });
      }
    },
    { runs: 4 },
  );
});

export const soakChecks = [soak];
