/** Sections 2.1, 2.2 and 9: deployments as the platform lists them. */

import { deployment as deploymentShape } from '../../harness/contract/deployment.ts';
import { requirement } from '../../harness/runner/define.ts';
import { listed, PAGES, some } from './support/deployments.ts';
import type { Item } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { inVersion, ok, send } from './support/send.ts';

const SHAPE = requirement({
  id: 'platform.deployment.shape',
  level: 'MUST',
  section: '2.1',
  since: '2026-11-21',
  text: 'The fields that section 2.1 shows of a deployment have their types, prefixes, enumerations and date-times in every deployment that is listed.',
});
const shape = check(SHAPE, { sharing: 'exclusive', profile: 'core' }, async (t: Platform) => {
  for (const item of await some(t)) {
    const problems = deploymentShape.problems(item).map(({ path, message }) => `${path} ${message}`.trim());
    // Section 2.1 says of the Device API which fields are required; a platform may show fewer.
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

const MERGE = requirement({
  id: 'platform.deployment.merge',
  level: 'MUST',
  section: '2.2',
  since: '2026-11-21',
  text: 'status equals error_status when that is failed or retrying, and activity_status otherwise.',
});
const merge = check(MERGE, { sharing: 'exclusive', profile: 'core' }, async (t: Platform) => {
  const seen = new Map<string, string>();
  for (const item of await some(t)) {
    const pair = merged(t, item, 'GET /deployments');
    if (pair !== undefined) seen.set(pair, item.id);
  }
  if (seen.size === 0) t.notApplicable('no deployment that is listed shows status, activity_status and error_status');
  // A platform may put a single deployment together elsewhere than a list of them: one of each pair is read.
  for (const id of seen.values()) {
    const path = `/deployments/${encodeURIComponent(id)}`;
    const alone = await send(t, { path });
    const { json } = alone;
    if (ok(alone) && typeof json === 'object' && json !== null) merged(t, json as Partial<Item>, `GET ${path}`);
  }
  t.note(`pairs of activity and error seen: ${[...seen.keys()].sort().join(', ')}`);
});

/** The pair of activity and error that it shows; undefined where it shows less. */
function merged(t: Platform, item: Partial<Item>, where: string): string | undefined {
  const { status, activity_status: activity, error_status: error } = item;
  if (activity === undefined || error === undefined || status === undefined) return undefined;
  t.must(status === (error === 'none' ? activity : error), {
    expected: `status ${error === 'none' ? activity : error} with activity_status ${activity} and error_status ${error}`,
    actual: `status ${status} in the answer to ${where}`,
    counterexample: item.id,
  });
  return `${activity}/${error}`;
}

const FAILED = requirement({
  id: 'platform.deployment.failed',
  level: 'SHOULD',
  section: '2.2',
  since: '2026-11-21',
  text: 'A deployment that failed is archived, or on its way there.',
});
const failed = check(FAILED, {}, async (t: Platform) => {
  const all = (await listed(t)).filter((item) => item['error_status'] === 'failed');
  if (all.length === 0) t.notApplicable('no deployment that is listed has failed');
  for (const item of all) {
    t.must(['removing', 'archived'].includes(String(item['activity_status'])), {
      expected: 'activity_status archived (or removing) when error_status is failed',
      actual: item['activity_status'],
      counterexample: item.id,
    });
  }
});

const REMOVING = requirement({
  id: 'platform.deployment.removing',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'The status removing, which 2026-05-06.rainier restored, is never shown to a client of 2026-03-09.tetons.',
});
const removing = check(REMOVING, { needs: ['tetons', 'rainier'], sharing: 'exclusive' }, async (t: Platform) => {
  const later = await listed(inVersion(t, 'rainier'));
  const earlier = await listed(inVersion(t, 'tetons'));
  for (const item of earlier) {
    const { status, activity_status: activity } = item;
    const stale = status === 'removing' && activity !== undefined && activity !== status;
    t.must(status !== 'removing' && activity !== 'removing', {
      expected: `no status removing in 2026-03-09.tetons${stale ? `, but ${activity}, by the rule that merges activity and error` : ''}`,
      actual: { status, activity_status: activity, error_status: item['error_status'] },
      counterexample: item.id,
    });
  }
  const removed = later.filter((item) => item['activity_status'] === 'removing').map(({ id }) => id);
  if (removed.length === 0) t.notApplicable('no deployment is being removed just now');
  t.should(earlier.some(({ id }) => removed.includes(id)) || earlier.length >= PAGES * 100, {
    expected: `${removed[0]} with another status in 2026-03-09.tetons`,
    actual: 'it is not listed there',
  });
});

export const deploymentChecks = [shape, merge, failed, removing];
