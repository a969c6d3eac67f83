/** Sequences of what a client can do with the deployments of one device. */
import fc from 'fast-check';
import { Act } from './act.ts';
import { Create } from './create.ts';

export type { DeploymentModel, DeploymentReality } from './model.ts';

export const deploymentCommands = (replayPath: string | undefined) =>
  fc.commands(
    [
      fc
        .tuple(fc.constantFrom('staged' as const, 'deployed' as const), fc.nat({ max: 1 }))
        .map(([target, release]) => new Create(target, release)),
      fc.nat({ max: 5 }).map((which) => new Act('deploy', which)),
      fc.nat({ max: 5 }).map((which) => new Act('archive', which)),
    ],
    { maxCommands: 10, ...(replayPath === undefined ? {} : { replayPath }) },
  );
