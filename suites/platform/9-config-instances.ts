/** Section 9, 2026-05-06.rainier: whether a config instance may have content of format `yaml`. */

import type { HttpResponse } from '../../harness/client/http.ts';
import { uniqueName } from '../../harness/common/names.ts';
import { codenamesFrom } from '../../harness/contract/versions.ts';
import { Blocked, NotApplicable, TooLittleSeen } from '../../harness/runner/violation.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType, createdItem, createSchema } from './support/create.ts';
import { readItem } from './support/lists.ts';
import { describeResponse, inVersion, ok, refused, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const yaml = requirement({
  id: 'platform.config-instance.yaml',
  level: 'MUST',
  clause: '`yaml` content format for config instances',
  text: 'From 2026-05-06.rainier on, config instances may have content of format yaml.',
});
for (const codename of codenamesFrom('rainier'))
  check(yaml, { needs: ['write', codename], aspect: codename }, async (t: Platform) => {
    const versioned = inVersion(t, codename);
    const json = await postInstance(versioned, 'json');
    if (!ok(json.response))
      t.blocked(`set-up: an instance in JSON was answered with ${describeResponse(json.response)}`);
    const { response, data } = await postYamlInstance(versioned);
    const instance = createdItem(response);
    t.must(instance !== undefined, {
      expected: `a config instance with content of format yaml to be created in ${versioned.apiVersion}`,
      actual: describeResponse(response),
    });
    const { content } = await readItem(versioned, 'config_instances', instance.id, ['content']);
    if (typeof content !== 'object' || content === null) return;
    const { format, data: kept } = content as { format?: unknown; data?: unknown };
    t.must(format === undefined || format === 'yaml', { expected: 'format yaml, as it was sent', actual: format });
    t.should(kept === data, { expected: `the content as it was sent: ${JSON.stringify(data)}`, actual: kept });
  });

const yamlBefore = requirement({
  id: 'platform.config-instance.yaml-before',
  level: 'INFO',
  clause: '`yaml` content format for config instances',
  text: 'The answer of 2026-03-09.tetons to yaml content, which it does not have, is recorded.',
});
check(yamlBefore, { needs: ['write', 'tetons'] }, async (t: Platform) => {
  const { response } = await postInstance(inVersion(t, 'tetons'), 'yaml');
  t.observe('yaml content in 2026-03-09.tetons', response.status);
});

interface Posted {
  response: HttpResponse;
  /** The content that was sent. */
  data: string;
}
type Format = 'json' | 'yaml';

async function postInstance(t: Platform, format: Format, schemaFormat: Format = 'json'): Promise<Posted> {
  const type = await createConfigType(t);
  const schema = await createSchema(t, type.id, {
    filepath: `/srv/configs/${uniqueName('config')}.${format}`,
    instanceFormat: format,
    format: schemaFormat,
  });
  const marked = uniqueName('content');
  const data = format === 'json' ? JSON.stringify({ speed: 1, marked }) : `# rates\nspeed: 1\nmarked: ${marked}\n`;
  const body = { config_schema_id: schema.id, content: { format, data } };
  return { response: await send(t, { method: 'POST', path: '/config_instances', body }), data };
}

/**
 * Versions without `instance_format` may take the format of instances from their schema: if YAML is refused for a
 * schema in JSON, it is sent again for a schema in YAML.
 */
async function postYamlInstance(t: Platform): Promise<Posted> {
  const first = await postInstance(t, 'yaml');
  if (!refused(first.response)) return first;
  const second = await postInstance(t, 'yaml', 'yaml').catch((error: unknown) => {
    if ([Blocked, NotApplicable, TooLittleSeen].some((kind) => error instanceof kind)) return undefined;
    throw error;
  });
  return second !== undefined && ok(second.response) ? second : first;
}
