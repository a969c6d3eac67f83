/**
 * Sections 2.1, 2.2 and 9: whether the deployments that the platform lists have the fields, types and statuses of a
 * deployment.
 */
import type { Happening } from '../../harness/client/happening.ts';
import { deployment as deploymentShape } from '../../harness/contract/device-api.ts';
import { SUPPORTED_CODENAMES, versionNamed } from '../../harness/contract/versions.ts';
import type { Judge, Sighting } from '../../harness/runner/rules.ts';
import { type Platform, section } from './support/check.ts';
import { LISTED_AT_MOST, listDeployments, listOrCreateDeployments, mergedStatus } from './support/create.ts';
import type { Item } from './support/lists.ts';
import { inVersion, ok, send } from './support/requests.ts';
import { resourcesIn } from './support/seen.ts';

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
/** What every listed resource has to keep to. */
const SHOWN_RIGHT = ['platform.list.items', 'platform.timestamps'];
check(shape, { sharing: 'exclusive', profile: 'core', premises: SHOWN_RIGHT }, async (t: Platform) => {
  for (const item of await listOrCreateDeployments(t)) {
    const problems = deploymentShape.problems(item).map(({ path, message }) => `${path} ${message}`.trim());
    // Section 2.1 requires these fields on the Device API; a platform may show fewer.
    const lacking = problems.filter((problem) => problem.startsWith('lacks '));
    const finding = {
      expected: 'a deployment: object, id, description, four statuses, device_id, release_id, created_at',
      actual: `${problems.slice(0, 5).join('; ')}: ${JSON.stringify(item)}`,
      counterexample: item.id,
    };
    t.must(problems.length === lacking.length, finding);
    t.should(lacking.length === 0, finding);
  }
});

rule(shape, { premises: [shape.id] }, () => (seen, judge: Judge) => {
  for (const shown of deploymentsIn(seen)) {
    judge.saw(() => JSON.stringify(shown));
    const problems = deploymentShape.problems(shown).map(({ path, message }) => `${path} ${message}`.trim());
    const wrong = problems.filter((problem) => !problem.startsWith('lacks '));
    judge.must(wrong.length === 0, {
      expected: 'the fields of section 2.1 in every deployment',
      actual: wrong.slice(0, 5).join('; '),
      counterexample: `${shown.id} in the answer to ${seen.asked.method} ${seen.asked.url}`,
    });
  }
});

const deploymentsIn = (seen: Happening) => resourcesIn(seen).filter(({ object }) => object === 'deployment');

const merge = requirement({
  id: 'platform.deployment.merge',
  level: 'MUST',
  clause:
    '`status` equals `error_status` when an error is present (`failed` or `retrying`); ' +
    'when `error_status` is `none`, `status` equals `activity_status`.',
  text: 'status equals error_status if that is failed or retrying, and activity_status otherwise.',
});
check(merge, { sharing: 'exclusive', profile: 'core' }, async (t: Platform) => {
  const idByPair = new Map<string, string>();
  for (const item of await listOrCreateDeployments(t)) {
    const pair = mustMergeStatuses(t, item, 'GET /deployments');
    if (pair !== undefined) idByPair.set(pair, item.id);
  }
  if (idByPair.size === 0) t.undecided('no listed deployment shows status, activity_status and error_status');
  // Single reads and lists may use different code paths, so one deployment of each status pair is also read by its id.
  for (const id of idByPair.values()) {
    const path = `/deployments/${encodeURIComponent(id)}`;
    const response = await send(t, { path });
    const { json } = response;
    if (!ok(response) || typeof json !== 'object' || json === null) continue;
    mustMergeStatuses(t, json as Partial<Item>, `GET ${path}`);
  }
  t.note(`pairs of activity and error seen: ${[...idByPair.keys()].sort().join(', ')}`);
});

rule(merge, { premises: [merge.id] }, () => (seen, judge: Judge) => {
  for (const shown of deploymentsIn(seen)) {
    const { status, activity_status: activity, error_status: error } = shown;
    if (activity === undefined || error === undefined || status === undefined) continue;
    judge.saw(() => JSON.stringify(shown));
    judge.must(status === mergedStatus(activity, error), {
      expected: `status ${mergedStatus(activity, error)} with activity_status ${activity} and error_status ${error}`,
      actual: `status ${status}`,
      counterexample: `${shown.id} in the answer to ${seen.asked.method} ${seen.asked.url}`,
    });
  }
});

/** Returns the pair of activity and error; undefined if the deployment does not show all three statuses. */
function mustMergeStatuses(t: Platform, item: Partial<Item>, request: string): string | undefined {
  const { status, activity_status: activity, error_status: error } = item;
  if (activity === undefined || error === undefined || status === undefined) return undefined;
  t.must(status === mergedStatus(activity, error), {
    expected: `status ${mergedStatus(activity, error)} with activity_status ${activity} and error_status ${error}`,
    actual: `status ${status} in the answer to ${request}`,
    counterexample: item.id,
  });
  return `${activity}/${error}`;
}

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
/** Each is read in every version. */
const READ_ALONE = 5;

/** A field that differs though it never changes; one that is not shown says nothing. */
const differing = (before: Fixed, now: Fixed): (typeof FIXED)[number] | undefined =>
  FIXED.find((name) => {
    const [left, right] = [before[name], now[name]];
    if (typeof left !== 'string' || typeof right !== 'string' || left === right) return false;
    return name !== 'created_at' || Math.abs(Date.parse(left) - Date.parse(right)) >= A_SECOND_MS;
  });
