/**
 * Deployments while a device goes offline and its agent restarts: what a client knows of both sides, and sequences of
 * that.
 */

import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../../harness/common/defined.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
import { always, command } from '../../commands.ts';
import { type EventFollower, type RollOut, rollOut, type System } from '../support/check.ts';

export interface OutageModel {
  online: boolean;
  /** In the order of creation. */
  rollOuts: RollOut[];
}

export interface OutageReality {
  t: System;
  events: EventFollower;
}

type Command = AsyncCommand<OutageModel, OutageReality>;

/** Deploys to the device, online or not. With `wait`, an online device has to receive it before the next command. */
const deploy = (wait: boolean): Command =>
  command(
    wait ? 'make a deployment and wait until the device has it' : 'make a deployment',
    always,
    async (model, { t, events }) => {
      const rolledOut = await rollOut(t);
      model.rollOuts.push(rolledOut);
      if (wait && model.online) await events.until('deployment.deployed', rolledOut.id);
    },
  );

const isOnline = ({ online }: Readonly<OutageModel>): boolean => online;
const isOffline = ({ online }: Readonly<OutageModel>): boolean => !online;

/** The device loses its connection to the platform. */
const cut = command<OutageModel, OutageReality>('cut the connection', isOnline, async (model, { t }) => {
  await t.offline();
  model.online = false;
});

/** The device can reach the platform again. */
const reconnect = command<OutageModel, OutageReality>('restore the connection', isOffline, async (model, { t }) => {
  await t.online();
  model.online = true;
});

/** The agent is stopped or killed, and starts again. */
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
