/** Sequences of deployments while a device goes offline and its agent restarts. */

import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../../harness/common/defined.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
import { type EventFollower, type RollOut, rollOut, type System } from '../support/check.ts';

export interface OutageModel {
  online: boolean;
  /** Roll-outs in the order of creation. */
  rollOuts: RollOut[];
}

export interface OutageReality {
  t: System;
  events: EventFollower;
}

type Command = AsyncCommand<OutageModel, OutageReality>;

/** Command that a counterexample shows as `text`. */
const command = (text: string, check: Command['check'], run: Command['run']): Command => ({
  ...{ check, run },
  toString: () => text,
});

/** Deploys to the device, online or not. With `wait`, an online device has to receive it before the next command. */
const deploy = (wait: boolean): Command =>
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
const isOffline = ({ online }: Readonly<OutageModel>): boolean => !online;

const cut = command('cut the connection', isOnline, async (model, { t }) => {
  await t.offline();
  model.online = false;
});

const reconnect = command('restore the connection', isOffline, async (model, { t }) => {
  await t.online();
  model.online = true;
});

const restart = (signal: StopSignal): Command =>
  command(`stop the agent by ${signal} and start it`, isOnline, async (_model, { t }) => {
    await t.device.control.stop(signal);
    await t.device.control.start();
  });

const deployments = fc.boolean().map(deploy);
const restarts = fc.constantFrom('SIGTERM' as const, 'SIGKILL' as const).map(restart);

/** `canRestart`: the agent can be stopped and started. */
export const outageCommands = (canRestart: boolean, replayPath: string | undefined) =>
  fc.commands([deployments, deployments, fc.constant(cut), fc.constant(reconnect), ...(canRestart ? [restarts] : [])], {
    maxCommands: 10,
    ...defined({ replayPath }),
  });
