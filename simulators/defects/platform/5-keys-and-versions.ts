import { hash } from 'node:crypto';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { KeyFacts, PlatformBehaviour } from '../../platform/behaviour.ts';
import { defect, errors, variant } from '../define-platform.ts';

const SUPPORTED = ['platform.version.supported'];
const END_OF_LIFE = ['platform.version.end-of-life'];

/** Compares digests, because the platform stores no API key as text. */
const isKey = (text: string, key: KeyFacts): boolean =>
  'digest' in key && hash('sha256', text, 'hex') === String(key.digest);

const begins = (presented: string, key: KeyFacts): boolean =>
  Array.from(presented, (_, length) => presented.slice(0, length)).some((text) => isKey(text, key));

const recased = (text: string): string =>
  text.replaceAll(/[a-z]/gi, (letter) => (letter > 'Z' ? letter.toUpperCase() : letter.toLowerCase()));

const open =
  (match: (operation: string) => boolean): PlatformBehaviour['authenticate'] =>
  (found, _presented, all, operation) =>
    found ?? (match(operation) ? all[0] : undefined);

const unauthorizedAs = (status: number) => errors((facts) => facts.status === 401, status);

const KEY_REQUIRED = ['platform.auth.key-required'];

export const defects = [
  defect('rainier-refused', 'Refuses a version that is supported.', SUPPORTED, ({ version }) => ({
    version: (header, operation) => (header?.endsWith('.rainier') === true ? undefined : version(header, operation)),
  })),
  defect(
    'newest-fails',
    'Fails to list git commits to clients of the newest version.',
    ['platform.version.supported', 'platform.list.envelope'],
    {
      resource: (kind, resource, version) => {
        if (kind === 'git_commit' && version === NEWEST_VERSION) throw new Error('nobody knows how to show this yet');
        return resource;
      },
    },
  ),
  defect('rainier-fails', 'Fails to show anything to clients of rainier.', SUPPORTED, {
    resource: (_kind, resource, version) => {
      if (version === '2026-05-06.rainier') throw new Error('nobody knows how to show this any more');
      return resource;
    },
  }),
  defect('version-refused', 'Refuses a version that it says it supports.', SUPPORTED, ({ version }) => ({
    version: (header, operation) => (header === '2026-03-09.tetons' ? undefined : version(header, operation)),
  })),
  defect(
    'version-omitted-fails',
    'Fails on a request without a version.',
    ['platform.version.omitted'],
    ({ version }) => ({
      version: (header, operation) => {
        if (header === undefined) throw new TypeError('there is no version');
        return version(header, operation);
      },
    }),
  ),
  defect('end-of-life-served', 'Serves a version that is no longer supported.', END_OF_LIFE, ({ version }) => ({
    version: (header, operation) =>
      header === '2025-10-21.zion' ? version('2026-03-09.tetons', operation) : version(header, operation),
  })),
  defect(
    'end-of-life-served-to-writers',
    'Carries out writes in a version that is no longer supported.',
    END_OF_LIFE,
    ({ version }) => ({
      version: (header, operation) =>
        header === '2025-10-21.zion' && operation.startsWith('create')
          ? version('2026-03-09.tetons', operation)
          : version(header, operation),
    }),
  ),
  defect(
    'version-fails-singly',
    'Fails to show one release to clients of an older version.',
    SUPPORTED,
    ({ version }) => ({
      version: (header, operation) => {
        if (operation === 'getRelease' && header === '2026-03-09.tetons') throw new TypeError('there is no such field');
        return version(header, operation);
      },
    }),
  ),
  defect(
    'version-malformed-served',
    'Treats a malformed version header as the newest version.',
    ['platform.version.malformed'],
    ({ version }) => ({
      version: (header, operation) =>
        header === undefined || /^\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(header)
          ? version(header, operation)
          : version('2026-08-17.everglades', operation),
    }),
  ),
  defect(
    'version-unknown-served',
    'Serves versions that were never released as the newest one.',
    ['platform.version.unknown'],
    ({ version }) => ({
      version: (header, operation) =>
        version(header, operation) ??
        (header !== undefined && /^(?!2025)\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(header)
          ? version('2026-08-17.everglades', operation)
          : undefined),
    }),
  ),
  defect('key-by-prefix', 'Accepts any text that begins with a key.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented = '', all) => found ?? all.find((key) => begins(presented, key)),
  }),
  defect('key-in-any-case', 'Accepts a key whose letters are in the other case.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented = '', all) => found ?? all.find((key) => isKey(recased(presented), key)),
  }),
  defect('key-unchecked', 'Accepts any key.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented, all) => found ?? (presented === undefined ? undefined : all[0]),
  }),
  defect('key-optional-for-tokens', 'Issues provisioning tokens without a key.', KEY_REQUIRED, {
    authenticate: open((operation) => operation === 'createProvisioningToken'),
  }),
  defect('key-optional-for-deploy', 'Deploys a staged deployment without a key.', KEY_REQUIRED, {
    authenticate: open((operation) => operation === 'deployDeployment'),
  }),
  defect('key-unchecked-for-releases', 'Creates a release with any key.', ['platform.auth.key-wrong'], {
    authenticate: (found, presented, all, operation) =>
      found ?? (presented !== undefined && operation === 'createRelease' ? all[0] : undefined),
  }),
  defect(
    'key-optional-singly',
    'Serves single resources without a key.',
    ['platform.auth.key-required', 'platform.auth.key-wrong'],
    { authenticate: open((operation) => operation.startsWith('get')) },
  ),
  defect('key-optional', 'Serves requests without a key.', KEY_REQUIRED, {
    authenticate: (found, presented, all) => found ?? (presented === undefined ? all[0] : undefined),
  }),
  defect('scope-ignored', 'Lets every key do everything.', ['platform.auth.scope'], { permits: () => true }),
];

export const variants = [
  variant('version-optional', 'Serves requests without a version header in the newest version.', ({ version }) => ({
    version: (header, operation) => version(header ?? NEWEST_VERSION, operation),
  })),
  variant('unauthorized-404', 'Answers 404 to a key that is missing or unknown.', unauthorizedAs(404)),
  variant('unauthorized-403', 'Answers 403 to a key that is missing or unknown.', unauthorizedAs(403)),
  variant(
    'scope-401',
    'Answers 401 where the key lacks a scope.',
    errors(({ code }) => code === 'missing_scope', 401),
  ),
];
