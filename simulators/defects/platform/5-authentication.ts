import { hash } from 'node:crypto';
import type { KeyFacts } from '../../platform/behaviour.ts';
import { defect, errors, type PlatformChange, variant } from '../define-platform.ts';

/** Compares digests, because the platform stores no API key as text. */
const isKey = (text: string, key: KeyFacts): boolean =>
  'digest' in key && hash('sha256', text, 'hex') === String(key.digest);

const begins = (presented: string, key: KeyFacts): boolean =>
  Array.from(presented, (_, length) => presented.slice(0, length)).some((text) => isKey(text, key));

const recased = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => (letter > 'Z' ? letter.toUpperCase() : letter.toLowerCase()));

const open = (match: (operation: string) => boolean): PlatformChange => ({
  authenticate: (found, _presented, all, operation) => found ?? (match(operation) ? all[0] : undefined),
});

export const defects = [
  defect('key-by-prefix', 'Accepts any text that begins with a key.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented = '', all) => found ?? all.find((key) => begins(presented, key)),
  }),
  defect('key-in-any-case', 'Accepts a key whose letters are in the other case.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented = '', all) => found ?? all.find((key) => isKey(recased(presented), key)),
  }),
  defect('key-unchecked', 'Accepts any key.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented, all) => found ?? (presented === undefined ? undefined : all[0]),
  }),
  defect(
    'key-optional-for-tokens',
    'Issues provisioning tokens without a key.',
    ['platform.auth.key-required'],
    open((operation) => operation === 'createProvisioningToken'),
  ),
  defect('key-unchecked-for-releases', 'Creates a release with any key.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented, all, operation) =>
      found ?? (presented !== undefined && operation === 'createRelease' ? all[0] : undefined),
  }),
  defect(
    'key-optional-singly',
    'Serves single resources without a key.',
    ['platform.auth.key-required', 'platform.auth.key-wrong'],
    open((operation) => operation.startsWith('get')),
  ),
  defect('key-optional', 'Serves requests without a key.', ['platform.auth.key-required'], {
    authenticate: (found, presented, all) => found ?? (presented === undefined ? all[0] : undefined),
  }),
  defect('scope-ignored', 'Lets every key do everything.', ['platform.auth.scope'], { permits: () => true }),
];

export const variants = [
  variant(
    'unauthorized-404',
    'Answers 404 to a key that is missing or unknown.',
    errors(({ status }) => status === 401, { status: 404 }),
  ),
  variant(
    'unauthorized-403',
    'Answers 403 to a key that is missing or unknown.',
    errors(({ status }) => status === 401, { status: 403 }),
  ),
  variant(
    'scope-401',
    'Answers 401 where the key lacks a scope.',
    errors(({ code }) => code === 'missing_scope', { status: 401 }),
  ),
];
