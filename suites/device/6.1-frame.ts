/** Sections 6.1, 2.3, 2.4: what one event frame is made of. */

import type { SseFrame } from '../../harness/client/sse-parser.ts';
import type { Deployment } from '../../harness/contract/deployment.ts';
import { requirement } from '../../harness/runner/define.ts';
import type { Requirement } from '../../harness/runner/types.ts';
import { ControlError } from '../../harness/targets/control/control.ts';
import { mediaType } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, isDeployed, payloadOf, publish, stir } from './support/drive.ts';
import { isControl, parseObject, type SeenEvent } from './support/events.ts';
import { judgeDeployedPayload, judgeEnvelope, judgeFrame, judgeType } from './support/judge.ts';
import { retained } from './support/retained.ts';
import { describeAnswer, type Subscription, withStreams } from './support/streams.ts';

const contentType = requirement({
  id: 'device.events.content-type',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'GET /events answers 200 with content-type text/event-stream; caching is off.',
});

const frame = requirement({
  id: 'device.events.frame',
  level: 'MUST',
  section: '6.1',
  since: '2026-11-21',
  text: 'Every event frame has id (a decimal integer), event, and data (one JSON envelope), in valid UTF-8.',
});

const envelope = requirement({
  id: 'device.events.envelope',
  level: 'MUST',
  section: '2.3',
  since: '2026-11-21',
  text: 'The envelope has object "event", id and type equal to the SSE fields, occurred_at a date-time, and data an object.',
});

const typeForm = requirement({
  id: 'device.events.type-form',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Event types have the form {resource}.{action}, without a version suffix.',
});

const payload = requirement({
  id: 'device.events.payload.deployed',
  level: 'MUST',
  section: '2.4',
  since: '2026-11-21',
  text: 'deployment.deployed carries the fields of section 2.4, its status follows the merge rule, and deployed_at is a date-time.',
});

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

/** A device may be slow to tell. */
const QUIET_MS = 500;

/** The payload tells of the deployment that was made. Gives back the payload. */
function judgeToldOf(context: Device, made: Deployment, seen: readonly SeenEvent[]): Record<string, unknown> {
  const event = seen.findLast((one) => isDeployed(one, made.id));
  judgeDeployedPayload(context, event?.envelope?.['data']);
  const told = event === undefined ? {} : payloadOf(event);
  context.must(told['release_id'] === made.release_id, {
    expected: `release_id ${made.release_id} in deployment.deployed of ${made.id}, which was deployed with it`,
    actual: told['release_id'],
  });
  return told;
}

/** A device need not have every state made for it. */
function refused(error: unknown): undefined {
  if (!(error instanceof ControlError)) throw error;
}

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
        const made = await context.control.deploy();
        const seen = await live.until((event) => isDeployed(event, made.id), `deployment.deployed of ${made.id}`);
        const payload = judgeToldOf(context, made, seen);
        context.should(payload['activity_status'] === 'deployed', {
          expected: 'activity_status deployed in deployment.deployed',
          actual: payload['activity_status'],
        });
      }
    }),
  ),
  check(payload, { aspect: 'error', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      let judged = 0;
      for (const error_status of ['retrying', 'failed'] as const) {
        const made = await context.control
          .deploy({ activity_status: 'deployed', target_status: 'deployed', error_status })
          .catch(refused);
        // What it answers decides: a device need not be driven there, and what has failed is archived.
        if (made?.activity_status !== 'deployed' || made.error_status !== error_status) continue;
        judged += 1;
        await follow(live, await publish(context, 1));
        const told = (): boolean => live.events.some((event) => isDeployed(event, made.id));
        if (!told()) await live.stream.idle(QUIET_MS, { within: 2 * QUIET_MS, for: 'what comes late' });
        if (!told() && live.stream.unread > 0) await follow(live, await publish(context, 1));
        context.should(told(), {
          expected: `deployment.deployed of ${made.id}, which is deployed, with error_status ${error_status}`,
          actual: 'none',
        });
        if (told()) judgeToldOf(context, made, live.events);
      }
      if (judged === 0) context.notApplicable('control cannot make a deployment that is deployed with an error');
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
