/** Sections 6.1, 2.3, 2.4: what one event frame is made of. */
import { requirement } from '../../harness/check/define.ts';
import type { Requirement } from '../../harness/check/types.ts';
import type { SseFrame } from '../../harness/client/sse-parser.ts';
import { mediaType } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { anchor, deploy, follow, payloadOf, stir } from './support/drive.ts';
import { isControl, parseObject } from './support/events.ts';
import { judgeDeployedPayload, judgeEnvelope, judgeFrame, judgeType } from './support/judge.ts';
import { retained } from './support/retained.ts';
import { describeAnswer, type Subscription, withStreams } from './support/streams.ts';

const contentType = requirement(
  'device.events.content-type',
  'MUST',
  '4.1',
  'GET /events answers 200 with content-type text/event-stream; caching is off.',
);

const frame = requirement(
  'device.events.frame',
  'MUST',
  '6.1',
  'Every event frame has id (a decimal integer), event, and data (one JSON envelope), in valid UTF-8.',
);

const envelope = requirement(
  'device.events.envelope',
  'MUST',
  '2.3',
  'The envelope has object "event", id and type equal to the SSE fields, occurred_at a date-time, and data an object.',
);

const typeForm = requirement(
  'device.events.type-form',
  'MUST',
  '6.2',
  'Event types have the form {resource}.{action}, without a version suffix.',
);

const payload = requirement(
  'device.events.payload.deployed',
  'MUST',
  '2.4',
  'deployment.deployed carries the fields of section 2.4, its status follows the merge rule, and deployed_at is a date-time.',
);

const judges: { holds: Requirement; judge(context: Device, frame: SseFrame): void }[] = [
  { holds: frame, judge: judgeFrame },
  { holds: envelope, judge: judgeEnvelope },
  { holds: typeForm, judge: (context, { event }) => judgeType(context, event ?? '') },
];

/** Judges every frame that has come, blocks that carry nothing of an event aside. */
function judgeAll(context: Device, subscription: Subscription, judge: (typeof judges)[number]['judge']): void {
  const { frames, framing } = subscription.stream;
  for (const each of frames) if (!isControl(each)) judge(context, each);
  context.must(framing.invalidUtf8 === 0, {
    expected: 'a stream of valid UTF-8',
    actual: `${framing.invalidUtf8} lines that are not`,
  });
}

const judgePayloads = (context: Device, subscription: Subscription): number => {
  const deployed = subscription.stream.frames.filter(({ event }) => event === 'deployment.deployed');
  for (const { data } of deployed) judgeDeployedPayload(context, parseObject(data ?? '')?.['data']);
  return deployed.length;
};

export default [
  check(contentType, { sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const stream = await streams.try();
      context.must(stream.status === 200 && mediaType(stream.headers) === 'text/event-stream', {
        expected: '200 with content-type text/event-stream',
        actual: await describeAnswer(context, stream),
      });
      const charset = /charset\s*=\s*"?([^";\s]+)/i.exec(stream.headers['content-type'] ?? '')?.[1];
      context.should(charset === undefined || charset.toLowerCase() === 'utf-8', {
        expected: 'no charset, or utf-8: event streams are always UTF-8',
        actual: charset,
      });
      context.should(/no-store|no-cache/i.test(stream.headers['cache-control'] ?? ''), {
        expected: 'cache-control: no-store or no-cache',
        actual: stream.headers['cache-control'] ?? 'no cache-control',
      });
    }),
  ),

  ...judges.flatMap(({ holds, judge }) => [
    check(holds, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
      withStreams(context, async (streams) => {
        const { live, cursor } = await anchor(context, streams);
        const published = await stir(context);
        await follow(live, published);
        judgeAll(context, live, judge);
        const replay = await streams.open({ after: cursor });
        await follow(replay, published);
        judgeAll(context, replay, judge);
      }),
    ),
    check(holds, { aspect: 'retained', sharing: 'shared' }, (context: Device) =>
      withStreams(context, async (streams) => {
        const found = await retained(context, streams);
        if (found === undefined) context.notApplicable('the device replays no event that it retained');
        judgeAll(context, found.sample, judge);
      }),
    ),
  ]),

  check(payload, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      for (let round = 0; round < 3; round += 1) {
        const { event } = await deploy(context, live);
        judgeDeployedPayload(context, event.envelope?.['data']);
        context.should(payloadOf(event)['activity_status'] === 'deployed', {
          expected: 'activity_status deployed in deployment.deployed',
          actual: payloadOf(event)['activity_status'],
        });
      }
    }),
  ),
  check(payload, { aspect: 'retained', sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const found = await retained(context, streams);
      if (found === undefined || judgePayloads(context, found.sample) === 0)
        context.notApplicable('the device replays no deployment.deployed that it retained');
    }),
  ),
];
