import type { PlatformBehaviour, Resource } from '../../platform/behaviour.ts';
import type { PlatformVariant } from './types.ts';

const NAME_LENGTH = 24;

export const configNamesStrict: PlatformVariant = {
  name: 'config-names-strict',
  side: 'platform',
  summary:
    'Takes short names, slugs without dashes, versions of three numbers and schemas that name their dialect alone.',
  behaviour: (right) => ({
    ...right,
    bodyProblems: strict(right),
  }),
};

const strict =
  (right: PlatformBehaviour): PlatformBehaviour['bodyProblems'] =>
  (operation, value, check) => {
    const problems = right.bodyProblems(operation, value, check);
    return problems.length > 0 ? problems : (REFUSED[operation]?.(value as Resource) ?? []);
  };

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