type Fixed = Readonly<Record<string, unknown>>;
/** A version may show times in whole seconds. */
const A_SECOND_MS = 1000;

check(same, { sharing: 'exclusive', premises: [shape.id], least: { readings: 1 } }, async (t: Platform) => {
  const versions = SUPPORTED_CODENAMES.filter((codename) => t.capabilities.has(codename));
  for (const item of (await listOrCreateDeployments(t)).slice(0, READ_ALONE))
    for (const reader of [t, ...versions.map((codename) => inVersion(t, codename))]) {
      const path = `/deployments/${encodeURIComponent(item.id)}`;
      const response = await send(reader, { path });
      const alone = response.json as Fixed | null | undefined;
      if (!ok(response) || typeof alone !== 'object' || alone === null) continue;
      t.saw('readings');
      const field = differing(item, alone);
      t.must(field === undefined, {
        expected: `the ${field} of ${item.id} in the list: ${item[field ?? '']}`,
        actual: `${field} ${alone[field ?? '']} from GET ${path} in ${reader.apiVersion}`,
        counterexample: item.id,
      });
    }
});

rule(same, { premises: [same.id] }, () => {
  const known = new Map<string, Sighting & Fixed>();
  return (seen, judge: Judge) => {
    for (const shown of deploymentsIn(seen)) {
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
/** More of them take more memory, and are seldom seen twice. */
const MOST_KNOWN = 2000;
const fixedOf = ({ device_id, release_id, created_at }: Fixed): Fixed => ({ device_id, release_id, created_at });

const failed = requirement({
  id: 'platform.deployment.failed',
  level: 'SHOULD',
  clause:
    '`failed` = a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device.',
  text: 'A deployment that failed is archived or being removed.',
});
check(failed, {}, async (t: Platform) => {
  const failures = (await listDeployments(t)).filter((item) => item['error_status'] === 'failed');
  if (failures.length === 0) t.undecided('no listed deployment has failed');
  for (const item of failures) {
    t.must(['removing', 'archived'].includes(String(item['activity_status'])), {
      expected: 'activity_status archived (or removing) when error_status is failed',
      actual: item['activity_status'],
      counterexample: item.id,
    });
  }
});

export const removing = requirement({
  id: 'platform.deployment.removing',
  level: 'MUST',
  section: '9',
  clause: 'the `removing` deployment status is restored',
  text: 'A client of 2026-03-09.tetons never sees the status removing, which 2026-05-06.rainier restored.',
});
check(
  removing,
  {
    needs: ['tetons', 'rainier'],
    sharing: 'exclusive',
    premises: ['platform.version.supported.tetons', 'platform.version.supported.rainier'],
  },
  async (t: Platform) => {
    const inRainier = await listDeployments(inVersion(t, 'rainier'));
    const inTetons = await listDeployments(inVersion(t, 'tetons'));
    for (const item of inTetons) {
      const { status, activity_status: activity } = item;
      const onlyStatus = status === 'removing' && activity !== undefined && activity !== status;
      t.must(status !== 'removing' && activity !== 'removing', {
        expected:
          'no status removing in ' +
          `2026-03-09.tetons${onlyStatus ? `, but ${activity}, by the rule that merges activity and error` : ''}`,
        actual: { status, activity_status: activity, error_status: item['error_status'] },
        counterexample: item.id,
      });
    }
    const removed = inRainier.filter((item) => item['activity_status'] === 'removing').map(({ id }) => id);
    if (removed.length === 0) t.notApplicable('no deployment is being removed at the moment');
    const wholeListRead = inTetons.length < LISTED_AT_MOST.pages * LISTED_AT_MOST.limit;
    t.should(inTetons.some(({ id }) => removed.includes(id)) || !wholeListRead, {
      expected: `${removed[0]} with another status in 2026-03-09.tetons`,
      actual: 'it is not listed there',
    });
  },
);

const alike = requirement({
  id: 'platform.deployment.alike',
  level: 'MUST',
  section: '9',
  since: '2026-11-25',
  clause: 'the `removing` deployment status is restored',
  text: 'A deployment has the same activity_status in every version, but for removing, which 2026-03-09.tetons lacks.',
});
check(alike, { sharing: 'exclusive', premises: [shape.id], least: { readings: 1 } }, async (t: Platform) => {
  const declared = SUPPORTED_CODENAMES.filter((codename) => t.capabilities.has(codename));
  const others = declared
    .map((codename) => inVersion(t, codename))
    .filter((other) => other.apiVersion !== t.apiVersion);
  if (others.length === 0) t.notApplicable('the platform has no other version');
  for (const other of others) {
    const before = await activitiesOf(t);
    const shown = await activitiesOf(other);
    const after = await activitiesOf(t);
    for (const [id, activity] of shown) {
      const expected = before.get(id);
      // It moved meanwhile, or one of the two versions has no such status.
      const isUnknown =
        (other.apiVersion === WITHOUT_REMOVING && expected === 'removing') ||
        (t.apiVersion === WITHOUT_REMOVING && activity === 'removing');
      if (isUnknown || expected !== after.get(id)) continue;
      t.saw('readings');
      t.must(expected === undefined || activity === expected, {
        expected: `the activity_status ${expected} of ${id} in ${other.apiVersion}, as in ${t.apiVersion}`,
        actual: activity,
        counterexample: id,
      });
    }
  }
});

const WITHOUT_REMOVING = versionNamed('tetons');

const activitiesOf = async (t: Platform): Promise<Map<string, unknown>> =>
  new Map((await listDeployments(t)).map((item) => [item.id, item['activity_status']]));
