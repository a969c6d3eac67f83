/** Section 3: platform and device agree after random deployments and outages. */
import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../harness/common/defined.ts';
import type { StopSignal } from '../../harness/contract/control.ts';
import { describeCommands } from '../../harness/runner/property.ts';
import {
  deploy,
  EventFollower,
  onlineAfterwards,
  type RollOut,
  rollOut,
  type System,
  section,
  untilActivity,
  untilCurrent,
  untilReplaced,
} from './support/check.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '3', since: '2026-11-21' });

/** Requirement until 2026-11-25, because the specification does not say that a replaced deployment is archived. */
const soak = requirement({
  id: 'system.soak',
  until: '2026-11-25',
  text:
    'After any sequence of deployments, outages and restarts, platform and device agree: ' +
    'the newest deployment is current, all others are archived, and each was deployed at most once.',
});
const agreement = requirement({
  id: 'system.agreement',
  since: '2026-11-25',
  text:
    'After any sequence of deployments, outages and restarts, platform and device agree: ' +
    'the newest deployment is current, no other one waits for the device, and each was deployed at most once.',
});
for (const either of [soak, agreement])
  check(
    either,
    { needs: ['write'], sharing: 'disruptive', premises: ['system.deploy', 'system.newer', 'system.offline'] },
    async (t: System) => {
      if (t.follows) t.notApplicable('single roll-outs fail already, which explains any disagreement after several');
      await t.property(
        outageCommands(t),
        async (commands) => {
          await using events = await EventFollower.open(t);
          // The follower needs the id of a first event as cursor, to reconnect without loss.
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
    await untilReplaced(t, id, last.id);
    const times = events.count('deployment.deployed', id);
    const expected = `${id} to be deployed at most once`;
    t.must(times <= 1, { expected, actual: `${times} events deployment.deployed` });
  }
}

interface OutageModel {
  online: boolean;
  rollOuts: RollOut[];
}

type Command = AsyncCommand<OutageModel, { t: System; events: EventFollower }>;

const command = (text: string, isPossible: Command['check'], run: Command['run']): Command => ({
  check: isPossible,
  run,
  toString: () => text,
});

const makeDeployment = (wait: boolean): Command =>
  command(
    wait ? 'make a deployment and wait until the device has it' : 'make a deployment',
    () => true,
    async (model, { t, events }) => {
      const rolledOut = await rollOut(t);
      model.rollOuts.push(rolledOut);
      if (wait && model.online) await events.until('deployment.deployed', rolledOut.id);
    },
  );

const isOnline = ({ online }: Readonly<OutageModel>): boolean => online;

const cut = command('cut the connection', isOnline, async (model, { t }) => {
  await t.offline();
  model.online = false;
});

const isOffline = ({ online }: Readonly<OutageModel>): boolean => !online;

const reconnect = command('restore the connection', isOffline, async (model, { t }) => {
  await t.online();
  model.online = true;
});

const restart = (signal: StopSignal): Command =>
  command(`stop the agent by ${signal} and start it`, isOnline, async (_model, { t }) => {
    await t.device.control.stop(signal);
    await t.device.control.start();
  });

const deployments = fc.boolean().map(makeDeployment);
const restarts = fc.constantFrom('SIGTERM' as const, 'SIGKILL' as const).map(restart);

function outageCommands({ device: { capabilities }, replayPath }: System) {
  const always = [deployments, deployments, fc.constant(cut), fc.constant(reconnect)];
  const all = capabilities.has('restart') ? [...always, restarts] : always;
  return fc.commands(all, { maxCommands: 10, ...defined({ replayPath }) });
}
