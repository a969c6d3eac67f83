/** The content of config instances: kept byte for byte, checked against the schema where its language can be. */
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';

/** Throws PlatformError 404 when there is none. */
export function contentOf(core: Core, configInstanceId: string): Uint8Array {
  const row = core.store.database
    .prepare('SELECT data FROM config_contents WHERE config_instance_id = ?')
    .get(configInstanceId);
  if (row === undefined) throw new PlatformError(404, 'not_found', `no content is held for ${configInstanceId}`);
  return row['data'] as Uint8Array;
}

/** To be called in the write that creates the instance. */
export function storeContent(core: Core, configInstanceId: string, data: string): void {
  core.store.database
    .prepare('INSERT INTO config_contents (config_instance_id, data) VALUES (?, ?)')
    .run(configInstanceId, Buffer.from(data, 'utf8'));
}
