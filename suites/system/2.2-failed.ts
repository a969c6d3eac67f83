/** Checks section 2.2 of the specification: a deployment that cannot be applied ends failed and archived. */

import { recordName } from '../../harness/common/names.ts';
import { pollWithin } from '../../harness/common/waiting.ts';
import { type Item, readItem } from '../platform/support/lists.ts';
import {
  canReadFiles,
  deploy,
  EventFollower,
  eventually,
  platformSide,
  type RollOut,
  readConfigFile,
  rollOut,
  type System,
  section,
  statuses,
} from './support/check.ts';

export const { requirement, check, checks } = section({ section: '2.2', since: '2026-11-21' });

/** File path that no device can write, because file systems limit a name to 255 bytes. */
const IMPOSSIBLE_PATH = `/srv/configs/${'too-long-'.repeat(40)}.json`;

const failed = requirement({
  id: 'system.failed',
  level: 'MUST',
  clause:
    '`failed` = a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device.',
  text: 'A deployment that cannot be applied ends failed and archived, and nothing of it stays on the device.',
});
const options = { needs: ['write'], premises: ['system.deploy'] } as const;
check(failed, options, async (t: System) => {
  await t.online();
  await using events = await EventFollower.open(t);
  await deploy(t, events);
  const bad = await rollOut(t, { filepath: IMPOSSIBLE_PATH });
  await requireFailure(t, bad);
  await mustFailAndBeArchived(t, bad);
  await mustLeaveNothing(t, bad);
  // Deploys again, because the device must still accept the next deployment.
  await deploy(t, events, { filepath: `/srv/configs/${recordName('after-failure')}.json` });
  t.must(events.count('deployment.deployed', bad.id) === 0, {
    expected: `no deployment.deployed of ${bad.id}, whose files were never written`,
    actual: 'there was one',
  });
});

const currentOnDevice = async (t: System): Promise<Partial<Item>> =>
  ((await t.device.http.get('/deployments/current')).json ?? {}) as Partial<Item>;

const readDeployment = (t: System, { id }: RollOut): Promise<Item> => readItem(platformSide(t), 'deployments', id);

/**
 * Ends the check as not applicable if the device applies the deployment or keeps retrying, because the specification
 * does not say which errors are fatal.
 */
async function requireFailure(t: System, bad: RollOut): Promise<void> {
  let last = await eventually(t, `${bad.id} to fail: its file cannot be written`, async () => {
    const item = await readDeployment(t, bad);
    if (item['error_status'] !== 'none') return { found: item };
    const { id, activity_status: activity } = await currentOnDevice(t);
    if (id === bad.id && activity === 'deployed')
      t.notApplicable('the device applied a deployment whose file name is too long for a file system');
    return { seen: statuses(item) };
  });
  const isFatal = await pollWithin(
    `${bad.id} to fail for good`,
    async () => {
      last = await readDeployment(t, bad);
      return last['error_status'] === 'retrying' ? undefined : true;
    },
    { timeoutMs: t.device.patienceMs, firstPauseMs: 100, growth: 1.5, longestPauseMs: 1000, signal: t.signal },
  );
  if (!isFatal) t.notApplicable(`the device goes on retrying a deployment that cannot be applied: ${statuses(last)}`);
}

async function mustFailAndBeArchived(t: System, bad: RollOut): Promise<void> {
  const end = await eventually(t, `${bad.id} to end failed and archived`, async () => {
    const item = await readDeployment(t, bad);
    const hasEnded = item['error_status'] === 'failed' && item['activity_status'] === 'archived';
    return hasEnded ? { found: item } : { seen: statuses(item) };
  });
  t.must(end['status'] === 'failed', { expected: 'status failed', actual: statuses(end) });
  t.should(end['target_status'] === 'archived', {
    expected: 'target_status archived, as the deployment has failed for good',
    actual: statuses(end),
  });
}

async function mustLeaveNothing(t: System, bad: RollOut): Promise<void> {
  await eventually(t, `the device not to have ${bad.id} as its current deployment`, async () => {
    const current = await currentOnDevice(t);
    const isGone = current.id !== bad.id || current['activity_status'] === 'archived';
    return isGone ? { found: true } : { seen: JSON.stringify(current) };
  });
  if (!canReadFiles(t)) return;
  const file = await readConfigFile(t, bad);
  t.must(file === undefined, { expected: 'no file of a deployment that failed', actual: bad.fixture.filepath });
}
