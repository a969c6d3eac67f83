import type { AsyncCommand } from 'fast-check';
import { created } from '../../support/create.ts';
import { type DeploymentRequest, postDeployment } from '../../support/kit.ts';
import type { Platform } from '../../support/platform.ts';
import { type DeploymentModel, type DeploymentReality, observe } from './model.ts';

/** A new deployment for the device. The platform may refuse it; what it creates starts at the target that was asked for. */
export class Create implements AsyncCommand<DeploymentModel, DeploymentReality> {
  readonly target: DeploymentRequest['target'];
  readonly release: number;

  constructor(target: DeploymentRequest['target'], release: number) {
    this.target = target;
    this.release = release;
  }

  check(): boolean {
    return true;
  }

  async run(model: DeploymentModel, real: DeploymentReality): Promise<void> {
    const { device, kits } = real;
    const t: Platform = real.t;
    const kit = kits[this.release % kits.length];
    if (kit === undefined) return;
    const deployment = created(await postDeployment(t, kit, { device, target: this.target }));
    if (deployment !== undefined) {
      t.should(deployment['target_status'] === this.target, {
        expected: `target_status ${this.target}, as the deployment was created`,
        actual: deployment['target_status'],
      });
      model.known.push(deployment);
    }
    await observe(model, real);
  }

  toString(): string {
    return `create(${this.target}, release ${this.release})`;
  }
}
