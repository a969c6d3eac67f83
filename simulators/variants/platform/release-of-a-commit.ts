import type { PlatformVariant } from './types.ts';

export const releaseOfACommit: PlatformVariant = {
  name: 'release-of-a-commit',
  side: 'platform',
  summary: 'Creates no release without the commit that it was made of.',
  behaviour: (right) => ({
    ...right,
    bodyProblems: (operation, value, check) => {
      const problems = right.bodyProblems(operation, value, check);
      if (operation !== 'createRelease' || (value as { git_commit_ref?: unknown }).git_commit_ref !== undefined) {
        return problems;
      }
      return [...problems, { path: '/git_commit_ref', message: 'is needed' }];
    },
  }),
};
