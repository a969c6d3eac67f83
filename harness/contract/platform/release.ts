import type { Static, TObject } from 'typebox';
import { exact, nullable, Timestamp, Type } from '../shape.ts';
import { gitCommitRef } from './git-commit.ts';
import { type Operation, operationsOn, printable, resource } from './operation.ts';

const fields = {
  object: Type.Literal('release'),
  id: Type.String({ pattern: '^rls_' }),
  version: Type.String(),
  git_commit_id: nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
};
export type Release = Static<TObject<typeof fields>>;

export const releaseResource = resource('release', 'rls_', {
  fields: () => fields,
  expansions: { config_schemas: { kind: 'config_schema', many: true } },
  filters: { id: {}, version: {} },
});

const createBody = exact({
  version: printable(128, 'The version of the release, unique'),
  config_schema_ids: Type.Array(Type.String(), { maxItems: 1000 }),
  git_commit_ref: Type.Optional(gitCommitRef),
});
export type CreateRelease = Static<typeof createBody>;

const on = operationsOn(releaseResource, 'Releases');
export const releaseOperations: Operation[] = [
  on.list('listReleases', 'List releases'),
  on.create('createRelease', 'Create a release', () => createBody),
  on.get('getRelease', 'Get a release'),
];
