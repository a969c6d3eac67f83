/** Releases: a version of the software together with the config schemas it needs. */
import Type, { type Static } from 'typebox';
import { Timestamp } from '../shape.ts';
import { gitCommitRef } from './git-commit.ts';
import { body, nullable, type Operation, printable, type Resource } from './operation.ts';

const fields = {
  object: Type.Literal('release'),
  id: Type.String({ pattern: '^rls_' }),
  version: Type.String(),
  git_commit_id: nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
};
const schema = Type.Object(fields);
export type Release = Static<typeof schema>;

export const releaseResource: Resource = {
  kind: 'release',
  name: 'Release',
  collection: 'releases',
  prefix: 'rls_',
  fields: () => fields,
  expansions: { config_schemas: { kind: 'config_schema', many: true } },
  filters: { id: {}, version: {} },
  orders: {},
};

const createBody = body({
  version: printable(128, 'The version of the release, unique'),
  config_schema_ids: Type.Array(Type.String(), { maxItems: 1000 }),
  git_commit_ref: Type.Optional(gitCommitRef),
});
export type CreateRelease = Static<typeof createBody>;

const tag = 'Releases';
export const releaseOperations: Operation[] = [
  {
    id: 'listReleases',
    method: 'GET',
    path: '/releases',
    summary: 'List releases',
    tag,
    scopes: ['releases:read'],
    kind: 'release',
    list: true,
  },
  {
    id: 'createRelease',
    method: 'POST',
    path: '/releases',
    summary: 'Create a release',
    tag,
    scopes: ['releases:write'],
    kind: 'release',
    body: () => createBody,
  },
  {
    id: 'getRelease',
    method: 'GET',
    path: '/releases/{release_id}',
    summary: 'Get a release',
    tag,
    scopes: ['releases:read'],
    kind: 'release',
  },
];
