import type { CreateConfigInstance, InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';
import { DISPOSITIONS } from '../../../harness/contract/platform/config-instance.ts';
import { newConfigInstance } from '../domain/config-instances.ts';
import { contentOf } from '../domain/content.ts';
import { find, invalid } from '../domain/find.ts';
import { type Answered, type Call, created, get, type Handlers, param } from '../http/call.ts';
import { list } from '../http/lists.ts';
import { valuesOf } from '../http/query.ts';

const MEDIA_TYPES: Record<InstanceFormat, string> = {
  json: 'application/json',
  yaml: 'application/yaml',
  jsonc: 'application/jsonc',
  xml: 'application/xml',
  text: 'text/plain; charset=utf-8',
};

export const configInstanceHandlers: Handlers = {
  listConfigInstances: (call) => list(call, 'config_instance'),
  getConfigInstance: (call) => get(call, 'config_instance'),
  createConfigInstance: async (call) =>
    created(
      call,
      'config_instance',
      await newConfigInstance(call.core, call.body as CreateConfigInstance, call.version),
    ),
  getConfigInstanceContent: download,
};

function download(call: Call): Answered {
  const disposition = valuesOf(call.query, 'disposition')[0] ?? 'inline';
  if (!(DISPOSITIONS as readonly string[]).includes(disposition)) {
    throw invalid('invalid_parameter', `disposition: accepted are ${DISPOSITIONS.join(' and ')}`, {
      accepted: DISPOSITIONS,
    });
  }
  const row = find(call.core, 'config_instance', param(call, 'config_instance_id'));
  const name = (row.filepath.split('/').pop() ?? row.id).replace(/[^\w.-]/g, '_');
  return {
    bytes: contentOf(call.core, row.id),
    headers: {
      'content-type': MEDIA_TYPES[row.content_format],
      'content-disposition': `${disposition}; filename="${name}"`,
    },
  };
}
