/** Sections 2, 3, 8 and 9: deployments, and values, filters and orders that agree in all answers and versions. */
import { instantOf } from '../../harness/contract/shape.ts';
import type { Judge, Sighting } from '../../harness/runner/rules.ts';
import { KEY } from '../watched.ts';
import { byExploring } from './oracle/checks.ts';
import { UNCHANGING } from './oracle/kinds.ts';
import { section } from './support/check.ts';
import { resourcesIn } from './support/lists.ts';
import { inAnswers } from './watched/judged.ts';

export const { requirement, check, rule, checks } = section({ level: 'MUST', section: '9', since: '2026-11-21' });

const shape = requirement({
  id: 'platform.deployment.shape',
  section: '2.1',
  clause:
    'Deployment identifier (prefix `dpl_`). … Device identifier (prefix `dvc_`). … Release identifier (prefix `rls_`).',
  text:
    'Every deployment that is listed has the fields of section 2.1, with their types, prefixes, ' +
    'enumerations and date-times.',
});
check(...byExploring(shape, { profile: 'core' }));
rule(shape, { premises: [shape.id], traffic: 'a deployment' }, inAnswers(shape.id));

const merge = requirement({
  id: 'platform.deployment.merge',
  section: '2.2',
  clause:
    '`status` equals `error_status` when an error is present (`failed` or `retrying`); ' +
    'when `error_status` is `none`, `status` equals `activity_status`.',
  text: 'status equals error_status if that is failed or retrying, and activity_status otherwise.',
});
check(...byExploring(merge, { profile: 'core' }));
rule(merge, { premises: [merge.id], traffic: 'a deployment with its statuses' }, inAnswers(merge.id));

const sameEverywhere = requirement({
  id: 'platform.deployment.same',
  section: '2.1',
  since: '2026-11-25',
  clause: 'Device identifier (prefix `dvc_`). … Release identifier (prefix `rls_`). … Creation timestamp.',
  text:
    'A deployment has one device, one release and one creation timestamp: in a list, read alone, expanded in another ' +
    'resource, as it was created, and in every version.',
});
check(...byExploring(sameEverywhere, { premises: [shape.id] }));
rule(sameEverywhere, { premises: [sameEverywhere.id], traffic: 'a deployment that is shown twice' }, () => {
  const known = new Map<string, Sighting & Readonly<Record<string, unknown>>>();
  return (seen, judge: Judge) => {
    // Keeps deployments of different accounts apart, because two accounts may use the same id.
    const { headers = {} } = (seen.kind === 'answer' && seen.request) || {};
    const account = headers[KEY] ?? headers['authorization'];
    for (const shown of resourcesIn(seen).filter(({ object }) => object === 'deployment')) {
      const here = judge.saw(() => JSON.stringify(shown));
      const before = known.get(`${account} ${shown.id}`);
      if (before === undefined) {
        const fixed = Object.fromEntries(UNCHANGING.map((name) => [name, shown[name]]));
        if (known.size < 2000) known.set(`${account} ${shown.id}`, { ...here, ...fixed });
        continue;
      }
      const field = UNCHANGING.find((name) => {
        const [left, right] = [before[name], shown[name]];
        if (typeof left !== 'string' || typeof right !== 'string' || left === right) return false;
        // A version may show timestamps in whole seconds.
        return name !== 'created_at' || Math.abs(instantOf(left) - instantOf(right)) >= 1000;
      });
      judge.agrees(field === undefined, before, {
        expected: `the ${field} of ${shown.id} that it had before: ${before[field ?? '']}`,
        actual: `${field} ${shown[field ?? '']}`,
        counterexample: shown.id,
      });
    }
  };
});

const failed = requirement({
  id: 'platform.deployment.failed',
  section: '2.2',
  level: 'SHOULD',
  clause:
    '`failed` = a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device.',
  text: 'A deployment that failed is archived or being removed.',
});
check(...byExploring(failed));

