/** What the agent says of itself. */
import os from 'node:os';

export const AGENT_VERSION = 'v0.1.0';

export const health = () => ({ status: 'ok' });

export const version = () => ({
  version: AGENT_VERSION,
  git_commit: '0000000000000000000000000000000000000000',
  api_version: 'v0.2',
  api_git_commit: '0000000000000000000000000000000000000000',
  rust_version: `none (Node ${process.version})`,
  build_date: '2026-01-01T00:00:00Z',
  os: os.platform(),
  arch: os.arch(),
});
