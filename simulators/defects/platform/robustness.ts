import { defect, errors, variant } from '../define-platform.ts';

export const defects = [
  defect(
    'bad-json-fails',
    'Fails on a body that is not JSON.',
    ['platform.robust.bodies'],
    errors(({ code }) => code === 'invalid_json', { status: 500 }),
  ),
  defect(
    'bodies-half-read',
    'Reads bodies leniently: duplicate names, bytes that are not UTF-8.',
    ['platform.robust.bodies'],
    {
      readBody: (bytes, strict) => {
        try {
          return JSON.parse(bytes.toString('utf8'));
        } catch {
          return strict(bytes);
        }
      },
    },
  ),
  defect('types-unchecked', 'Stores values of any type.', ['platform.robust.bodies'], {
    bodyProblems: () => [],
  }),
  defect(
    'large-body-fails',
    'Fails on a body that is too large.',
    ['platform.robust.bodies'],
    errors(({ status }) => status === 413, { status: 500 }),
  ),
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

export const variants = [
  variant(
    'unprocessable-422',
    'Answers 422 to a well-formed but invalid body.',
    errors(({ code }) => code.startsWith('invalid_'), { status: 422 }),
  ),
  variant('errors-as-problem-details', 'Describes errors as RFC 9457 does.', {
    error: ({ status, code, message }) => ({ status, body: { type: `urn:problem:${code}`, title: message, status } }),
  }),
  variant('errors-without-body', 'Answers errors with a status alone.', {
    error: ({ status }) => ({ status, body: null }),
  }),
];
