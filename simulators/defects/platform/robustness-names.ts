import type { Resource } from '../../platform/behaviour.ts';
import { defect, variant } from '../define-platform.ts';

const NAME_LENGTH = 24;

const unless = (holds: boolean, path: string, message: string) => (holds ? [] : [{ path, message }]);
const named = ({ name }: Resource) =>
  unless(String(name ?? '').length <= NAME_LENGTH, '/name', `is longer than ${NAME_LENGTH}`);

const REFUSED: Readonly<Record<string, (body: Resource) => ReturnType<typeof unless>>> = {
  createDevice: named,
  createGroup: named,
  createConfigType: (body) => [
    ...named(body),
    ...unless(/^[a-z0-9_]+$/.test(String(body['slug'])), '/slug', 'has dashes'),
  ],
  createRelease: ({ version }) => unless(/^v\d+\.\d+\.\d+$/.test(String(version)), '/version', 'is no vN.N.N'),
  createConfigSchema: ({ documents }) =>
    unless(JSON.stringify(documents).includes('$schema'), '/documents', 'name no dialect'),
};

export const defects = [
  defect('names-beyond-bmp-fail', 'Fails on a character beyond the basic plane.', ['platform.robust.names'], {
    readBody: (bytes, strict) => {
      if (/[\u{10000}-\u{10ffff}]/u.test(bytes.toString())) throw new TypeError('this takes more than three bytes');
      return strict(bytes);
    },
  }),
  defect('names-in-ascii', 'Writes a question mark for every character outside ASCII.', ['platform.robust.names'], {
    resource: (_kind, resource) =>
      typeof resource['name'] === 'string'
        ? { ...resource, name: resource['name'].replace(/[^\x20-\x7e]/g, '?') }
        : resource,
  }),
];

export const variants = [
  variant('names-in-ascii-only', 'Refuses a name that is not all ASCII.', ({ bodyProblems }) => ({
    bodyProblems: (operation, value, check) => {
      const { name = '' } = (value ?? {}) as { name?: unknown };
      return /^[\x20-\x7e]*$/.test(String(name))
        ? bodyProblems(operation, value, check)
        : [{ path: '/name', message: 'must be ASCII' }];
    },
  })),
  variant('names-twice', 'Allows duplicate names and slugs.', { allowsDuplicates: true }),
  variant(
    'config-names-strict',
    'Accepts only short names, slugs without dashes, versions of three numbers, and schemas that name their dialect.',
    ({ bodyProblems }) => ({
      bodyProblems: (operation, value, check) => {
        const problems = bodyProblems(operation, value, check);
        return problems.length > 0 ? problems : (REFUSED[operation]?.(value as Resource) ?? []);
      },
    }),
  ),
];
