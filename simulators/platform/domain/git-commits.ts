import type {
  CreateGitCommit,
  GitCommitRef,
  GitRepositoryType,
} from '../../../harness/contract/platform/git-commit.ts';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';
import type { GitCommitRow } from '../store/rows.ts';
import { conflict, findRow, insert, invalid } from './find.ts';

const HOSTS: Record<string, { type: GitRepositoryType; commit: string }> = {
  'github.com': { type: 'github', commit: 'commit' },
  'gitlab.com': { type: 'gitlab', commit: '-/commit' },
  'bitbucket.org': { type: 'bitbucket', commit: 'commits' },
};

/** Registers a git commit. Throws PlatformError 400 for an unknown host, and 409 for a registered commit. */
export function createGitCommit(core: Core, { sha, message, origin }: CreateGitCommit): GitCommitRow {
  const { host, owner, name } = parseOrigin(origin);
  const { type, commit } = HOSTS[host] as (typeof HOSTS)[string];
  const url = `https://${host}/${owner}/${name}`;
  const lower = sha.toLowerCase();
  if (!core.behaviour.allowsDuplicates) {
    const known = core.store.collections.git_commit.where({ sha: lower }).find((row) => row.repository_url === url);
    if (known) throw conflict('git_commit_exists', `${lower} of ${url} is registered already`, { id: known.id });
  }
  return insert(core, 'git_commit', {
    sha: lower,
    message,
    repository_owner: owner,
    repository_name: name,
    repository_type: type,
    repository_url: url,
    commit_url: `${url}/${commit}/${lower}`,
    created_at: timestamp(core.clock),
  });
}

/** Finds a git commit by `id`, or else by `sha`. Throws PlatformError for an unknown commit. */
export function resolveGitCommit(core: Core, { id, sha }: GitCommitRef): GitCommitRow {
  if (id !== undefined) return findRow(core, 'git_commit', id);
  if (sha === undefined) throw invalid('invalid_reference', 'a git commit is referred to by id or sha');
  const row = core.store.collections.git_commit.first({ sha: sha.toLowerCase() });
  if (row !== undefined) return row;
  throw new PlatformError(404, 'git_commit_not_found', `there is no git commit ${JSON.stringify(sha.slice(0, 64))}`);
}

/** Parses the address of a repository, e.g. `https://host/owner/name.git` or `git@host:owner/name`. */
export function parseOrigin(origin: string): { host: string; owner: string; name: string } {
  const found = /^(?:(?:https?|ssh|git):\/\/(?:[^@/\s]+@)?([^:/\s]+)(?::\d+)?\/|(?:[^@/\s]+@)([^:/\s]+):)(\S+)$/.exec(
    origin,
  );
  const host = (found?.[1] ?? found?.[2] ?? '').toLowerCase();
  const parts = (found?.[3] ?? '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/');
  const name = parts.pop() ?? '';
  const owner = parts.join('/');
  if (!Object.hasOwn(HOSTS, host) || owner === '' || name === '') {
    const accepted = Object.keys(HOSTS);
    throw invalid('invalid_origin', `origin: accepted are repositories on ${accepted.join(', ')}`, { accepted });
  }
  return { host, owner, name };
}
