import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import type { PlatformDefect } from './types.ts';

export const parentNullCreated: PlatformDefect = {
  name: 'parent-null-created',
  side: 'platform',
  summary: 'Refuses null where the device has a target deployment, and creates the deployment all the same.',
  breaks: ['platform.deployment.parent'],
  behaviour: (right) => ({
    ...right,
    ...refusedAfterwards(right),
  }),
};

function refusedAfterwards(right: PlatformBehaviour): Pick<PlatformBehaviour, 'parentHolds' | 'answer'> {
  let held = true;
  return {
    parentHolds: (given, current, version) => {
      held = right.parentHolds(given, current, version);
      return held || given === null;
    },
    answer: (operation, answer) =>
      operation !== 'createDeployment' || held
        ? answer
        : right.error({ status: 409, code: 'parent_mismatch', params: {}, message: 'the device has a target' }),
  };
}
