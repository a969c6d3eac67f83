import type { CreateConfigSchema, OlderCreateConfigSchema } from '../../../harness/contract/platform/config-schema.ts';
import { atLeast } from '../../../harness/contract/versions.ts';
import { createConfigSchema } from '../domain/config-schemas.ts';
import { type Call, created, get, type Handlers } from '../http/call.ts';
import { list } from '../http/lists.ts';
import { slotsOf } from '../versions/rainier.ts';

export const configSchemaHandlers: Handlers = {
  listConfigSchemas: (call) => list(call, 'config_schema'),
  getConfigSchema: (call) => get(call, 'config_schema'),
  createConfigSchema: (call) =>
    created(call, 'config_schema', (core) => createConfigSchema(core, requested(call), call.version)),
};

/** The request in the newest vocabulary. */
function requested({ body, version }: Call): CreateConfigSchema {
  if (atLeast(version, 'everglades')) return body as CreateConfigSchema;
  const { instance_filepath, ...rest } = body as OlderCreateConfigSchema;
  const slots = slotsOf(instance_filepath);
  return { ...rest, ...(slots && { instance_slots: slots }) };
}
