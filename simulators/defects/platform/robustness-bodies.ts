import { defect, errors, variant } from '../define-platform.ts';

const BODIES = ['platform.robust.bodies'];

export const defects = [
  defect(
    'bad-json-fails',
    'Fails on a body that is not JSON.',
    BODIES,
    errors(({ code }) => code === 'invalid_json', { status: 500 }),
  ),
  defect('bodies-half-read', 'Reads bodies leniently: duplicate names, bytes that are not UTF-8.', BODIES, {
    readBody: (bytes, strict) => {
      try {
        return JSON.parse(bytes.toString('utf8'));
      } catch {
        return strict(bytes);
      }
    },
  }),
  defect('types-unchecked', 'Stores values of any type.', ['platform.robust.bodies', 'platform.group.tree'], {
    bodyProblems: () => [],
  }),
  defect(
    'large-body-fails',
    'Fails on a body that is too large.',
    BODIES,
    errors(({ status }) => status === 413, { status: 500 }),
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
