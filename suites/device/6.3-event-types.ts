/** Section 6.3: when the events of a deployment are emitted. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { ControlError } from '../../harness/targets/control/control.ts';
import { check, type Device } from './support/context.ts';
import { anchor, deploy, follow, isDeployed, payloadOf, publish } from './support/drive.ts';
import { type ConfigFile, configFile, configRoot, foundOf, saysTheSame } from './support/files.ts';
import { type Subscription, withStreams } from './support/streams.ts';

const writtenFirst = requirement({
  id: 'device.events.written-first',
  level: 'MUST',
  section: '6.3',
  since: '2026-11-21',
  text: 'When deployment.deployed arrives, the config files of the deployment are already on the device, whole.',
});

const onlyDeployed = requirement({
  id: 'device.events.deployed-only',
  level: 'MUST',
  section: '6.3',
  since: '2026-11-21',
  text: 'deployment.deployed is emitted for deployments whose config files have been written, and not for those that are merely staged.',
});

const removedEvent = requirement({
  id: 'device.events.removed',
  level: 'INFO',
  section: '6.3',
  since: '2026-11-21',
  text: 'What triggers deployment.removed, and what it carries, is not stated.',
});

const sizes = fc.array(fc.constantFrom(0, 10, 4_000, 60_000, 400_000), { minLength: 1, maxLength: 5 });

/** What a text file may hold that is no plain ASCII on one line. */
const TEXTS = {
  json: '{\r\n  "name": "größe 😀 日本",\r\n\t"list": [1,\n 2]\n}\n',
  conf: '# größe 😀 日本\r\nfirst = 1\r\n\r\nsecond = "ü"\nlast = 3\n\n',
};

interface Wrong {
  /** In words. */
  lost: string[];
  /** Says the same, though not byte by byte, or lies elsewhere. */
  altered: string[];
}

function wrongFiles(root: string, files: readonly ConfigFile[]): Wrong {
  const wrong: Wrong = { lost: [], altered: [] };
  for (const file of files) {
    const { filepath, content } = file;
    const found = foundOf(root, file);
    const same = found.find(({ text }) => text === content) ?? found.find(({ text }) => saysTheSame(text, content));
    if (found[0] === undefined) wrong.lost.push(`${filepath} is not there`);
    else if (same === undefined)
      wrong.lost.push(
        `${filepath} holds ${found[0].text.length} of ${content.length} characters: ${JSON.stringify(found[0].text.slice(0, 80))}`,
      );
    else if (!same.inPlace) wrong.altered.push(`a file of that name lies elsewhere, and not at ${filepath}`);
    else if (same.text !== content) wrong.altered.push(`${filepath} has other line ends, or another layout`);
  }
  return wrong;
}

/** Deploys the files, and looks at them the moment the event comes; undefined when the device refuses paths or contents. */
async function wrongWhenTold(
  context: Device,
  live: Subscription,
  files: readonly ConfigFile[],
): Promise<(Wrong & { id: string }) | undefined> {
  const root = configRoot(context);
  // Control answers when all is done, so the files are looked at the moment an event comes, not when it answers.
  const wrongAt = new Map<unknown, Wrong>();
  let made: { id: string; activity_status: string } | undefined;
  const pending = context.control.deploy({ config_instances: [...files] }).then((deployment) => {
    made = deployment;
    return deployment;
  });
  pending.catch(() => {});
  for (;;) {
    const event = await live.next('deployment.deployed of a deployment with config files');
    const id = payloadOf(event)['deployment_id'];
    if (event.type === 'deployment.deployed' && !wrongAt.has(id)) wrongAt.set(id, wrongFiles(root, files));
    if (wrongAt.size > 0) made ??= await pending;
    // Then nothing is deployed, and nothing to be judged.
    if (made !== undefined && made.activity_status !== 'deployed') return undefined;
    const wrong = made === undefined ? undefined : wrongAt.get(made.id);
    if (made !== undefined && wrong !== undefined) return { id: made.id, ...wrong };
  }
}

async function judgeFiles(context: Device, live: Subscription, files: readonly ConfigFile[]): Promise<void> {
  const wrong = await wrongWhenTold(context, live, files);
  if (wrong === undefined) return;
  context.must(wrong.lost.length === 0, {
    expected: `every config file of ${wrong.id} on the device when its deployment.deployed arrives`,
    actual: wrong.lost.join('; '),
  });
  context.should(wrong.altered.length === 0, {
    expected: `the config files of ${wrong.id} as they were given, at their paths below config_root`,
    actual: wrong.altered.join('; '),
  });
}

export default [
  check(writtenFirst, { needs: ['drive', 'files'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      await context.property(
        sizes,
        async (lengths) => {
          const files = lengths.map((length, index) =>
            configFile(context, JSON.stringify({ index, filling: 'x'.repeat(length) })),
          );
          await judgeFiles(context, live, files);
        },
        { runs: 8 },
      );
    }),
  ),

  check(writtenFirst, { aspect: 'content', needs: ['drive', 'files'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      for (const [extension, content] of Object.entries(TEXTS)) {
        const { filepath } = configFile(context, content);
        await judgeFiles(context, live, [{ filepath: filepath.replace(/json$/, extension), content }]);
      }
      // Another content at the same path takes the place of the first.
      const first = configFile(context, '{"version":1}');
      await judgeFiles(context, live, [first]);
      await judgeFiles(context, live, [{ ...first, content: '{"version":2,"more":true}' }]);
    }),
  ),

  check(onlyDeployed, { needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      let tried = 0;
      for (const state of ['staged', 'queued', 'archived'] as const) {
        const other = await context.control
          .deploy({ activity_status: state, target_status: state === 'queued' ? 'deployed' : state })
          .catch((error: unknown) => {
            if (error instanceof ControlError) return undefined;
            throw error;
          });
        if (other === undefined || other.activity_status !== state) continue;
        tried += 1;
        // One that is deployed after it, and whose event must come, ends the wait.
        const { id, before } = await deploy(context, live);
        // What is queued is going to be deployed, and may have been by now; then the event says so.
        const early = before.find(
          (event) =>
            isDeployed(event, other.id) && (state !== 'queued' || payloadOf(event)['activity_status'] === state),
        );
        context.must(early === undefined, {
          expected: `no deployment.deployed of ${other.id}, which is ${state}`,
          actual: `one came: ${early?.text.slice(0, 400)}`,
        });
        const again = (await follow(live, await publish(context, 1))).find((event) => isDeployed(event, id));
        context.should(again === undefined, {
          expected: `one deployment.deployed of ${id}, which was deployed once`,
          actual: `a second one, event ${again?.id}`,
        });
      }
      if (tried === 0) context.notApplicable('control cannot make a deployment that is not deployed');
    }),
  ),

  check(removedEvent, { needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      const { id } = await deploy(context, live);
      await context.control.remove(id);
      const seen = await follow(live, await publish(context, 1));
      const event = seen.find(
        ({ type, envelope }) => type !== 'deployment.deployed' && JSON.stringify(envelope).includes(id),
      );
      context.note(
        event === undefined
          ? 'removing a deployment emits no event that names it'
          : `removing a deployment emits ${event.type} with ${Object.keys(payloadOf(event)).join(', ')}`,
      );
    }),
  ),
];
