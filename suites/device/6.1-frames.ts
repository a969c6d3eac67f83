/** Sections 2.3, 2.4 and 6.1: frames, envelopes and payloads of events, and rising ids. */
import fc from 'fast-check';
import type { SseFrame } from '../../harness/client/sse-parser.ts';
import { parseObject } from '../../harness/common/lenient.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';
import { codePoint } from '../../harness/runner/property.ts';
import type { Judge } from '../../harness/runner/rules.ts';
import type { Deviation } from '../../harness/runner/session.ts';
import type { Requirement } from '../../harness/runner/types.ts';
import { byOracle } from './oracle/explore.ts';
import { type Assertions, DEPLOYMENT_EVENTS, type Device, EVENTS, RETAINED, SERVED, STREAM } from './support/check.ts';
import { CONTENT_TYPE_ODD, FRAME_ODD } from './support/deviations.ts';
import { configFile } from './support/disk.ts';
import {
  eventBudget,
  expectOnLiveAndReplay,
  ignoreRefusal,
  isDeployedEvent,
  type Published,
  payloadOf,
  publish,
  readUpTo,
  readUpToDeployed,
  subscribeAtKnownCursor,
} from './support/drive.ts';
import {
  carriesNoEvent,
  DECIMAL,
  eventsOf,
  expectDeployedPayload,
  expectEnvelope,
  expectEventFrame,
  expectTypeForm,
  frameText,
  ofFrames,
  REMEMBERED,
  Recollection,
  type SeenEvent,
  sameEnvelope,
} from './support/events.ts';
import { requireRetained, sampleRetained } from './support/replays.ts';
import { currentDeployment, isEventStream } from './support/requests.ts';
import { PUBLISHING, RETAINED_ONLY, section } from './support/section.ts';
import { describeAnswer, staysOpen } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, rule, checks } = section({ section: '6.1', since: '2026-11-21' });

export const contentType = requirement({
  id: 'device.events.content-type',
  level: 'MUST',
  section: '4.1',
  clause: 'Response 200: SSE stream (frame format in section 6).',
  text: 'GET /events answers 200 with content-type text/event-stream; caching is off.',
});
/** Essential, because no check of events can pass if no stream opens. */
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
  level: 'MUST',
  section: '6.1',
  clause:
    'Monotonically increasing integer; the replay cursor. … Type string of form `{resource}.{action}`. … ' +
    'JSON event envelope',
  text: 'Every event frame has id (a decimal integer), event, and data (one JSON envelope), in valid UTF-8.',
});
checkFrames(frame, expectEventFrame, {
  driven: [contentType.id],
  retained: [contentType.id],
  traffic: 'an event on a stream',
  deviation: FRAME_ODD,
});

const envelope = requirement({
  id: 'device.events.envelope',
  level: 'MUST',
  section: '2.3',
  clause: 'Equals the SSE `id`; monotonically increasing. … Event type; equals the SSE `event` field.',
  text:
    'The envelope has object "event", id and type equal to the SSE fields, occurred_at a date-time, ' +
    'and data an object.',
});
checkFrames(envelope, expectEnvelope, { driven: EVENTS, retained: RETAINED, traffic: 'an event with its envelope' });

const typeForm = requirement({
  id: 'device.events.type-form',
  level: 'MUST',
  section: '6.2',
  clause: 'Event types are of the form `{resource}.{action}` with no per-event version suffix',
  text: 'Event types have the form {resource}.{action}, without a version suffix.',
});
checkFrames(typeForm, (t, { event }) => expectTypeForm(t, event ?? ''), {
  driven: EVENTS,
  retained: RETAINED,
  traffic: 'an event with its type',
});

