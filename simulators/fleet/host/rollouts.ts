/** Follows roll-outs from the POST on the platform to the event read on the robot, and splits the time in legs. */

import type { Recorder } from '../measure/metrics.ts';
import type { DeploymentMoments } from '../robot/deployment-timings.ts';
import type { Robot } from '../robot/robot.ts';
import type { Waits } from './deadlines.ts';
import type { RolloutRow } from './host.ts';

interface Pending {
  robot: Robot;
  deploymentId: string;
  /** Intended moment of the POST. */
  posted: number;
  record: Recorder;
  row: RolloutRow;
  settle(): void;
}

export class Rollouts {
  readonly #reports: boolean;
  readonly #pending = new Map<string, Pending>();

  /** `reports`: whether robots tell the platform what they did; a polling uplink has no way to. */
  constructor({ reports }: { reports: boolean }) {
    this.#reports = reports;
  }

  /**
   * Resolves when the robot's first subscriber has read the event and the platform has been told, or after `deadline`
   * (shared clock); the row then says how far it came.
   */
  async follow(options: Omit<Pending, 'settle'> & { deadline: number; waits: Waits }): Promise<void> {
    const key = options.deploymentId;
    const wait = options.waits.for(options.deadline);
    this.#pending.set(key, { ...options, settle: wait.finish });
    // The robot may have been faster than the answer to the POST.
    this.progress(key, options.robot.moments.of(key));
    await wait.promise;
    this.#pending.delete(key);
  }

  progress(deploymentId: string, moments: DeploymentMoments): void {
    const pending = this.#pending.get(deploymentId);
    if (pending === undefined || moments.read === 0) return;
    const { row, record, posted } = pending;
    if (row.total_ms === null) {
      const event = moments.deployed === 0 ? moments.read : moments.deployed;
      row.total_ms = moments.read - posted;
      row.command_ms = moments.syncStarted - posted;
      row.sync_ms = moments.deployCalled - moments.syncStarted;
      row.write_ms = event - moments.deployCalled;
      row.event_ms = moments.read - event;
      record.time('rollout.ms', row.total_ms);
      record.time('rollout.command.ms', row.command_ms);
      record.time('rollout.sync.ms', row.sync_ms);
      record.time('rollout.write.ms', row.write_ms);
      record.time('rollout.event.ms', row.event_ms);
    }
    if (this.#reports) {
      if (moments.reported === 0) return;
      row.report_ms = moments.reported - moments.read;
      record.time('rollout.report.ms', row.report_ms);
    }
    pending.settle();
  }
}
