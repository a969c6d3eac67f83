import { errors, variant } from '../define-platform.ts';

export const variants = [
  variant(
    'unknown-id-403',
    'Answers 403 for ids that do not exist, so that nobody learns which do.',
    errors(({ code }) => code.endsWith('_not_found'), { status: 403 }),
  ),
];
