/** When the steps of a deployment happened on one robot, observed between its uplink and its device. */
import type { DeploymentPort } from '../../device/ports.ts';
import { monotonicMs } from '../schedule/scheduler.ts';

/** Milliseconds on the shared clock; 0 until the step has happened. */
export interface DeploymentTiming {
  syncStarted: number;
  deployCalled: number;
  /** The files are in place and the event is in the log. */
  deployed: number;
  /** The robot's first subscriber has read the event. */
  read: number;
  /** The platform has the robot's report. */
  reported: number;
}

/** Deployments whose timing is kept; a roll-out never waits for an older one. */
const KEPT = 4;

export class DeploymentTimings {
  #timings: Map<string, DeploymentTiming> | undefined;
  /** When the current or latest sync began. */
  syncStarted = 0;

  /** The timing of a deployment, created with all steps at 0 when it is not known yet. */
  of(deploymentId: string): DeploymentTiming {
    this.#timings ??= new Map();
    let timing = this.#timings.get(deploymentId);
    if (timing === undefined) {
      timing = { syncStarted: 0, deployCalled: 0, deployed: 0, read: 0, reported: 0 };
      this.#timings.set(deploymentId, timing);
      const [oldest] = this.#timings.keys();
      if (this.#timings.size > KEPT && oldest !== undefined) this.#timings.delete(oldest);
    }
    return timing;
  }

  /** The timing of a deployment, or `undefined` when it is not known. */
  known(deploymentId: string): DeploymentTiming | undefined {
    return this.#timings?.get(deploymentId);
  }

  /** A sync succeeded, which reports all deployments so far. Yields those that it reported first. */
  *reported(now: number): Generator<[string, DeploymentTiming]> {
    for (const [id, timing] of this.#timings ?? []) {
      if (timing.reported > 0 || timing.deployed === 0) continue;
      timing.reported = now;
      yield [id, timing];
    }
  }

  /** The same port, which notes when deployments start and end. */
  watch(port: DeploymentPort): DeploymentPort {
    return {
      active: () => port.active(),
      get: (id) => port.get(id),
      remove: (id) => port.remove(id),
      fail: (wanted, error) => port.fail(wanted, error),
      remember: (release) => port.remember(release),
      deploy: async (wanted, files) => {
        const timing = this.of(wanted.id);
        timing.syncStarted ||= this.syncStarted;
        timing.deployCalled ||= monotonicMs();
        const result = await port.deploy(wanted, files);
        timing.deployed ||= monotonicMs();
        return result;
      },
    };
  }
}
