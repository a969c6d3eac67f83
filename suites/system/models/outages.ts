/**
 * Deployments while a device goes offline and its agent restarts: what a client knows of both sides, and sequences of
 * that.
 */

import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../../harness/common/defined.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
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

/** `canRestart`: the agent can be stopped and started. */
export function outageCommands(canRestart: boolean, replayPath: string | undefined) {
  const deployments = fc.boolean().map((wait) => new Deploy(wait));
  const signals = fc.constantFrom('SIGTERM' as const, 'SIGKILL' as const);
  return fc.commands(
    [
      deployments,
      deployments,
      fc.constant(new Cut()),
      fc.constant(new Reconnect()),
      ...(canRestart ? [signals.map((signal) => new Restart(signal))] : []),
    ],
    { maxCommands: 10, ...defined({ replayPath }) },
  );
}

/** Deploys to the device, online or not. With `wait`, an online device has to receive it before the next command. */
class Deploy implements Command {
  readonly wait: boolean;

  constructor(wait: boolean) {
    this.wait = wait;
  }

  check(): boolean {
    return true;
  }

  async run(model: OutageModel, { t, events }: OutageReality): Promise<void> {
    const rolledOut = await rollOut(t);
    model.rollOuts.push(rolledOut);
    if (this.wait && model.online) await events.until('deployment.deployed', rolledOut.id);
  }

  toString(): string {
    return this.wait ? 'make a deployment and wait until the device has it' : 'make a deployment';
  }
}

/** The device loses its connection to the platform. */
class Cut implements Command {
  check({ online }: OutageModel): boolean {
    return online;
  }

  async run(model: OutageModel, { t }: OutageReality): Promise<void> {
    await t.offline();
    model.online = false;
  }

  toString(): string {
    return 'cut the connection';
  }
}

/** The device can reach the platform again. */
class Reconnect implements Command {
  check({ online }: OutageModel): boolean {
    return !online;
  }

  async run(model: OutageModel, { t }: OutageReality): Promise<void> {
    await t.online();
    model.online = true;
  }

  toString(): string {
    return 'restore the connection';
  }
}

/** The agent is stopped or killed, and starts again. */
class Restart implements Command {
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    this.signal = signal;
  }

  check({ online }: OutageModel): boolean {
    return online;
  }

  async run(_model: OutageModel, { t }: OutageReality): Promise<void> {
    await t.device.control.stop(this.signal);
    await t.device.control.start();
  }

  toString(): string {
    return `stop the agent by ${this.signal} and start it`;
  }
}
