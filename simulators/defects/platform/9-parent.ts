import type { PlatformBehaviour } from '../../platform/behaviour.ts';
import { defect, errors, variant } from '../define-platform.ts';

const PARENT = ['platform.deployment.parent'];

function refusesAfterwards({ parentHolds, error }: PlatformBehaviour): Partial<PlatformBehaviour> {
  let held = true;
  return {
    parentHolds: (given, current, version) => {
      held = parentHolds(given, current, version);
      return held || given === null;
    },
    answer: (operation, answer) =>
      operation !== 'createDeployment' || held
        ? answer
        : error({ status: 409, code: 'parent_mismatch', params: {}, message: 'the device has a target' }),
  };
}

export const defects = [
  defect('parent-ignored', 'Never looks at parent_id.', PARENT, { parentHolds: () => true }),
  defect(
    'parent-null-refused',
    'Refuses null although the device has no target deployment.',
    PARENT,
    ({ parentHolds }) => ({
      parentHolds: (given, current, version) => given !== null && parentHolds(given, current, version),
    }),
  ),
  defect('two-targets', 'Keeps the target deployment of a device beside the one that replaces it.', PARENT, {
    replaces: false,
  }),
  defect('parent-omitted-refused', 'Creates no deployment without parent_id.', PARENT, ({ parentHolds }) => ({
    parentHolds: (given, current, version) => given !== undefined && parentHolds(given, current, version),
  })),
  defect(
    'parent-null-created',
    'Refuses null where the device has a target deployment, but creates the deployment anyway.',
    PARENT,
    refusesAfterwards,
  ),
  defect('parent-id-refused', 'Refuses the id of the current target deployment.', PARENT, ({ parentHolds }) => ({
    parentHolds: (given, current, version) => typeof given !== 'string' && parentHolds(given, current, version),
  })),
  defect('parent-omitted-is-null', 'Treats an omitted parent_id as null.', PARENT, ({ parentHolds }) => ({
    parentHolds: (given, current, version) => parentHolds(given ?? null, current, version),
  })),
];

export const variants = [
  variant(
    'conflict-400',
    'Answers 400 where the reference answers 409.',
    errors(({ status }) => status === 409, { status: 400 }),
  ),
  variant('parent-id-informational', 'Accepts any deployment id as parent_id.', ({ parentHolds }) => ({
    parentHolds: (given, current, version) => typeof given === 'string' || parentHolds(given, current, version),
  })),
];
