/** Follows roll-outs from the POST on the platform to the event read on the robot, and splits the duration into legs. */
import type { Recorder } from '../measure/metrics.ts';
import type { DeploymentTiming } from '../robot/deployment-timings.ts';
import type { Robot } from '../robot/robot.ts';
import type { Deadlines } from '../schedule/scheduler.ts';
import type { LateRollout, RolloutRow } from './host.ts';
import type { RolloutState } from './states.ts';

interface Pending {
  robot: Robot;
  deploymentId: string;
  /** Intended time of the POST. */
  posted: number;
  record: Recorder;
  row: RolloutRow;
  settle(): void;
}

export class Rollouts {
  readonly #reports: boolean;
  readonly #pending = new Map<string, Pending>();
  /** Those that were missed: an event that comes late tells them from one that never comes. */
  readonly #missed = new Map<string, Pending>();
  #late: LateRollout[] = [];
  /** How each robot stands with the newest roll-out to it. */
  readonly states = new Map<number, RolloutState>();

  /** `reports`: whether robots report to the platform; a polling uplink cannot. */
  constructor({ reports }: { reports: boolean }) {
    this.#reports = reports;
  }

  /**
   * Fills in the row. Resolves when the robot's first subscriber has read the event and the platform has the robot's report, or at
   * `deadline` (shared clock).
   */
  async follow(options: Omit<Pending, 'settle'> & { deadline: number; deadlines: Deadlines }): Promise<void> {
    const key = options.deploymentId;
    const wait = options.deadlines.at(options.deadline);
    this.#pending.set(key, { ...options, settle: wait.finish });
    // The robot may have been faster than the answer to the POST.
    this.progress(key, options.robot.timings.of(key));
    await wait.promise;
    const ended = this.#pending.get(key);
    this.#pending.delete(key);
    if (ended !== undefined && ended.row.total_ms === null) this.#missed.set(key, ended);
  }

  /** The roll-outs that arrived late since the last call. */
  takeLate(): LateRollout[] {
    const late = this.#late;
    this.#late = [];
    return late;
  }

  /** Call when a step of the deployment has happened. */
  progress(deploymentId: string, timing: DeploymentTiming): void {
    if (timing.read === 0) return;
    this.#arrivedLate(deploymentId, timing);
    const pending = this.#pending.get(deploymentId);
    if (pending === undefined) return;
    const { row, record, posted } = pending;
    if (row.total_ms === null) {
      const event = timing.deployed === 0 ? timing.read : timing.deployed;
      this.states.set(row.robot, 'reached');
      row.total_ms = timing.read - posted;
      row.command_ms = timing.syncStarted - posted;
      row.sync_ms = timing.deployCalled - timing.syncStarted;
      row.write_ms = event - timing.deployCalled;
      row.event_ms = timing.read - event;
      record.time('rollout.ms', row.total_ms);
      record.time('rollout.command.ms', row.command_ms);
      record.time('rollout.sync.ms', row.sync_ms);
      record.time('rollout.write.ms', row.write_ms);
      record.time('rollout.event.ms', row.event_ms);
    }
    if (this.#reports) {
      if (timing.reported === 0) return;
      row.report_ms = timing.reported - timing.read;
      record.time('rollout.report.ms', row.report_ms);
    }
    pending.settle();
  }

  #arrivedLate(deploymentId: string, { read }: DeploymentTiming): void {
    const missed = this.#missed.get(deploymentId);
    if (missed === undefined) return;
    this.#missed.delete(deploymentId);
    missed.row.late_ms = read - missed.posted;
    missed.record.time('rollout.late.ms', missed.row.late_ms);
    this.#late.push({ deployment_id: deploymentId, late_ms: missed.row.late_ms });
  }
}
