/** Sections 6.1, 2.3 and 2.4: the parts of one event frame. */
import type { SseFrame } from '../../harness/client/sse-parser.ts';
import { defined } from '../../harness/common/defined.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';
import type { Deviation } from '../../harness/runner/session.ts';
import type { Requirement } from '../../harness/runner/types.ts';
import { parseObject } from '../json.ts';
import { byOracle } from './oracle/checks.ts';
import {
  type Assertions,
  DEPLOYMENT_EVENTS,
  type Device,
  EVENTS,
  RETAINED,
  SERVED,
  STREAM,
  TYPED,
} from './support/check.ts';
import { CONTENT_TYPE_ODD, FRAME_ODD } from './support/deviations.ts';
import {
  expectOnLiveAndReplay,
  ignoreRefusal,
  isDeployedEvent,
  payloadOf,
  publish,
  readUpTo,
  readUpToDeployed,
  subscribeAtKnownCursor,
} from './support/drive.ts';
import {
  carriesNoEvent,
  expectDeployedPayload,
  expectEnvelope,
  expectEventFrame,
  expectTypeForm,
  ofFrames,
  type SeenEvent,
} from './support/events.ts';
import { isEventStream } from './support/requests.ts';
import { requireRetained, sampleRetained } from './support/sample.ts';
import { section } from './support/section.ts';
import { describeAnswer, staysOpen } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, rule, checks } = section({ level: 'MUST', since: '2026-11-21' });

export const contentType = requirement({
  id: 'device.events.content-type',
  section: '4.1',
  clause: 'Response 200: SSE stream (frame format in section 6).',
  text: 'GET /events answers 200 with content-type text/event-stream; caching is off.',
});
/** Essential: no check of events can pass if no stream opens. The next check judges the content type. */
check(
  contentType,
  { aspect: 'any', profile: 'core', premises: SERVED, essential: true },
  async (t: Device, streams) => {
    for (const which of ['one', 'another']) {
      const stream = await streams.try();
      const isOpen = stream.status === 200 && (isEventStream(stream) || (await staysOpen(t, stream)));
      t.must(isOpen, { expected: `${which} stream that opens`, actual: await describeAnswer(t, stream) });
      await stream.close();
    }
  },
);

check(contentType, { profile: 'core', premises: STREAM, deviation: CONTENT_TYPE_ODD }, async (t: Device, streams) => {
  const stream = await streams.try();
  t.must(stream.status === 200 && isEventStream(stream), {
    expected: '200 with content-type text/event-stream',
    actual: await describeAnswer(t, stream),
  });
  const charset = /charset\s*=\s*"?([^";\s]+)/i.exec(stream.headers['content-type'] ?? '')?.[1];
  t.should(charset === undefined || charset.toLowerCase() === 'utf-8', {
    expected: 'no charset, or utf-8: event streams are always UTF-8',
    actual: charset,
  });
  t.should(/no-store|no-cache/i.test(stream.headers['cache-control'] ?? ''), {
    expected: 'cache-control: no-store or no-cache',
    actual: stream.headers['cache-control'] ?? 'no cache-control',
  });
});

const frame = requirement({
  id: 'device.events.frame',
  section: '6.1',
  clause:
    'Monotonically increasing integer; the replay cursor. … Type string of form `{resource}.{action}`. … ' +
    'JSON event envelope',
  text: 'Every event frame has id (a decimal integer), event, and data (one JSON envelope), in valid UTF-8.',
});
checkFrames(frame, expectEventFrame, { driven: TYPED, retained: TYPED }, FRAME_ODD);

const envelope = requirement({
  id: 'device.events.envelope',
  section: '2.3',
  clause: 'Equals the SSE `id`; monotonically increasing. … Event type; equals the SSE `event` field.',
  text:
    'The envelope has object "event", id and type equal to the SSE fields, occurred_at a date-time, ' +
    'and data an object.',
});
checkFrames(envelope, expectEnvelope, { driven: EVENTS, retained: RETAINED });

const typeForm = requirement({
  id: 'device.events.type-form',
  section: '6.2',
  clause: 'Event types are of the form `{resource}.{action}` with no per-event version suffix',
  text: 'Event types have the form {resource}.{action}, without a version suffix.',
});
checkFrames(typeForm, (t, { event }) => expectTypeForm(t, event ?? ''), {
  driven: EVENTS,
  retained: RETAINED,
});

