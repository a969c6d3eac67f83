/** Section 2.2: how activity and error status merge. */
import fc from 'fast-check';
import { DEPLOYMENT_ACTIVITY_STATUSES, DEPLOYMENT_ERROR_STATUSES } from '../../harness/contract/enums.ts';
import { byOracle } from './oracle/checks.ts';
import { CURRENT_SHOWN, type Device, STREAM } from './support/check.ts';
import { ignoreRefusal } from './support/drive.ts';
import { expectMergedStatus, parseObject } from './support/events.ts';
import { currentDeployment, deploymentIn, isObject } from './support/requests.ts';
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
    // Section 6.3 shows no other payload, so the same names may mean something else there.
    if (event === 'deployment.removed') observeStatus(t, payload);
  }
  if (seen === 0) t.undecided('the device shows no deployment: neither a current one nor one in a retained event');
});

rule(merge, { premises: [merge.id] }, () => (seen, judge) => {
  const body = deploymentIn(seen);
  // Whether they are there is for the shape.
  if (typeof body?.['activity_status'] !== 'string' || typeof body['error_status'] !== 'string') return;
  judge.saw(() => JSON.stringify(body));
  expectMergedStatus(judge, body, 'the current deployment');
});

function observeStatus(t: Device, { status, activity_status, error_status }: Record<string, unknown>): void {
  const merged = error_status === 'none' ? activity_status : error_status;
  const how = status === undefined ? 'none' : status === merged ? 'merged' : `${status}, which is not merged`;
  t.observe('the status in deployment.removed', how);
}

const ofPairs = {
  aspect: 'driven',
  needs: ['drive'],
  profile: 'core',
  premises: CURRENT_SHOWN,
  least: { 'pairs of statuses': 1 },
  orElse: 'control has to drive deployments to other statuses',
} as const;
check(merge, ofPairs, async (t: Device) => {
  const reached = new Set<string>();
  let driven = 0;
  await t.property(
    anyPair,
    async (statuses) => {
      // Not every target can be driven to every pair.
      if ((await t.control.deploy(statuses).catch(ignoreRefusal)) === undefined) return;
      driven += 1;
      const body = await currentDeployment(t);
      if (body === undefined || !expectMergedStatus(t, body, 'the current deployment')) return;
      reached.add(`${body['activity_status']}/${body['error_status']}`);
    },
    {
      runs: EVERY_PAIR.length,
      examples: EVERY_PAIR.map((pair): [unknown] => [pair]),
      describe: ({ activity_status, error_status }) =>
        `a deployment with activity_status ${activity_status} and error_status ${error_status}`,
    },
  );
  if (driven === 0) t.blocked('control could not drive the device to any deployment');
  t.saw('pairs of statuses', reached.size);
  t.note(`pairs of activity/error seen: ${[...reached].sort().join(', ')}`);
});

const anyPair = fc.record({
  activity_status: fc.constantFrom(...DEPLOYMENT_ACTIVITY_STATUSES),
  error_status: fc.constantFrom(...DEPLOYMENT_ERROR_STATUSES),
});

/** First the one that every control can bring about, since a slow target is not driven to all of them. */
const EVERY_PAIR = (['deployed', ...DEPLOYMENT_ACTIVITY_STATUSES.filter((status) => status !== 'deployed')] as const)
  .flatMap((activity_status) => DEPLOYMENT_ERROR_STATUSES.map((error_status) => ({ activity_status, error_status })))
  .toSorted((left, right) => Number(right.error_status === 'none') - Number(left.error_status === 'none'));

check(merge, ...byOracle(merge, { least: 'looks at the current deployment' }));
