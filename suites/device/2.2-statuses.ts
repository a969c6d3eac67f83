/** Section 2.2: how `status` merges the activity status and the error status. */
import { isObject, parseObject } from '../json.ts';
import { byOracle } from './oracle/checks.ts';
import { type Device, STREAM } from './support/check.ts';
import { expectMergedStatus } from './support/events.ts';
import { currentDeployment, deploymentIn } from './support/requests.ts';
import { sampleRetained } from './support/sample.ts';
import { section } from './support/section.ts';

export const { requirement, check, rule, checks } = section({ section: '2.2', since: '2026-11-21' });

const merge = requirement({
  id: 'device.deployment.merge',
  level: 'MUST',
  clause:
    '`status` equals `error_status` when an error is present … ' +
    'when `error_status` is `none`, `status` equals `activity_status`.',
  text:
    'status equals error_status when that is failed or retrying, and activity_status when error_status is none, ' +
    'on every deployment seen.',
});
check(merge, { turn: 'last', profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  let seen = 0;
  const body = await currentDeployment(t);
  if (body !== undefined && expectMergedStatus(t, body, 'the current deployment')) seen += 1;
  const past = await sampleRetained(t, streams);
  for (const { event = '', data = '' } of past?.stream.frames ?? []) {
    const payload = parseObject(data)?.['data'];
    if (!isObject(payload)) continue;
    if (event === 'deployment.deployed' && expectMergedStatus(t, payload, `the payload of ${data}`)) seen += 1;
    // Section 6.3 shows no payload of deployment.removed, so its status is only recorded.
    if (event === 'deployment.removed') observeStatus(t, payload);
  }
  if (seen === 0) t.undecided('the device shows no deployment: neither a current one nor one in a retained event');
});

rule(merge, { premises: [merge.id] }, () => (seen, judge) => {
  const body = deploymentIn(seen);
  // Skips a deployment without both statuses, which device.deployment.shape reports.
  if (typeof body?.['activity_status'] !== 'string' || typeof body['error_status'] !== 'string') return;
  judge.saw(() => JSON.stringify(body));
  expectMergedStatus(judge, body, 'the current deployment');
});

function observeStatus(t: Device, { status, activity_status, error_status }: Record<string, unknown>): void {
  const merged = error_status === 'none' ? activity_status : error_status;
  const how = status === undefined ? 'none' : status === merged ? 'merged' : `${status}, which is not merged`;
  t.observe('the status in deployment.removed', how);
}

check(merge, ...byOracle(merge, { aspect: 'driven', least: 'looks at the current deployment' }));
