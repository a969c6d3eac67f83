import { defect, errors } from '../define-platform.ts';

export const defects = [
  defect('unknown-path-served', 'Answers 200 at paths that do not exist.', ['platform.robust.routes'], ({ error }) => ({
    error: (facts) => (facts.code === 'unknown_route' ? { status: 200, body: {} } : error(facts)),
  })),
  defect(
    'wrong-method-fails',
    'Fails on a method that a path does not have.',
    ['platform.robust.routes'],
    errors(({ status }) => status === 405, { status: 500 }),
  ),
];
