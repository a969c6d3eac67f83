/** When the steps of a deployment happened on one robot: seen from outside, where its uplink and its device meet. */

import type { DeploymentPort } from '../../device/ports.ts';
import { monotonicMs } from '../schedule/scheduler.ts';

/** Milliseconds on the shared clock; 0: not yet. */
export interface DeploymentMoments {
  syncStarted: number;
  deployCalled: number;
  /** The files are in place and the event is in the log. */
  deployed: number;
  /** By the robot's first subscriber. */
  read: number;
  /** The platform has been told. */
  reported: number;
}

/** Deployments that are kept; a roll-out never waits for an older one. */
const REMEMBERED = 4;

export class MomentLog {
  #moments: Map<string, DeploymentMoments> | undefined;
  /** When the sync that runs, or ran last, began. */
  syncStarted = 0;

  /** Of a deployment that was not heard of yet: all 0. */
  of(deploymentId: string): DeploymentMoments {
    this.#moments ??= new Map();
    let moments = this.#moments.get(deploymentId);
    if (moments === undefined) {
      moments = { syncStarted: 0, deployCalled: 0, deployed: 0, read: 0, reported: 0 };
      this.#moments.set(deploymentId, moments);
      const [oldest] = this.#moments.keys();
      if (this.#moments.size > REMEMBERED && oldest !== undefined) this.#moments.delete(oldest);
    }
    return moments;
  }

  /** As `of`, but `undefined` for a deployment that was not heard of. */
  known(deploymentId: string): DeploymentMoments | undefined {
    return this.#moments?.get(deploymentId);
  }

  /** A sync has ended well: what was deployed has been reported. Yields the deployments for which that is new. */
  *reported(now: number): Generator<[string, DeploymentMoments]> {
    for (const [id, moments] of this.#moments ?? []) {
      if (moments.reported > 0 || moments.deployed === 0) continue;
      moments.reported = now;
      yield [id, moments];
    }
  }

  /** The same port, with its deployments noted. */
  watch(port: DeploymentPort): DeploymentPort {
    return {
      active: () => port.active(),
      get: (id) => port.get(id),
      remove: (id) => port.remove(id),
      fail: (wanted, error) => port.fail(wanted, error),
      remember: (release) => port.remember(release),
      deploy: async (wanted, files) => {
        const moments = this.of(wanted.id);
        moments.syncStarted ||= this.syncStarted;
        moments.deployCalled ||= monotonicMs();
        const result = await port.deploy(wanted, files);
        moments.deployed ||= monotonicMs();
        return result;
      },
    };
  }
}
