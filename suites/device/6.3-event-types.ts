/** Section 6.3: when a device sends the events of a deployment. */
import fc from 'fast-check';
import { UNDEPLOYED } from './oracle/commands.ts';
import { byOracle } from './oracle/explore.ts';
import { DEPLOYMENT_EVENTS, type Device } from './support/check.ts';
import {
  type ConfigFile,
  compareFiles,
  configFile,
  configRoot,
  type FileDifferences,
  requireConfigRoot,
} from './support/disk.ts';
import { payloadOf, publish, readUpTo, readUpToDeployed, subscribeAtKnownCursor } from './support/drive.ts';
import { section } from './support/section.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ section: '6.3', since: '2026-11-21' });

const writtenFirst = requirement({
  id: 'device.events.written-first',
  level: 'MUST',
  clause: "The deployment's config instances have been written to the device's file system.",
  text: 'When deployment.deployed arrives, the config files of the deployment are already on the device, whole.',
});
const written = {
  needs: ['drive', 'files'],
  premises: DEPLOYMENT_EVENTS,
  least: { 'deployments with files': 1 },
  orElse: 'control has to make deployments that are deployed',
} as const;
check(writtenFirst, written, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  await t.property(
    fc.array(fc.constantFrom(0, 10, 4_000, 60_000, 400_000), { minLength: 1, maxLength: 5 }),
    async (lengths) => {
      const files = lengths.map((length, index) => configFile(JSON.stringify({ index, filling: 'x'.repeat(length) })));
      const found = await deployAndCompare(t, live, files);
      if (found === undefined) return;
      t.saw('deployments with files');
      if (found.lost.length > 0) await requireConfigRoot(t);
      t.must(found.lost.length === 0, {
        expected: `every config file of ${found.id} on the device when its deployment.deployed arrives`,
        actual: found.lost.join('; '),
      });
      t.should(found.altered.length === 0, {
        expected: `the config files of ${found.id} as they were given, at their paths below config_root`,
        actual: found.altered.join('; '),
      });
    },
    {
      runs: 4,
      examples: [[[400_000, 0, 4_000]]],
      describe: (lengths) => `config files with fillings of ${lengths.join(', ')} characters`,
    },
  );
});

async function deployAndCompare(
  t: Device,
  live: Subscription,
  files: readonly ConfigFile[],
): Promise<(FileDifferences & { id: string }) | undefined> {
  const root = configRoot(t);
  // Compares files at each event, because the control call may return the id of its deployment only later.
  const differencesAt = new Map<unknown, FileDifferences>();
  let made: { id: string; activity_status: string } | undefined;
  const pending = t.control.deploy({ config_instances: [...files] }).then((deployment) => {
    made = deployment;
    return deployment;
  });
  const refused = pending.then(() => Promise.withResolvers<never>().promise);
  refused.catch(() => {});
  for (;;) {
    // Waits for control or any event first, because the timeout of the next event starts below.
    if (made === undefined) {
      const { frames, unread } = live.stream;
      const seen = { frames: frames.length - unread, comments: Number.POSITIVE_INFINITY };
      const wait = { within: LONGEST_CONTROL_MS, atMost: LONGEST_CONTROL_MS, for: 'an event' };
      await Promise.race([pending, live.stream.activity(seen, wait).catch(() => t.signal.throwIfAborted())]);
    }
    const next = live.next('deployment.deployed of a deployment with config files', 'deployed');
    const event = await Promise.race([next, refused]);
    const id = payloadOf(event)['deployment_id'];
    if (event.type === 'deployment.deployed' && !differencesAt.has(id))
      differencesAt.set(id, await compareFiles(t, root, files));
    if (differencesAt.size > 0) made ??= await pending;
    if (made !== undefined && made.activity_status !== 'deployed') return undefined;
    const differences = made === undefined ? undefined : differencesAt.get(made.id);
    if (made !== undefined && differences !== undefined) return { id: made.id, ...differences };
  }
}

const LONGEST_CONTROL_MS = 60_000;

const onlyDeployed = requirement({
  id: 'device.events.deployed-only',
  level: 'MUST',
  clause: "The deployment's config instances have been written to the device's file system.",
  text:
    'deployment.deployed is emitted for deployments whose config files have been written, ' +
    'and not for those that are merely staged.',
});
byOracle(check, onlyDeployed, { premises: DEPLOYMENT_EVENTS, least: UNDEPLOYED });

const removedEvent = requirement({
  id: 'device.events.removed',
  level: 'INFO',
  clause: 'Named as a type; trigger is not stated.',
  text: 'What triggers deployment.removed, and which payload it carries, is not stated.',
});
check(removedEvent, { needs: ['drive'], premises: DEPLOYMENT_EVENTS }, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  const made = await t.control.deploy();
  await readUpToDeployed(live, made);
  await t.control.remove(made.id);
  const seen = await readUpTo(live, await publish(t, 1));
  const event = seen.find(
    ({ type, envelope }) => type !== 'deployment.deployed' && JSON.stringify(envelope).includes(made.id),
  );
  const members = event && Object.keys(payloadOf(event)).sort().join(', ');
  const emitted = event === undefined ? 'no event that names it' : `${event.type} with ${members}`;
  t.observe('removing a deployment emits', emitted);
});

byOracle(check, writtenFirst, { aspect: 'content', needs: ['files'], least: 'deployments with files' });