export const removing = requirement({
  id: 'platform.deployment.removing',
  clause: 'the `removing` deployment status is restored',
  text: 'A client of 2026-03-09.tetons never sees the status removing, which 2026-05-06.rainier restored.',
});
const unremoved = { part: 'end', isFree: 'no deployment was being removed' };
check(...byExploring(removing, { needs: ['tetons', 'rainier'], ...unremoved }));

const alike = requirement({
  id: 'platform.deployment.alike',
  since: '2026-11-25',
  clause: 'the `removing` deployment status is restored',
  text: 'A deployment has the same activity_status in every version, but for removing, which 2026-03-09.tetons lacks.',
});
check(...byExploring(alike, { premises: [shape.id] }));

const made = { needs: ['write'], makes: 'deployment' } as const;

const forwardOnly = requirement({
  id: 'platform.deployment.forward-only',
  level: 'SHOULD',
  section: '3',
  text:
    'The target and the activity of a deployment never move backwards, ' +
    'whatever happens to it or to other deployments of its device.',
});
check(...byExploring(forwardOnly, made));

const asAsked = requirement({
  id: 'platform.deployment.created',
  section: '2.1',
  clause: 'Description of the deployment. … Device identifier (prefix `dvc_`). … Release identifier (prefix `rls_`).',
  text: 'A new deployment has the device, the release and the description that were asked for.',
});
check(...byExploring(asAsked, made));

const archivedFinal = requirement({
  id: 'platform.deployment.archived-final',
  section: '2.2',
  clause: 'Kept for history; cannot be deployed and is not active on the device.',
  text: 'An archived deployment cannot be deployed.',
});
check(...byExploring(archivedFinal, { ...made, part: 'ends' }));

const drifted = requirement({
  id: 'platform.deployment.drifted',
  level: 'SHOULD',
  section: '2.2',
  since: '2026-11-25',
  clause: "The device's configurations changed since the deployment was staged; it must be reviewed before …",
  text: 'A deployment that has drifted, and that nobody has reviewed, is not deployed.',
});
const isFree = 'no staged deployment drifted when its device got another one';
check(...byExploring(drifted, { ...made, part: 'ends', isFree }));

const parent = requirement({
  id: 'platform.deployment.parent',
  clause:
    '`parent_id` may be omitted or a deployment id; `null` asserts that the device has no current target deployment.',
  text:
    'On creation, parent_id may be omitted or a deployment id; ' +
    'null is accepted exactly if the device has no current target deployment.',
});
const inEverglades = { ...made, needs: ['write', 'everglades'] } as const;
const PATHS = {
  'null-accepted': '/parent_id null',
  'null-refused': '/parent_id null beside a target',
  accepted: '/parent_id',
  'at-once': '/parent_id null at once',
};
for (const [aspect, path] of Object.entries(PATHS))
  check(...byExploring(parent, { ...inEverglades, aspect, part: 'parents', isMeant: (each) => each.path === path }));

const timestamps = requirement({
  id: 'platform.deployment.timestamps',
  clause: 'deployments report queued, deployed and archived timestamps',
  text:
    'From 2026-08-17.everglades on, deployments report when they were queued, deployed and archived: ' +
    'each once it has happened, in that order.',
});
/** Needs no `write`, so that it runs on a read-only platform too. */
check(...byExploring(timestamps, { aspect: 'listed', needs: ['everglades'] }));
check(...byExploring(timestamps, inEverglades));

const sameValues = requirement({
  id: 'platform.resource.same',
  level: 'SHOULD',
  section: '2',
  since: '2026-11-25',
  clause: 'Every resource carries an `object` field naming its type.',
  text:
    'A resource shows the same values wherever it stands: alone, in lists, expanded in others, in the answer to a ' +
    'write, and in every version that has them.',
});
check(...byExploring(sameValues));

const filtered = requirement({
  id: 'platform.list.filtered',
  level: 'SHOULD',
  since: '2026-11-25',
  section: '8',
  text: 'Filters and orders of lists, where a platform has them, take effect alike in every version.',
});
check(...byExploring(filtered, { least: { 'filtered or ordered pages': 1 } }));
