import { defect, errors, variant } from '../define-platform.ts';

export const defects = [
  defect(
    'unknown-id-fails',
    'Fails on an id that does not exist.',
    ['platform.robust.references'],
    errors(({ code }) => code.endsWith('_not_found'), { status: 500 }),
  ),
  defect(
    'unknown-id-empty',
    'Answers 200 with an empty object for an id that does not exist.',
    ['platform.robust.references'],
    ({ error }) => ({
      error: (facts) => (facts.code.endsWith('_not_found') ? { status: 200, body: {} } : error(facts)),
    }),
  ),
];

export const variants = [
  variant(
    'unknown-id-403',
    'Answers 403 for ids that do not exist, so that nobody learns which do.',
    errors(({ code }) => code.endsWith('_not_found'), { status: 403 }),
  ),
];