function checkFrames(
  requirement: Requirement,
  expectOne: (t: Assertions, frame: SseFrame) => void,
  options: { driven: string[]; retained: string[]; traffic: string; deviation?: Deviation },
): void {
  const { driven, retained, traffic, ...deviation } = options;
  const expectAll = (t: Device, { stream }: Subscription): void => {
    for (const each of stream.frames) if (!carriesNoEvent(each)) expectOne(t, each);
    t.must(stream.invalidLines === 0, {
      expected: 'a stream of valid UTF-8',
      actual: `${stream.invalidLines} lines that are not`,
    });
  };
  // Publishes two events, because later checks derive the speed of the device from the time between them.
  check(requirement, { ...PUBLISHING, ...deviation, profile: 'core', premises: driven }, (t: Device, streams) =>
    expectOnLiveAndReplay(t, streams, () => publish(t, 2), expectAll),
  );
  check(requirement, { ...RETAINED_ONLY, ...deviation, premises: retained }, async (t: Device, streams) =>
    expectAll(t, await requireRetained(t, streams)),
  );
  rule(requirement, { premises: [requirement.id], traffic }, ofFrames(expectOne));
}

const payload = requirement({
  id: 'device.events.payload.deployed',
  level: 'MUST',
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
    const { activity_status } = expectDescribed(t, made, await readUpToDeployed(live, made));
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
      if (made?.activity_status !== 'deployed' || made.error_status !== error_status) continue;
      deployed += 1;
      const arrived = (): SeenEvent | undefined => live.events.findLast((event) => isDeployedEvent(event, made.id));
      await readUpTo(live, await publish(t, 1));
      if (arrived() === undefined) await live.stream.idle(QUIET_MS, { within: 2 * QUIET_MS, for: 'a late event' });
      if (arrived() === undefined && live.stream.unread > 0) await readUpTo(live, await publish(t, 1));
      const event = arrived();
      t.should(event !== undefined, {
        expected: `deployment.deployed of ${made.id}, which is deployed, with error_status ${error_status}`,
        actual: 'none',
      });
      if (event !== undefined) expectDescribed(t, made, event);
    }
    if (deployed === 0) t.notApplicable('control cannot make a deployment that is deployed with an error');
  },
);

const QUIET_MS = 500;

function expectDescribed(t: Device, made: Deployment, event: SeenEvent): Record<string, unknown> {
  expectDeployedPayload(t, event.envelope?.['data']);
  const shown = payloadOf(event);
  t.must(shown['release_id'] === made.release_id, {
    expected: `release_id ${made.release_id} in deployment.deployed of ${made.id}, which was deployed with it`,
    actual: shown['release_id'],
  });
  return shown;
}

check(
  payload,
  { ...RETAINED_ONLY, premises: ['device.events.envelope.retained', 'device.events.type-form.retained'] },
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
rule(payload, { premises: [payload.id], traffic: 'an event deployment.deployed' }, everyPayload);

byOracle(check, envelope, { aspect: 'oracle' });
byOracle(check, payload, { aspect: 'oracle', least: 'deployments' });

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
      const given = { description: value, config_instances: [configFile(JSON.stringify({ value }))] };
      // Tries the text in the release id, because events carry no description.
      const made =
        (await t.control.deploy({ ...given, release_id: `rls_${value}` }).catch(ignoreRefusal)) ??
        (await t.control.deploy(given).catch(ignoreRefusal));
      if (made?.activity_status !== 'deployed') return;
      await expectIntact(t, live, from, made);
      t.saw('awkward texts');
      if (made.release_id.includes(value)) onStream += 1;
      const body = await currentDeployment(t);
      // Compares with control's answer, because a platform may shorten a description.
      t.must(body?.['id'] !== made.id || body['description'] === made.description, {
        expected: `the description ${JSON.stringify(made.description.slice(0, 200))}`,
        actual: body?.['description'],
      });
      if (made.description !== value) t.note('control changed the description that it was given');
    },
    {
      runs: AWKWARD.length + 6,
      examples: AWKWARD.map((value): [unknown] => [value]),
      describe: (value) => {
        const shown = JSON.stringify(value.length > 200 ? value.slice(0, 20) : value);
        const more = value.length > 200 ? `… (${value.length} characters)` : '';
        return `a description and a release_id that hold ${shown}${more}`;
      },
    },
  );
  t.observe('a release_id that was given', onStream === 0 ? 'not on the stream' : 'on the stream');
  if (onStream === 0) t.notApplicable('control lets no given text come on the stream');
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
  fc.string({ unit: codePoint, maxLength: 60 }),
  fc
    .array(fc.constantFrom('\n', '\r', 'data:', 'id: ', ':', ' ', '"', '\\', '\u2028', 'é', '😀'), { maxLength: 30 })
    .map((parts) => parts.join('')),
);

