/** Section 6.3: whether a deployment made on the platform arrives on the device, and replaces the one before it. */
import {
  canReadFiles,
  deploy,
  EventFollower,
  eventually,
  mustHaveConfigFile,
  readConfigFile,
  rollOut,
  type System,
  section,
  statuses,
  untilActivity,
  untilCurrent,
} from './support/check.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '6.3', since: '2026-11-21' });

const arrives = requirement({
  id: 'system.deploy',
  clause: "The deployment's config instances have been written to the device's file system.",
  text:
    'A deployment made on the platform arrives: deployment.deployed on the device’s stream, ' +
    'the same deployment as current, its files written, and deployed reported back.',
});
check(arrives, { needs: ['write'], profile: 'core', essential: true }, async (t: System) => {
  await t.online();
  await using events = await EventFollower.open(t);
  const rolledOut = await rollOut(t);
  const { id, fixture } = rolledOut;
  const event = await events.until('deployment.deployed', id);
  t.must(event.data['release_id'] === fixture.release.id && event.data['activity_status'] === 'deployed', {
    expected: `deployment.deployed of ${id} with release_id ${fixture.release.id} and activity_status deployed`,
    actual: JSON.stringify(event.data),
  });
  if (canReadFiles(t)) await mustHaveConfigFile(t, rolledOut);
  await mustBeSameOnBothSides(t, id);
});

async function mustBeSameOnBothSides(t: System, id: string): Promise<void> {
  const onDevice = await untilCurrent(t, id);
  const onPlatform = await untilActivity(t, id, 'deployed');
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
}

const replaces = requirement({
  id: 'system.replace',
  clause: '`deployment.removed` … Named as a type; trigger is not stated.',
  text:
    'A newer deployment replaces the current one: ' +
    'the old one is reported with deployment.removed and ends archived, and only the new one is current.',
});
check(replaces, { needs: ['write'], premises: [arrives.id] }, async (t: System) => {
  await t.online();
  await using events = await EventFollower.open(t);
  const first = await deploy(t, events);
  const second = await deploy(t, events);
  const removed = await events.until('deployment.removed', first.id);
  t.observe('payload of deployment.removed', Object.keys(removed.data).sort().join(', '));
  await untilCurrent(t, second.id);
  await untilActivity(t, second.id, 'deployed');
  await untilActivity(t, first.id, 'archived');
  t.must(events.count('deployment.removed', second.id) === 0, {
    expected: `no deployment.removed for ${second.id}, which is current`,
    actual: 'there was one',
  });
  if (!canReadFiles(t)) return;
  await eventually(t, `${first.fixture.filepath} of the replaced deployment to be gone from the device`, async () => {
    const file = await readConfigFile(t, first);
    return file === undefined ? { found: true } : { seen: 'the file is still there' };
  });
  await mustHaveConfigFile(t, second);
});
