import type { CreateRelease } from '../../../harness/contract/platform/release.ts';
import type { Core } from '../core.ts';
import type { ConfigSchemaRow, ReleaseRow } from '../store/rows.ts';
import { slotsOfSchema } from './config-schemas.ts';
import { conflict, createdNow, find, insert, invalid, refuseTaken } from './find.ts';
import { resolveGitCommit } from './git-commits.ts';

/** Throws PlatformError 409 if the version is taken, or two schemas write to one path. */
export function createRelease(core: Core, { version, config_schema_ids, git_commit_ref }: CreateRelease): ReleaseRow {
  refuseTaken(core, 'release', { version }, `there is a release ${JSON.stringify(version)}`);
  if (new Set(config_schema_ids).size < config_schema_ids.length) {
    throw invalid('invalid_request', 'config_schema_ids: each config schema may be named once');
  }
  const commit = git_commit_ref && resolveGitCommit(core, git_commit_ref);
  refuseSharedPaths(config_schema_ids.map((id) => find(core, 'config_schema', id)));
  return insert(core, 'release', {
    version,
    git_commit_id: commit?.id ?? null,
    config_schema_ids: JSON.stringify(config_schema_ids),
    ...createdNow(core),
  });
}

function refuseSharedPaths(schemas: readonly ConfigSchemaRow[]): void {
  const owner = new Map<string, string>();
  for (const schema of schemas) {
    for (const { filepath } of slotsOfSchema(schema)) {
      const other = owner.get(filepath);
      if (other !== undefined) {
        throw conflict('duplicate_filepath', `${other} and ${schema.id} both write to ${filepath}`, { filepath });
      }
      owner.set(filepath, schema.id);
    }
  }
}
