/** Section 2.2, `failed`: what cannot be applied ends archived, and leaves nothing on the device. */
import { requirement } from '../../harness/runner/define.ts';
import { unique } from '../platform/support/create.ts';
import { read } from '../platform/support/read.ts';
import { Follower } from './support/events.ts';
import { fileOf, type RolledOut, rollOut, seesFiles, statuses } from './support/roll-out.ts';
import { check, eventually, platformOf, type System } from './support/system.ts';

const FAILED = requirement({
  id: 'system.failed',
  level: 'MUST',
  section: '2.2',
  since: '2026-11-21',
  text: 'A deployment that cannot be applied ends failed and archived, and nothing of it stays on the device.',
});
/** No file system takes a name of more than 255 bytes. */
const IMPOSSIBLE = `/srv/configs/${'too-long-'.repeat(40)}.json`;

const failed = check(FAILED, { needs: ['write'], writes: true, sharing: 'exclusive' }, async (t: System) => {
  await t.online();
  await using events = await Follower.open(t);
  const good = await rollOut(t);
  await events.until('deployment.deployed', good.id);
  const bad = await rollOut(t, { filepath: IMPOSSIBLE });
  const outcome = await eventually(t, `${bad.id} to fail: its file cannot be written`, async () => {
    const item = await read(platformOf(t), 'deployments', bad.id);
    const settled = item['error_status'] !== 'none' || item['activity_status'] === 'deployed';
    return settled ? { found: item } : { seen: statuses(item) };
  });
  if (outcome['activity_status'] === 'deployed' && outcome['error_status'] === 'none') {
    t.notApplicable('the device applied a deployment whose file name is too long for a file system');
  }
  const end = await eventually(t, `${bad.id} to end failed and archived`, async () => {
    const item = await read(platformOf(t), 'deployments', bad.id);
    const ended = item['error_status'] === 'failed' && item['activity_status'] === 'archived';
    return ended ? { found: item } : { seen: statuses(item) };
  });
  t.must(end['status'] === 'failed', { expected: 'status failed', actual: statuses(end) });
  t.should(end['target_status'] === 'archived', {
    expected: 'target_status archived, as nothing else can come of it',
    actual: statuses(end),
  });
  await nothingLeft(t, bad);
  // The device goes on: the next deployment arrives.
  const next = await rollOut(t, { filepath: `/srv/configs/${unique('after-failure')}.json` });
  await events.until('deployment.deployed', next.id);
  t.must(events.count('deployment.deployed', bad.id) === 0, {
    expected: `no deployment.deployed of ${bad.id}, whose files were never written`,
    actual: 'there was one',
  });
});

async function nothingLeft(t: System, bad: RolledOut): Promise<void> {
  await eventually(t, `the device not to have ${bad.id} as its current deployment`, async () => {
    const response = await t.device.http.get('/deployments/current');
    const { id, activity_status: activity } = (response.json ?? {}) as { id?: unknown; activity_status?: unknown };
    const gone = id !== bad.id || activity === 'archived';
    return gone ? { found: true } : { seen: response.text };
  });
  if (!seesFiles(t)) return;
  const file = await fileOf(t, bad);
  t.must(file === undefined, { expected: 'no file of a deployment that failed', actual: bad.kit.filepath });
}

export const failedChecks = [failed];
