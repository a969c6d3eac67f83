/**
 * Checks section 6.3 of the specification: deployments on the platform arrive on the device, and replace each other.
 */
import { readItem } from '../platform/support/lists.ts';
import {
  canReadFiles,
  DEPLOYMENT_UNTOLD,
  deploy,
  EventFollower,
  eventually,
  mustHaveConfigFile,
  platformSide,
  type RollOut,
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
const options = { needs: ['write'], profile: 'core' } as const;
check(arrives, { ...options, aspect: 'told', deviation: DEPLOYMENT_UNTOLD }, async (t: System) => {
  await t.online();
  await using events = await EventFollower.open(t);
  await deploy(t, events);
});
check(arrives, { ...options, premises: [`${arrives.id}.told`] }, async (t: System) => {
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

const SETTLED = '2026-11-25';

/** Applies only until `SETTLED`, when `system.newer` and `system.replaced` took over the requirement. */
const replaces = requirement({
  id: 'system.replace',
  until: SETTLED,
  clause: '`deployment.removed` … Named as a type; trigger is not stated.',
  text:
    'A newer deployment replaces the current one: ' +
    'the old one is reported with deployment.removed and ends archived, and only the new one is current.',
});
check(replaces, { needs: ['write'], premises: [arrives.id] }, async (t: System) => {
  const { first, second } = await replaceOne(t, async (events, { first, second }) => {
    await events.until('deployment.removed', first.id);
    await untilActivity(t, first.id, 'archived');
    t.must(events.count('deployment.removed', second.id) === 0, {
      expected: `no deployment.removed for ${second.id}, which is current`,
      actual: 'there was one',
    });
  });
  if (!canReadFiles(t)) return;
  await eventually(t, `${first.fixture.filepath} of the replaced deployment to be gone from the device`, async () => {
    const file = await readConfigFile(t, first);
    return file === undefined ? { found: true } : { seen: 'the file is still there' };
  });
  await mustHaveConfigFile(t, second);
});

const newer = requirement({
  id: 'system.newer',
  section: '2.2',
  since: SETTLED,
  clause: 'Config instances are currently available for consumption on the device.',
  text:
    'A newer deployment that has arrived is the current one, ' +
    'and one whose config files are gone from the device is not shown as deployed.',
});
check(newer, { needs: ['write'], premises: [arrives.id] }, async (t: System) => {
  const { first, second } = await replaceOne(t);
  if (!canReadFiles(t)) return;
  await mustHaveConfigFile(t, second);
  await eventually(
    t,
    `${first.id}, whose config file is gone, to be another than deployed on the platform`,
    async () => {
      const item = await readItem(platformSide(t), 'deployments', first.id);
      const isThere = (await readConfigFile(t, first)) !== undefined;
      return isThere || item?.['activity_status'] !== 'deployed' ? { found: true } : { seen: statuses(item) };
    },
  );
});

const replaced = requirement({
  id: 'system.replaced',
  level: 'INFO',
  since: SETTLED,
  clause: '`deployment.removed` … Named as a type; trigger is not stated.',
  text:
    'What becomes of a deployment that a newer one replaces, and whether deployment.removed tells of it, ' +
    'is not stated.',
});
check(replaced, { needs: ['write'], premises: [newer.id] }, async (t: System) => {
  let told = 0;
  const { first } = await replaceOne(t, async (events, made) => {
    told = events.count('deployment.removed', made.first.id);
  });
  const item = await readItem(platformSide(t), 'deployments', first.id);
  t.observe('deployment.removed of a deployment that a newer one replaced', told > 0 ? 'came' : 'had not come');
  t.observe('a deployment that a newer one replaced', String(item['activity_status']));
  if (!canReadFiles(t)) return;
  const file = await readConfigFile(t, first);
  t.observe('the files of a deployment that a newer one replaced', file === undefined ? 'are gone' : 'are there');
});

interface Replacement {
  first: RollOut;
  second: RollOut;
}

async function replaceOne(
  t: System,
  then: (events: EventFollower, made: Replacement) => Promise<void> = async () => {},
): Promise<Replacement> {
  await t.online();
  await using events = await EventFollower.open(t);
  const made = { first: await deploy(t, events), second: await deploy(t, events) };
  await untilCurrent(t, made.second.id);
  await untilActivity(t, made.second.id, 'deployed');
  await then(events, made);
  return made;
}
