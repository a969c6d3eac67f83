/** Section 6.1: any text in a deployment leaves the stream and its JSON valid. */
import fc from 'fast-check';
import type { Deployment } from '../../harness/contract/device-api.ts';
import { codePoint } from '../../harness/runner/property.ts';
import { DEPLOYMENT_EVENTS, type Device } from './support/check.ts';
import { configFile } from './support/disk.ts';
import { ignoreRefusal, payloadOf, readUpToDeployed, subscribeAtKnownCursor } from './support/drive.ts';
import { expectEnvelope, expectEventFrame } from './support/events.ts';
import { currentDeployment } from './support/requests.ts';
import { section } from './support/section.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ section: '6.1', since: '2026-11-21' });

const framing = requirement({
  id: 'device.events.framing-safe',
  level: 'MUST',
  clause: 'JSON event envelope (section 2.3).',
  text:
    'Text with newlines, U+2028, quotes, emoji or 64 KiB arrives unchanged in a stream that a strict reader can ' +
    'parse, and in JSON.',
});
const asked = {
  needs: ['drive'],
  premises: DEPLOYMENT_EVENTS,
  least: { 'awkward texts': 5 },
  orElse: 'control, and a platform behind it, have to take such text',
} as const;
check(framing, asked, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  let onStream = 0;
  await t.property(
    text,
    async (value) => {
      const from = live.stream.frames.length;
      const made = await deployWith(t, value);
      if (made?.activity_status !== 'deployed') return;
      await expectIntact(t, live, from, made);
      t.saw('awkward texts');
      if (made.release_id.includes(value)) onStream += 1;
      const body = await currentDeployment(t);
      // Expects the description from control's answer, because a platform may shorten the requested description.
      t.must(body?.['id'] !== made.id || body['description'] === made.description, {
        expected: `the description ${JSON.stringify(made.description.slice(0, 200))}`,
        actual: body?.['description'],
      });
      if (made.description !== value) t.note('control changed the description that it was given');
    },
    {
      runs: AWKWARD.length + 6,
      examples: AWKWARD.map((value): [unknown] => [value]),
      describe: (value) => `a description and a release_id that hold ${showText(value)}`,
    },
  );
  t.observe('a release_id that was given', onStream === 0 ? 'not on the stream' : 'on the stream');
});

const showText = (value: string): string =>
  value.length > 200 ? `${JSON.stringify(value.slice(0, 20))}… (${value.length} characters)` : JSON.stringify(value);

const AWKWARD: string[] = [
  'one\ntwo',
  'one\r\ntwo\rthree',
  '\n\n',
  'x\n\nid: 1\nevent: forged.event\ndata: {"object":"event"}\n\n',
  ': heartbeat\n\n',
  '\u2028 and \u2029 and \u0085 and \uFEFF',
  '"quoted" \\ \'single\' \\u0000 </script>',
  '😀👩‍👩‍👧‍👦 ‏שלום‎ n\u0303',
  '\u0001\u0007\u001b[31m',
  'x'.repeat(64 * 1024),
  '😀'.repeat(8 * 1024),
];

const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: codePoint, maxLength: 60 }),
  fc
    .array(fc.constantFrom('\n', '\r', 'data:', 'id: ', ':', ' ', '"', '\\', '\u2028', 'é', '😀'), { maxLength: 30 })
    .map((parts) => parts.join('')),
);

/** Puts the text also into the release id if control accepts it, because events carry no description. */
async function deployWith(t: Device, value: string): Promise<Deployment | undefined> {
  const request = { description: value, config_instances: [configFile(JSON.stringify({ value }))] };
  const withRelease = { ...request, release_id: `rls_${value}` };
  return (
    (await t.control.deploy(withRelease).catch(ignoreRefusal)) ?? (await t.control.deploy(request).catch(ignoreRefusal))
  );
}

async function expectIntact(t: Device, live: Subscription, from: number, made: Deployment): Promise<void> {
  const expectValidFrames = (): void => {
    for (const frame of live.stream.frames.slice(from)) {
      expectEventFrame(t, frame);
      expectEnvelope(t, frame);
    }
  };
  const seen = await readUpToDeployed(live, made)
    // Reports a broken frame instead of the missing event that the broken frame explains.
    .finally(expectValidFrames);
  const event = seen.at(-1);
  t.must(event !== undefined && payloadOf(event)['release_id'] === made.release_id, {
    expected: `release_id ${JSON.stringify(made.release_id.slice(0, 200))} in deployment.deployed`,
    actual: event === undefined ? 'no event' : payloadOf(event)['release_id'],
  });
}