async function expectIntact(t: Device, live: Subscription, from: number, made: Deployment): Promise<void> {
  const event = await readUpToDeployed(live, made).finally(() => {
    // Judges the frames even if the event is missing, because a broken frame explains why.
    for (const frame of live.stream.frames.slice(from)) {
      if (carriesNoEvent(frame)) continue;
      expectEventFrame(t, frame);
      expectEnvelope(t, frame);
    }
  });
  const { release_id } = payloadOf(event);
  t.must(release_id === made.release_id, {
    expected: `release_id ${JSON.stringify(made.release_id.slice(0, 200))} in deployment.deployed`,
    actual: release_id,
  });
}

const monotonic = requirement({
  id: 'device.events.monotonic',
  level: 'MUST',
  clause: 'Monotonically increasing integer; the replay cursor.',
  text:
    'Within a connection every event that was not seen before has an id above all earlier ones; ' +
    'the same event comes once.',
});
check(
  monotonic,
  { ...PUBLISHING, profile: 'core', premises: ['device.events.frame'], least: { events: 4 } },
  (t: Device, streams) => {
    const publishAtOnce = async (): Promise<Published> => {
      const portion = Math.ceil(eventBudget(t, 40) / 4);
      await Promise.all(Array.from({ length: 4 }, () => publish(t, portion)));
      return await publish(t, 1);
    };
    return expectOnLiveAndReplay(t, streams, publishAtOnce, expectRisingIds);
  },
);

check(
  monotonic,
  {
    ...RETAINED_ONLY,
    premises: ['device.events.frame.retained'],
    least: { events: 2 },
    orElse: 'a log that keeps two events or more shows their order',
  },
  async (t: Device, streams) => expectRisingIds(t, await requireRetained(t, streams)),
);

rule(monotonic, { premises: [monotonic.id], traffic: 'an event after another on its stream' }, () => {
  const streams = new WeakMap<object, { highest: bigint; ids: Recollection<true> }>();
  return (seen, judge: Judge) => {
    if (seen.kind !== 'frame' || !DECIMAL.test(seen.frame.id ?? '') || carriesNoEvent(seen.frame)) return;
    const id = BigInt(seen.frame.id ?? '');
    const { highest, ids } = streams.get(seen.stream) ?? { highest: id, ids: new Recollection() };
    // Takes an id below the oldest remembered one as repeated, because a full memory has forgotten earlier events.
    const [oldest = id] = ids.keys();
    const isRepeated = ids.has(`${id}`) || (ids.size === REMEMBERED && id < BigInt(oldest));
    if (!isRepeated) ids.set(`${id}`, true);
    streams.set(seen.stream, { highest: id > highest ? id : highest, ids });
    judge.saw(() => frameText(seen.frame));
    judge.must(isRepeated || id >= highest, {
      expected: `an id above ${highest}, the highest so far on this stream`,
      actual: `event ${id}`,
    });
  };
});

function expectRisingIds(t: Device, { stream }: Subscription): void {
  const seen = new Map<bigint, SeenEvent>();
  let highest: bigint | undefined;
  for (const event of eventsOf(t, stream)) {
    const before = seen.get(event.id);
    t.must(before === undefined || (before.type === event.type && sameEnvelope(before.envelope, event.envelope)), {
      expected: `an id of its own for each event; ${event.id} is that of ${before?.text.slice(0, 300)}`,
      actual: event.text.slice(0, 300),
    });
    t.should(before === undefined, {
      expected: 'each event once in a connection',
      actual: `event ${event.id} again after event ${highest}`,
    });
    t.must(before !== undefined || highest === undefined || event.id > highest, {
      expected: `an id above ${highest}, the highest so far`,
      actual: `new event ${event.id}`,
    });
    seen.set(event.id, before ?? event);
    if (highest === undefined || event.id > highest) highest = event.id;
  }
}

byOracle(check, monotonic, { aspect: 'oracle' });
