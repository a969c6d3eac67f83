/** Section 6.3: when the events of a deployment are emitted. */
import fc from 'fast-check';
import { DEPLOYMENT_EVENTS, type Device } from './support/check.ts';
import { type ConfigFile, configFile, configRoot, findConfigFile, sameText } from './support/disk.ts';
import {
  deploy,
  ignoreRefusal,
  isDeployedEvent,
  payloadOf,
  publish,
  readUpTo,
  subscribeAtKnownCursor,
} from './support/drive.ts';
import { section } from './support/section.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ section: '6.3', since: '2026-11-21' });

const writtenFirst = requirement({
  id: 'device.events.written-first',
  level: 'MUST',
  clause: "The deployment's config instances have been written to the device's file system.",
  text: 'When deployment.deployed arrives, the config files of the deployment are already on the device, whole.',
});
check(writtenFirst, { needs: ['drive', 'files'], premises: DEPLOYMENT_EVENTS }, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  await t.property(
    sizes,
    (lengths) => {
      const files = lengths.map((length, index) => configFile(JSON.stringify({ index, filling: 'x'.repeat(length) })));
      return expectFilesWritten(t, live, files);
    },
    {
      runs: 4,
      examples: [[[400_000, 0, 4_000]]],
      describe: (lengths) => `config files with fillings of ${lengths.join(', ')} characters`,
    },
  );
});

const sizes = fc.array(fc.constantFrom(0, 10, 4_000, 60_000, 400_000), { minLength: 1, maxLength: 5 });

check(
  writtenFirst,
  { aspect: 'content', needs: ['drive', 'files'], premises: DEPLOYMENT_EVENTS },
  async (t: Device, streams) => {
    const { live } = await subscribeAtKnownCursor(t, streams);
    for (const [extension, content] of Object.entries(TEXTS)) {
      const { filepath } = configFile(content);
      await expectFilesWritten(t, live, [{ filepath: filepath.replace(/json$/, extension), content }]);
    }
    // Another content at the same path takes the place of the first.
    const first = configFile('{"version":1}');
    await expectFilesWritten(t, live, [first]);
    await expectFilesWritten(t, live, [{ ...first, content: '{"version":2,"more":true}' }]);
  },
);

/** Text files that are not plain ASCII on one line. */
const TEXTS = {
  json: '{\r\n  "name": "größe 😀 日本",\r\n\t"list": [1,\n 2]\n}\n',
  conf: '# größe 😀 日本\r\nfirst = 1\r\n\r\nsecond = "ü"\nlast = 3\n\n',
};

async function expectFilesWritten(t: Device, live: Subscription, files: readonly ConfigFile[]): Promise<void> {
  const found = await deployAndCompare(t, live, files);
  if (found === undefined) return;
  t.must(found.lost.length === 0, {
    expected: `every config file of ${found.id} on the device when its deployment.deployed arrives`,
    actual: found.lost.join('; '),
  });
  t.should(found.altered.length === 0, {
    expected: `the config files of ${found.id} as they were given, at their paths below config_root`,
    actual: found.altered.join('; '),
  });
}

interface Differences {
  /** In words: files that are missing or have another content. */
  lost: string[];
  /** In words: files with the same content that are formatted in another way, or lie elsewhere. */
  altered: string[];
}

/**
 * Deploys the files, and compares them at the moment when the event arrives. Undefined when the device refuses paths or
 * contents, so that nothing is deployed.
 */
async function deployAndCompare(
  t: Device,
  live: Subscription,
  files: readonly ConfigFile[],
): Promise<(Differences & { id: string }) | undefined> {
  const root = configRoot(t);
  // Control answers once all is done. So every event is taken for that of the deployment until the answer says which it
  // is.
  const differencesAt = new Map<unknown, Differences>();
  let made: { id: string; activity_status: string } | undefined;
  const pending = t.control.deploy({ config_instances: [...files] }).then((deployment) => {
    made = deployment;
    return deployment;
  });
  // A deployment that control refuses brings no event: it ends the wait.
  const refused = pending.then(() => Promise.withResolvers<never>().promise);
  // The refusal may end the wait below before anything waits for this one.
  refused.catch(() => {});
  for (;;) {
    // The time of the event begins with the answer of control, which may be slow itself.
    if (made === undefined) await Promise.race([pending, anyEvent(t, live)]);
    const next = live.next('deployment.deployed of a deployment with config files', 'deployed');
    const event = await Promise.race([next, refused]);
    const id = payloadOf(event)['deployment_id'];
    if (event.type === 'deployment.deployed' && !differencesAt.has(id))
      differencesAt.set(id, await compare(t, root, files));
    if (differencesAt.size > 0) made ??= await pending;
    if (made !== undefined && made.activity_status !== 'deployed') return undefined;
    const differences = made === undefined ? undefined : differencesAt.get(made.id);
    if (made !== undefined && differences !== undefined) return { id: made.id, ...differences };
  }
}

