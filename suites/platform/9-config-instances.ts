/** Section 9, 2026-05-06.rainier: the content format `yaml`. */

import type { HttpResponse } from '../../harness/client/http.ts';
import { codenamesFrom } from '../../harness/contract/versions.ts';
import { requirement } from '../../harness/runner/define.ts';
import { Blocked, NotApplicable } from '../../harness/runner/violation.ts';
import { createConfigType, created, unique } from './support/create.ts';
import { createSchema } from './support/kit.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion, ok, refused, said, send } from './support/send.ts';

const YAML = requirement({
  id: 'platform.config-instance.yaml',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'From 2026-05-06.rainier on config instances may have content of format yaml.',
});

interface Posted {
  response: HttpResponse;
  data: string;
}
type Format = 'json' | 'yaml';

async function post(t: Platform, format: Format, schemaFormat: Format = 'json'): Promise<Posted> {
  const type = await createConfigType(t);
  const schema = await createSchema(t, type.id, {
    filepath: `/srv/configs/${unique('config')}.${format}`,
    instanceFormat: format,
    format: schemaFormat,
  });
  const marked = unique('content');
  const data = format === 'json' ? JSON.stringify({ speed: 1, marked }) : `# rates\nspeed: 1\nmarked: ${marked}\n`;
  const body = { config_schema_id: schema.id, content: { format, data } };
  return { response: await send(t, { method: 'POST', path: '/config_instances', body }), data };
}

const yaml = codenamesFrom('rainier').map((codename) =>
  check(
    YAML,
    { needs: ['write', codename], writes: true, sharing: 'exclusive', aspect: codename },
    async (run: Platform) => {
      const t: Platform = inVersion(run, codename);
      const control = await post(t, 'json');
      if (!ok(control.response)) t.blocked(`set-up: an instance in JSON was answered with ${said(control.response)}`);
      const { response, data } = await postYaml(t);
      const instance = created(response);
      t.must(instance !== undefined, {
        expected: `a config instance with content of format yaml to be created in ${t.apiVersion}`,
        actual: said(response),
      });
      const { content } = await read(t, 'config_instances', instance.id, ['content']);
      if (typeof content !== 'object' || content === null) return;
      const { format, data: kept } = content as { format?: unknown; data?: unknown };
      t.must(format === undefined || format === 'yaml', { expected: 'format yaml, as it was sent', actual: format });
      t.should(kept === data, { expected: `the content as it was sent: ${JSON.stringify(data)}`, actual: kept });
    },
  ),
);

/** Before `instance_format` a platform may take the format of instances from that of their schema: refused, YAML gets one in YAML. */
async function postYaml(t: Platform): Promise<Posted> {
  const first = await post(t, 'yaml');
  if (!refused(first.response)) return first;
  const second = await post(t, 'yaml', 'yaml').catch((error: unknown) => {
    if (error instanceof Blocked || error instanceof NotApplicable) return undefined;
    throw error;
  });
  return second !== undefined && ok(second.response) ? second : first;
}

const EARLIER = requirement({
  id: 'platform.config-instance.yaml-before',
  level: 'INFO',
  section: '9',
  since: '2026-11-21',
  text: 'What 2026-03-09.tetons, which knows no yaml content, answers to it is recorded.',
});
const before = check(
  EARLIER,
  { needs: ['write', 'tetons'], writes: true, sharing: 'exclusive' },
  async (run: Platform) => {
    const { response } = await post(inVersion(run, 'tetons'), 'yaml');
    run.note(
      `yaml content in 2026-03-09.tetons: ${refused(response) ? 'refused' : 'answered'} with ${response.status}`,
    );
  },
);

export const configInstanceChecks = [...yaml, before];
