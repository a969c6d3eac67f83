/** Section 9, 2026-05-06.rainier: whether a config instance may have content of format `yaml`. */

import type { HttpResponse } from '../../harness/client/http.ts';
import { uniqueName } from '../../harness/common/names.ts';
import { codenamesFrom } from '../../harness/contract/versions.ts';
import { byExploring, inCodename } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType, createSchema } from './support/create.ts';
import { inVersion, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const yaml = requirement({
  id: 'platform.config-instance.yaml',
  level: 'MUST',
  clause: '`yaml` content format for config instances',
  text: 'From 2026-05-06.rainier on, config instances may have content of format yaml.',
});
for (const codename of codenamesFrom('rainier'))
  check(
    ...byExploring(yaml, {
      ...{ aspect: codename, needs: ['write', codename], makes: 'config_instance' },
      isMeant: inCodename(codename),
    }),
  );

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
