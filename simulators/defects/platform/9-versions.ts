import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { defect, variant } from '../define-platform.ts';

const SUPPORTED = ['platform.version.supported'];

export const defects = [
  defect('rainier-refused', 'Refuses a version that is supported.', SUPPORTED, ({ version }) => ({
    version: (header) => (header?.endsWith('.rainier') === true ? undefined : version(header)),
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
    version: (header) => (header === '2026-03-09.tetons' ? undefined : version(header)),
  })),
  defect(
    'version-omitted-fails',
    'Fails on a request without a version.',
    ['platform.version.omitted'],
    ({ version }) => ({
      version: (header) => {
        if (header === undefined) throw new TypeError('there is no version');
        return version(header);
      },
    }),
  ),
  defect(
    'end-of-life-served',
    'Serves a version that is no longer supported.',
    ['platform.version.end-of-life'],
    ({ version }) => ({
      version: (header) => (header === '2025-10-21.zion' ? version('2026-03-09.tetons') : version(header)),
    }),
  ),
  defect(
    'version-malformed-served',
    'Treats a malformed version header as the newest version.',
    ['platform.version.malformed'],
    ({ version }) => ({
      version: (header) =>
        header === undefined || /^\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(header)
          ? version(header)
          : version('2026-08-17.everglades'),
    }),
  ),
  defect(
    'version-unknown-served',
    'Serves versions that were never released as the newest one.',
    ['platform.version.unknown'],
    ({ version }) => ({
      version: (header) =>
        version(header) ??
        (header !== undefined && /^(?!2025)\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(header)
          ? version('2026-08-17.everglades')
          : undefined),
    }),
  ),
];

export const variants = [
  variant('version-optional', 'Serves requests without a version header in the newest version.', ({ version }) => ({
    version: (header) => version(header ?? NEWEST_VERSION),
  })),
];
