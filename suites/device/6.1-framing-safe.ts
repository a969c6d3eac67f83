/** Section 6.1: whatever text a deployment carries, the stream stays a stream and the JSON stays JSON. */
import fc from 'fast-check';
import type { Deployment } from '../../harness/contract/deployment.ts';
import { requirement } from '../../harness/runner/define.ts';
import { ControlError } from '../../harness/targets/control/control.ts';
import { codePoint } from '../code-points.ts';
import { currentDeployment } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { anchor, isDeployed, payloadOf } from './support/drive.ts';
import { configFile } from './support/files.ts';
import { judgeEnvelope, judgeFrame } from './support/judge.ts';
import { withStreams } from './support/streams.ts';

const framing = requirement({
  id: 'device.events.framing-safe',
  level: 'MUST',
  section: '6.1',
  since: '2026-11-21',
  text: 'Text with newlines, U+2028, quotes, emoji or 64 KiB survives a strict reader of the stream, and JSON.',
});

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
  fc.constantFrom(...AWKWARD),
  fc.string({ unit: codePoint, maxLength: 60 }),
  fc
    .array(fc.constantFrom('\n', '\r', 'data:', 'id: ', ':', ' ', '"', '\\', '\u2028', 'é', '😀'), { maxLength: 30 })
    .map((parts) => parts.join('')),
);

/** A deployment that carries the text wherever control lets it. The release id is what the event's payload shows. */
async function carry(context: Device, value: string): Promise<Deployment | undefined> {
  const request = { description: value, config_instances: [configFile(context, JSON.stringify({ value }))] };
  for (const attempt of [{ ...request, release_id: `rls_${value}` }, request]) {
    try {
      return await context.control.deploy(attempt);
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
    }
  }
  return undefined;
}

export default [
  check(framing, { needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      let carried = 0;
      await context.property(
        text,
        async (value) => {
          const from = live.stream.frames.length;
          const made = await carry(context, value);
          // A device, or a platform in between, may refuse what it does not like.
          if (made?.activity_status !== 'deployed') return;
          const whole = (): void => {
            for (const frame of live.stream.frames.slice(from)) {
              judgeFrame(context, frame);
              judgeEnvelope(context, frame);
            }
          };
          const seen = await live
            .until((event) => isDeployed(event, made.id), `deployment.deployed of ${made.id}`)
            // What the text has torn apart is no event any more: to say that none came would hide why.
            .finally(whole);
          const event = seen.at(-1);
          context.must(event !== undefined && payloadOf(event)['release_id'] === made.release_id, {
            expected: `release_id ${JSON.stringify(made.release_id.slice(0, 200))} in deployment.deployed`,
            actual: event === undefined ? 'no event' : payloadOf(event)['release_id'],
          });
          if (made.release_id.includes(value)) carried += 1;
          const body = await currentDeployment(context);
          // Control answers with the deployment as the device took it: a platform in between may have cut or trimmed the text.
          context.must(body?.['id'] !== made.id || body['description'] === made.description, {
            expected: `the description ${JSON.stringify(made.description.slice(0, 200))}`,
            actual: body?.['description'],
          });
          if (made.description !== value) context.note('control changed the description that it was given');
        },
        { runs: 24, examples: AWKWARD.map((value): [unknown] => [value]) },
      );
      context.note(
        carried === 0
          ? 'no text that was given shows up on the stream'
          : 'text given as release_id shows up on the stream',
      );
    }),
  ),
];
