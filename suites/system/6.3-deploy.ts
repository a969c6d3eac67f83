/** Sections 1 and 6.3: what is deployed on the platform arrives on the device, and replaces what was there. */
import { requirement } from '../../harness/runner/define.ts';
import { Follower } from './support/events.ts';
import { current, fileOf, holds, rollOut, seesFiles, shownAs, statuses } from './support/roll-out.ts';
import { check, eventually, type System } from './support/system.ts';

const DEPLOY = requirement({
  id: 'system.deploy',
  level: 'MUST',
  section: '6.3',
  since: '2026-11-21',
  text: 'A deployment made on the platform arrives: deployment.deployed on the device’s stream, the same deployment as current, its files written, and deployed reported back.',
});
const deploy = check(
  DEPLOY,
  { needs: ['write'], writes: true, sharing: 'exclusive', profile: 'core' },
  async (t: System) => {
    await t.online();
    await using events = await Follower.open(t);
    const rolled = await rollOut(t);
    const event = await events.until('deployment.deployed', rolled.id);
    t.must(event.data['release_id'] === rolled.kit.release.id && event.data['activity_status'] === 'deployed', {
      expected: `deployment.deployed of ${rolled.id} with release_id ${rolled.kit.release.id} and activity_status deployed`,
      actual: JSON.stringify(event.data),
    });
    if (seesFiles(t)) {
      const file = await fileOf(t, rolled);
      t.must(holds(file, rolled), {
        expected: `${rolled.kit.filepath} on the device, as the config instance has it: ${rolled.kit.content}`,
        actual: file ?? 'no such file',
      });
    }
    const onDevice = await current(t, rolled.id);
    const onPlatform = await shownAs(t, rolled.id, 'deployed');
    for (const field of ['id', 'device_id', 'release_id', 'description', 'error_status', 'target_status'] as const) {
      t.must(onDevice[field] === onPlatform[field], {
        expected: `the same ${field} on both sides: ${JSON.stringify(onPlatform[field])} on the platform`,
        actual: `${JSON.stringify(onDevice[field])} on the device`,
      });
    }
    t.must(onPlatform['error_status'] === 'none' && onPlatform['device_id'] === t.deviceId, {
      expected: `no error, and device ${t.deviceId}`,
      actual: `${statuses(onPlatform)}, device ${onPlatform['device_id']}`,
    });
  },
);

const REPLACE = requirement({
  id: 'system.replace',
  level: 'MUST',
  section: '6.3',
  since: '2026-11-21',
  text: 'A newer deployment replaces the current one: deployment.removed for the old one, which ends archived, and one current deployment alone.',
});
const replace = check(REPLACE, { needs: ['write'], writes: true, sharing: 'exclusive' }, async (t: System) => {
  await t.online();
  await using events = await Follower.open(t);
  const first = await rollOut(t);
  await events.until('deployment.deployed', first.id);
  const second = await rollOut(t);
  await events.until('deployment.deployed', second.id);
  const removed = await events.until('deployment.removed', first.id);
  t.note(`payload of deployment.removed: ${Object.keys(removed.data).join(', ')}`);
  await current(t, second.id);
  await shownAs(t, second.id, 'deployed');
  await shownAs(t, first.id, 'archived');
  t.must(events.count('deployment.removed', second.id) === 0, {
    expected: `no deployment.removed for ${second.id}, which is current`,
    actual: 'there was one',
  });
  if (!seesFiles(t)) return;
  await eventually(t, `${first.kit.filepath} of the replaced deployment to be gone from the device`, async () => {
    const file = await fileOf(t, first);
    return file === undefined ? { found: true } : { seen: 'the file is still there' };
  });
  const file = await fileOf(t, second);
  t.must(holds(file, second), {
    expected: `${second.kit.filepath} on the device`,
    actual: file ?? 'no such file',
  });
});

export const deployChecks = [deploy, replace];
