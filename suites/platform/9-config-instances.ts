/** Section 9, 2026-05-06.rainier: content of format `yaml` in config instances. */

import { codenamesFrom } from '../../harness/contract/versions.ts';
import { byExploring, inCodename } from './oracle/checks.ts';
import { section } from './support/check.ts';

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
check(...byExploring(yamlBefore, { needs: ['write', 'tetons'], least: { requests: 1 }, part: 'yamlBefore' }));
