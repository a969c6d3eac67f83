import type { CreateRelease } from '../../../harness/contract/platform/release.ts';
import { createRelease } from '../domain/releases.ts';
import { created, get } from '../http/answers.ts';
import type { Handlers } from '../http/call.ts';
import { list } from '../http/lists.ts';

export const releaseHandlers: Handlers = {
  listReleases: (call) => list(call, 'release'),
  getRelease: (call) => get(call, 'release'),
  createRelease: (call) => created(call, 'release', (core) => createRelease(core, call.body as CreateRelease)),
};
