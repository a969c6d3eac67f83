import type { Static, TObject } from 'typebox';
import { exact, oneOf, Timestamp, Type } from '../shape.ts';
import { type Operation, operationsOn, resource } from './operation.ts';

export const GIT_REPOSITORY_TYPES = ['github', 'gitlab', 'bitbucket'] as const;
export type GitRepositoryType = (typeof GIT_REPOSITORY_TYPES)[number];

/** `id` takes precedence over `sha`. */
export const gitCommitRef = exact({ id: Type.Optional(Type.String()), sha: Type.Optional(Type.String()) });
export type GitCommitRef = Static<typeof gitCommitRef>;

const fields = {
  object: Type.Literal('git_commit'),
  id: Type.String({ pattern: '^git_cmt_' }),
  sha: Type.String(),
  message: Type.String(),
  repository_owner: Type.String(),
  repository_name: Type.String(),
  repository_type: oneOf(GIT_REPOSITORY_TYPES),
  repository_url: Type.String(),
  commit_url: Type.String(),
  created_at: Timestamp,
};
export type GitCommit = Static<TObject<typeof fields>>;

export const gitCommitResource = resource('git_commit', 'git_cmt_', {
  fields: () => fields,
  filters: { id: {}, sha: {} },
});

const createBody = exact({
  sha: Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' }),
  message: Type.String({ maxLength: 65_536 }),
  origin: Type.String({ minLength: 1, maxLength: 1024, description: 'Address of the repository, HTTPS or SSH' }),
});
export type CreateGitCommit = Static<typeof createBody>;

const on = operationsOn(gitCommitResource, 'Git Commits');
export const gitCommitOperations: Operation[] = [
  on.list('listGitCommits', 'List git commits'),
  on.create('createGitCommit', 'Register a git commit', () => createBody),
  on.get('getGitCommit', 'Get a git commit'),
];