function checkFrames(
  requirement: Requirement,
  expectOne: (t: Assertions, frame: SseFrame) => void,
  premises: { driven: string[]; retained: string[] },
  deviation?: Deviation,
): void {
  const expectAll = (t: Device, { stream }: Subscription): void => {
    for (const each of stream.frames) if (!carriesNoEvent(each)) expectOne(t, each);
    t.must(stream.framing.invalidUtf8 === 0, {
      expected: 'a stream of valid UTF-8',
      actual: `${stream.framing.invalidUtf8} lines that are not`,
    });
  };
  const allowed = defined({ deviation });
  const driven = {
    ...allowed,
    needs: ['drive'],
    sharing: 'publishing',
    profile: 'core',
    premises: premises.driven,
  } as const;
  // Publishes two events; later checks derive the speed of the device from the time between the two events.
  check(requirement, driven, (t: Device, streams) => expectOnLiveAndReplay(t, streams, () => publish(t, 2), expectAll));
  const retained = {
    ...allowed,
    aspect: 'retained',
    turn: 'last',
    profile: 'core',
    premises: premises.retained,
  } as const;
  check(requirement, retained, async (t: Device, streams) => expectAll(t, await requireRetained(t, streams)));
  rule(requirement, { premises: [requirement.id] }, ofFrames(expectOne));
}

const payload = requirement({
  id: 'device.events.payload.deployed',
  section: '2.4',
  clause: 'Payload of `deployment.deployed`',
  text:
    'deployment.deployed carries the fields of section 2.4, its status follows the merge rule, ' +
    'and deployed_at is a date-time.',
});
check(payload, { needs: ['drive'], profile: 'core', premises: DEPLOYMENT_EVENTS }, async (t: Device, streams) => {
  const { live } = await subscribeAtKnownCursor(t, streams);
  for (let round = 0; round < t.session.rounds(3); round += 1) {
    const made = await t.control.deploy();
    const seen = await readUpToDeployed(live, made);
    const { activity_status } = expectDescribed(t, made, seen);
    t.should(activity_status === 'deployed', {
      expected: 'activity_status deployed in deployment.deployed',
      actual: activity_status,
    });
  }
});

check(
  payload,
  { aspect: 'error', needs: ['drive'], premises: [payload.id, 'device.deployment.merge'] },
  async (t: Device, streams) => {
    const { live } = await subscribeAtKnownCursor(t, streams);
    let deployed = 0;
    for (const error_status of ['retrying', 'failed'] as const) {
      const wanted = { activity_status: 'deployed', target_status: 'deployed', error_status } as const;
      const made = await t.control.deploy(wanted).catch(ignoreRefusal);
      // Skips the state if control refuses it, or if the device archives the failed deployment.
      if (made?.activity_status !== 'deployed' || made.error_status !== error_status) continue;
      deployed += 1;
      const arrived = await deployedEventArrives(t, live, made.id);
      t.should(arrived, {
        expected: `deployment.deployed of ${made.id}, which is deployed, with error_status ${error_status}`,
        actual: 'none',
      });
      if (arrived) expectDescribed(t, made, live.events);
    }
    if (deployed === 0) t.notApplicable('control cannot make a deployment that is deployed with an error');
  },
);

const QUIET_MS = 500;

async function deployedEventArrives(t: Device, live: Subscription, id: string): Promise<boolean> {
  const arrived = (): boolean => live.events.some((event) => isDeployedEvent(event, id));
  await readUpTo(live, await publish(t, 1));
  if (!arrived()) await live.stream.idle(QUIET_MS, { within: 2 * QUIET_MS, for: 'a late event' });
  if (!arrived() && live.stream.unread > 0) await readUpTo(live, await publish(t, 1));
  return arrived();
}

function expectDescribed(
  t: Device,
  made: Deployment,
  seen: readonly SeenEvent[],
): { release_id?: unknown; activity_status?: unknown } {
  const event = seen.findLast((one) => isDeployedEvent(one, made.id));
  expectDeployedPayload(t, event?.envelope?.['data']);
  const shown: { release_id?: unknown; activity_status?: unknown } = event === undefined ? {} : payloadOf(event);
  t.must(shown.release_id === made.release_id, {
    expected: `release_id ${made.release_id} in deployment.deployed of ${made.id}, which was deployed with it`,
    actual: shown.release_id,
  });
  return shown;
}

check(
  payload,
  {
    aspect: 'retained',
    turn: 'last',
    profile: 'core',
    premises: ['device.events.envelope.retained', 'device.events.type-form.retained'],
  },
  async (t: Device, streams) => {
    const sample = await sampleRetained(t, streams);
    const deployed = sample?.stream.frames.filter(({ event }) => event === 'deployment.deployed') ?? [];
    for (const { data } of deployed) expectDeployedPayload(t, parseObject(data ?? '')?.['data']);
    if (deployed.length === 0) t.undecided('the device replays no deployment.deployed that it retained');
  },
);
const everyPayload = ofFrames((judge, { event, data = '' }) => {
  if (event === 'deployment.deployed') expectDeployedPayload(judge, parseObject(data)?.['data']);
});
rule(payload, { premises: [payload.id] }, everyPayload);

check(envelope, ...byOracle(envelope));

check(payload, ...byOracle(payload, { least: 'deployments' }));
