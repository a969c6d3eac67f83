/** Sections 2.1, 2.2 and 9: fields, types and statuses of deployments. */
import type { Judge, Sighting } from '../../harness/runner/rules.ts';
import { byExploring } from './oracle/checks.ts';
import { resourcesIn } from './support/answers.ts';
import { section } from './support/check.ts';
import { inAnswers } from './watched/judged.ts';

export const { requirement, check, rule, checks } = section({ section: '2.2', since: '2026-11-21' });

const shape = requirement({
  id: 'platform.deployment.shape',
  level: 'MUST',
  section: '2.1',
  clause:
    'Deployment identifier (prefix `dpl_`). … Device identifier (prefix `dvc_`). … Release identifier (prefix `rls_`).',
  text:
    'Every deployment that is listed has the fields of section 2.1, with their types, prefixes, ' +
    'enumerations and date-times.',
});
check(...byExploring(shape, { profile: 'core' }));

rule(shape, { premises: [shape.id] }, inAnswers(shape.id));

const merge = requirement({
  id: 'platform.deployment.merge',
  level: 'MUST',
  clause:
    '`status` equals `error_status` when an error is present (`failed` or `retrying`); ' +
    'when `error_status` is `none`, `status` equals `activity_status`.',
  text: 'status equals error_status if that is failed or retrying, and activity_status otherwise.',
});
check(...byExploring(merge, { profile: 'core' }));

rule(merge, { premises: [merge.id] }, inAnswers(merge.id));

const same = requirement({
  id: 'platform.deployment.same',
  level: 'MUST',
  section: '2.1',
  since: '2026-11-25',
  clause: 'Device identifier (prefix `dvc_`). … Release identifier (prefix `rls_`). … Creation timestamp.',
  text:
    'A deployment has one device, one release and one creation timestamp: in a list, read alone, expanded in another ' +
    'resource, as it was created, and in every version.',
});
const FIXED = ['device_id', 'release_id', 'created_at'] as const;
const differing = (before: Fixed, now: Fixed): (typeof FIXED)[number] | undefined =>
  FIXED.find((name) => {
    const [left, right] = [before[name], now[name]];
    if (typeof left !== 'string' || typeof right !== 'string' || left === right) return false;
    // Ignores differences below one second, because a version may show timestamps in whole seconds.
    return name !== 'created_at' || Math.abs(Date.parse(left) - Date.parse(right)) >= 1000;
  });
type Fixed = Readonly<Record<string, unknown>>;

check(...byExploring(same, { premises: [shape.id] }));

rule(same, { premises: [same.id] }, () => {
  const known = new Map<string, Sighting & Fixed>();
  return (seen, judge: Judge) => {
    for (const shown of resourcesIn(seen).filter(({ object }) => object === 'deployment')) {
      const here = judge.saw(() => JSON.stringify(shown));
      const before = known.get(shown.id);
      if (before === undefined) {
        if (known.size < MOST_KNOWN) known.set(shown.id, { ...here, ...fixedOf(shown) });
        continue;
      }
      const field = differing(before, shown);
      judge.agrees(field === undefined, before, {
        expected: `the ${field} of ${shown.id} that it had before: ${before[field ?? '']}`,
        actual: `${field} ${shown[field ?? '']}`,
        counterexample: shown.id,
      });
    }
  };
});
/** Maximum number of deployments that the rule remembers for comparison. */
const MOST_KNOWN = 2000;
const fixedOf = ({ device_id, release_id, created_at }: Fixed): Fixed => ({ device_id, release_id, created_at });

const failed = requirement({
  id: 'platform.deployment.failed',
  level: 'SHOULD',
  clause:
    '`failed` = a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device.',
  text: 'A deployment that failed is archived or being removed.',
});
check(...byExploring(failed));

export const removing = requirement({
  id: 'platform.deployment.removing',
  level: 'MUST',
  section: '9',
  clause: 'the `removing` deployment status is restored',
  text: 'A client of 2026-03-09.tetons never sees the status removing, which 2026-05-06.rainier restored.',
});
check(...byExploring(removing, { needs: ['tetons', 'rainier'] }));

const alike = requirement({
  id: 'platform.deployment.alike',
  level: 'MUST',
  section: '9',
  since: '2026-11-25',
  clause: 'the `removing` deployment status is restored',
  text: 'A deployment has the same activity_status in every version, but for removing, which 2026-03-09.tetons lacks.',
});
check(...byExploring(alike, { premises: [shape.id] }));
