import type { CreateGitCommit } from '../../../harness/contract/platform/git-commit.ts';
import { createGitCommit } from '../domain/git-commits.ts';
import { created, get } from '../http/answers.ts';
import type { Handlers } from '../http/call.ts';
import { list } from '../http/lists.ts';

export const gitCommitHandlers: Handlers = {
  listGitCommits: (call) => list(call, 'git_commit'),
  getGitCommit: (call) => get(call, 'git_commit'),
  createGitCommit: (call) => created(call, 'git_commit', (core) => createGitCommit(core, call.body as CreateGitCommit)),
};
