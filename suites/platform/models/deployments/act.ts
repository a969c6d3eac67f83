import type { AsyncCommand } from 'fast-check';
import { act } from '../../support/kit.ts';
import { type DeploymentModel, type DeploymentReality, observe } from './model.ts';

/** An action on one of the deployments. Whether it is allowed is the platform's business; that nothing moves back is not. */
export class Act implements AsyncCommand<DeploymentModel, DeploymentReality> {
  readonly action: 'deploy' | 'archive';
  readonly which: number;

  constructor(action: 'deploy' | 'archive', which: number) {
    this.action = action;
    this.which = which;
  }

  check({ known }: DeploymentModel): boolean {
    return known.length > 0;
  }

  async run(model: DeploymentModel, real: DeploymentReality): Promise<void> {
    const deployment = model.known[this.which % model.known.length];
    if (deployment === undefined) return;
    const response = await act(real.t, deployment.id, this.action);
    real.t.should(response.status < 500, {
      expected: `2xx or 4xx to ${this.action} of a deployment`,
      actual: `${response.status} ${response.text.slice(0, 200)}`,
    });
    await observe(model, real);
  }

  toString(): string {
    return `${this.action}(#${this.which})`;
  }
}
