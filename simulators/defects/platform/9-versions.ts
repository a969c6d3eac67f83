import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { defect, variant } from '../define-platform.ts';

const SUPPORTED = ['platform.version.supported'];

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
  defect(
    'end-of-life-served',
    'Serves a version that is no longer supported.',
    ['platform.version.end-of-life'],
    ({ version }) => ({
      version: (header, operation) =>
        header === '2025-10-21.zion' ? version('2026-03-09.tetons', operation) : version(header, operation),
    }),
  ),
  defect(
    'end-of-life-served-to-writers',
    'Carries out writes in a version that is no longer supported.',
    ['platform.version.end-of-life'],
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
];

export const variants = [
  variant('version-optional', 'Serves requests without a version header in the newest version.', ({ version }) => ({
    version: (header, operation) => version(header ?? NEWEST_VERSION, operation),
  })),
];
