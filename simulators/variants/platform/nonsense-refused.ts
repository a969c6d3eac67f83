import { PlatformError } from '../../platform/ports.ts';
import type { PlatformVariant } from './types.ts';

export const nonsenseRefused: PlatformVariant = {
  name: 'nonsense-refused',
  side: 'platform',
  summary: 'Refuses a limit or offset that is no integer.',
  behaviour: (right) => ({
    ...right,
    clampLimit: (values) => right.clampLimit(integers(values)),
    clampOffset: (values) => right.clampOffset(integers(values)),
  }),
};

function integers(values: readonly string[]): readonly string[] {
  if (values.every((value) => /^-?\d+$/.test(value))) return values;
  throw new PlatformError(400, 'invalid_parameter', 'limit and offset are integers');
}
