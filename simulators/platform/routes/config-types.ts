import type { CreateConfigType, UpdateConfigType } from '../../../harness/contract/platform/config-type.ts';
import { createConfigType, updateConfigType } from '../domain/config-types.ts';
import { created, get, shown } from '../http/answers.ts';
import { type Handlers, param } from '../http/call.ts';
import { list } from '../http/lists.ts';

export const configTypeHandlers: Handlers = {
  listConfigTypes: (call) => list(call, 'config_type'),
  getConfigType: (call) => get(call, 'config_type'),
  createConfigType: (call) =>
    created(call, 'config_type', (core) => createConfigType(core, call.body as CreateConfigType)),
  updateConfigType: (call) =>
    shown(call, 'config_type', (core) =>
      updateConfigType(core, param(call, 'config_type_id'), call.body as UpdateConfigType, call.version),
    ),
};
