/** Draws random commands with which the exploration tests a device. */
import fc from 'fast-check';
import { PROMISED_FORMS } from '../../../harness/client/equivalent-forms.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  DEPLOYMENT_ERROR_STATUSES,
  DEPLOYMENT_TARGET_STATUSES,
} from '../../../harness/contract/enums.ts';
import {
  ACCEPTS,
  burstIntoReplay,
  CODINGS,
  type Command,
  cutAndComeBack,
  leave,
  type Opening,
  openExpired,
  openFuture,
  openStream,
  publishSome,
} from './commands.ts';
import { deploy, removeCurrent } from './deploying.ts';
import { compactLog } from './survival.ts';

const text = fc.oneof(
  fc.constantFrom('', 'a & b < c', 'größe 😀 日本', 'two\nlines', '\u2028', '99', '100'),
  fc.stringMatching(/^[a-z ]{1,20}$/),
);

const files = (paths: readonly string[]) =>
  fc
    .subarray([...paths], { minLength: 0 })
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map((filepath) =>
          fc.integer({ min: 100, max: 999 }).map((n) => ({ filepath, content: `{"version":${n}}` })),
        ),
      ),
    );

const wanted = (paths: readonly string[]): fc.Arbitrary<ControlDeployment> =>
  fc.record(
    {
      description: text,
      release_id: fc.stringMatching(/^rls_[a-z0-9]{12}$/),
      target_status: fc.constantFrom(...DEPLOYMENT_TARGET_STATUSES),
      activity_status: fc.constantFrom(...DEPLOYMENT_ACTIVITY_STATUSES),
      error_status: fc.constantFrom(...DEPLOYMENT_ERROR_STATUSES),
      config_instances: files(paths),
    },
    { requiredKeys: [] },
  );

const opening: fc.Arbitrary<Opening> = fc.record({
  back: fc.nat({ max: 20 }),
  way: fc.constantFrom('after', 'header', 'both', 'none'),
  other: fc.nat({ max: 20 }),
  types: fc.constantFrom('all', 'all', 'deployed', 'removed', 'both', 'near'),
  accept: fc.constantFrom(...ACCEPTS),
  coding: fc.constantFrom(...CODINGS),
  used: fc.boolean(),
  form: fc.constantFrom(undefined, ...PROMISED_FORMS),
});

export function anyCommand(paths: readonly string[]): fc.Arbitrary<Command> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 12 }).map(publishSome) },
    { weight: 6, arbitrary: opening.map(openStream) },
    { weight: 3, arbitrary: fc.nat({ max: 7 }).map(leave) },
    { weight: 2, arbitrary: fc.tuple(fc.nat({ max: 15 }), fc.nat({ max: 2500 })).map((all) => cutAndComeBack(...all)) },
    { weight: 4, arbitrary: wanted(paths).map(deploy) },
    { weight: 1, arbitrary: fc.constant(removeCurrent()) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 10, max: 60 }), fc.integer({ min: 1, max: 4 }))
        .map((all) => burstIntoReplay(...all)),
    },
    { weight: 1, arbitrary: fc.constantFrom(1n, 2n ** 32n, 2n ** 53n, 1_000_000n).map(openFuture) },
    { weight: 1, arbitrary: fc.constant(compactLog()) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 2, max: 6 }), fc.constantFrom('after', 'header', 'both'))
        .map(([back, way]) => openExpired(back, way)),
    },
  );
}