/** Resolves when an event has come that was not read yet, or none will. */
async function anyEvent(t: Device, { stream }: Subscription): Promise<void> {
  const read = stream.frames.length - stream.unread;
  const seen = { frames: read, comments: Number.POSITIVE_INFINITY };
  const wait = { within: LONGEST_CONTROL_MS, atMost: LONGEST_CONTROL_MS, for: 'an event' };
  await stream.activity(seen, wait).catch(() => t.signal.throwIfAborted());
}

/** Control answers within a minute. */
const LONGEST_CONTROL_MS = 60_000;

async function compare(t: Device, root: string, files: readonly ConfigFile[]): Promise<Differences> {
  const differences: Differences = { lost: [], altered: [] };
  const { lost, altered } = differences;
  for (const file of files) {
    const { filepath, content } = file;
    const found = await findConfigFile(t, root, file);
    const same = found.find(({ text }) => text === content) ?? found.find(({ text }) => sameText(text, content));
    if (found[0] === undefined) lost.push(`${filepath} is not there`);
    else if (same === undefined)
      lost.push(
        `${filepath} holds ${found[0].text.length} of ${content.length} characters: ` +
          `${JSON.stringify(found[0].text.slice(0, 80))}`,
      );
    else if (!same.inPlace) altered.push(`a file of that name lies elsewhere, and not at ${filepath}`);
    else if (same.text !== content) altered.push(`${filepath} has other line ends, or another layout`);
  }
  return differences;
}

const onlyDeployed = requirement({
  id: 'device.events.deployed-only',
  level: 'MUST',
  clause: "The deployment's config instances have been written to the device's file system.",
  text:
    'deployment.deployed is emitted for deployments whose config files have been written, ' +
    'and not for those that are merely staged.',
});
check(onlyDeployed, { needs: ['drive'], premises: DEPLOYMENT_EVENTS }, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  let tried = 0;
  for (const state of ['staged', 'queued', 'archived'] as const) {
    const target_status = state === 'queued' ? 'deployed' : state;
    const other = await t.control.deploy({ activity_status: state, target_status }).catch(ignoreRefusal);
    if (other?.activity_status !== state) continue;
    tried += 1;
    await expectNoDeployedEvent(t, live, other.id, state);
  }
  if (tried === 0) t.notApplicable('control cannot make a deployment that is not deployed');
});

/** Makes a second deployment that is deployed: an event of the first would come before that of the second. */
async function expectNoDeployedEvent(t: Device, live: Subscription, other: string, state: string): Promise<void> {
  const { id, before } = await deploy(t, live);
  // A queued deployment may have been deployed by now; then its event shows that state.
  const early = before.find(
    (event) => isDeployedEvent(event, other) && (state !== 'queued' || payloadOf(event)['activity_status'] === state),
  );
  t.must(early === undefined, {
    expected: `no deployment.deployed of ${other}, which is ${state}`,
    actual: `one came: ${early?.text.slice(0, 400)}`,
  });
  const again = (await readUpTo(live, await publish(t, 1))).find((event) => isDeployedEvent(event, id));
  t.should(again === undefined, {
    expected: `one deployment.deployed of ${id}, which was deployed once`,
    actual: `a second one, event ${again?.id}`,
  });
}

const removedEvent = requirement({
  id: 'device.events.removed',
  level: 'INFO',
  clause: 'Named as a type; trigger is not stated.',
  text: 'What triggers deployment.removed, and which payload it carries, is not stated.',
});
check(removedEvent, { needs: ['drive'], premises: DEPLOYMENT_EVENTS }, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  const { id } = await deploy(t, live);
  await t.control.remove(id);
  const seen = await readUpTo(live, await publish(t, 1));
  const event = seen.find(
    ({ type, envelope }) => type !== 'deployment.deployed' && JSON.stringify(envelope).includes(id),
  );
  const emitted = event === undefined ? 'no event that names it' : `${event.type} with ${membersOf(event)}`;
  t.observe('removing a deployment emits', emitted);
});

const membersOf = (event: Parameters<typeof payloadOf>[0]): string => Object.keys(payloadOf(event)).sort().join(', ');
