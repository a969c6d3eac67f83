import { instantOf } from '../../../harness/contract/shape.ts';
import type { StoredEvent } from '../../device/log/line.ts';
import {
  asksForEvents,
  type DeviceChanges,
  defect,
  type Envelope,
  envelopeText,
  onSome,
  rewritten,
  variant,
} from '../define-device.ts';

type EnvelopeChange = (envelope: Envelope, event: StoredEvent) => Envelope;

const envelope = (change: EnvelopeChange): DeviceChanges => ({
  stream: ({ frame }) => ({ frame: (event) => frame(rewritten(event, (each) => change(each, event))) }),
});
const envelopeDefect = (name: string, summary: string, change: EnvelopeChange) =>
  defect(name, summary, ['device.events.envelope'], envelope(change));

const payload = (change: (data: object) => object): DeviceChanges => ({
  deployments: { event: ({ type, data }) => ({ type, data: change(data) }) },
});
const twoHoursAhead = (time: string, offset: string): string =>
  new Date(instantOf(time) + 2 * 60 * 60 * 1_000).toISOString().replace('Z', offset);
const timesAs = (write: (time: string) => string): DeviceChanges => ({
  http: { deploymentBody: (deployment) => ({ ...deployment, created_at: write(deployment.created_at) }) },
  deployments: {
    occurredAt: write,
    event: ({ type, data }) => ({
      type,
      data: Object.fromEntries(
        Object.entries(data).map(([name, value]) => [name, name.endsWith('_at') ? write(String(value)) : value]),
      ),
    }),
  },
});

const lineEnds = (end: string): DeviceChanges => ({
  stream: ({ frame, heartbeat }) => ({
    frame: (event) => frame(event).replaceAll('\n', end),
    heartbeat: (now) => heartbeat(now).replaceAll('\n', end),
  }),
});

/** Group of variants that exclude each other, because one would turn the CR LF of the other into two line ends. */
const LINE_ENDS = { alternative: 'line-ends' };

const MONOTONIC = ['device.events.monotonic'];
const DEPLOYED = ['device.events.payload.deployed'];
const FRAMING_SAFE = ['device.events.framing-safe'];

export const defects = [
  defect('events-as-json', 'Sends the stream as application/json.', ['device.events.content-type'], {
    stream: ({ headers }) => ({ headers: { ...headers, 'Content-Type': 'application/json' } }),
  }),
  defect(
    'hangs-every-second-stream',
    'Accepts every second request for events, and never answers it.',
    ['device.events.content-type'],
    () => {
      let asked = 0;
      return { http: onSome((request) => asksForEvents(request) && ++asked % 2 === 0) };
    },
  ),
  defect('frame-without-id', 'Sends frames without an id.', ['device.events.frame'], {
    stream: ({ frame }) => ({ frame: (event) => frame(event).replace(/^id: .*\n/, '') }),
  }),
  defect('frame-without-event', 'Sends frames without the event field.', ['device.events.frame'], {
    stream: ({ frame }) => ({ frame: (event) => frame(event).replace(/^event: .*\n/m, '') }),
  }),
  defect('frame-id-prefixed', 'Sends ids as evt_5 instead of 5.', ['device.events.frame'], {
    stream: ({ frame }) => ({ frame: (event) => frame(event).replace(/^id: /, 'id: evt_') }),
  }),
  envelopeDefect(
    'frame-payload-only',
    'Sends the payload where the envelope belongs.',
    (envelope) => envelope['data'] as typeof envelope,
  ),
  envelopeDefect(
    'envelope-id-differs',
    'Counts ids in the envelope from 0 and in the frame from 1.',
    (envelope, event) => ({ ...envelope, id: event.id - 1 }),
  ),
  envelopeDefect('envelope-time-an-hour-ago', 'Writes an occurred_at that is an hour ago.', (envelope) => ({
    ...envelope,
    occurred_at: new Date(Date.parse(String(envelope['occurred_at'])) - 3_600_000).toISOString(),
  })),
  envelopeDefect('envelope-time-local', 'Writes occurred_at as a local date and time.', (envelope) => ({
    ...envelope,
    occurred_at: String(envelope['occurred_at']).replace('T', ' ').slice(0, 19),
  })),
  defect('type-with-version', 'Appends a version to the event type.', ['device.events.type-form'], {
    deployments: { event: ({ type, data }) => ({ type: `${type}.v1`, data }) },
  }),
  defect('type-underscore', 'Writes event types with an underscore.', ['device.events.type-form'], {
    deployments: { event: ({ type, data }) => ({ type: type.replace('.', '_'), data }) },
  }),
  defect(
    'payload-status-is-activity',
    'Gives the activity as status in the payload, whatever the error status is.',
    DEPLOYED,
    payload((data) => ({ ...data, status: Reflect.get(data, 'activity_status') })),
  ),
  defect(
    'deployed-untold-with-error',
    'Publishes no event for a deployment that is deployed while an error stands.',
    DEPLOYED,
    { deployments: { announce: (events, { deployment }) => (deployment.error_status === 'none' ? events : []) } },
  ),
  defect('payload-release-before', 'Names the release of the previous deployment in the payload.', DEPLOYED, () => {
    let before: unknown;
    return {
      deployments: {
        event: ({ type, data }) => {
          if (type !== 'deployment.deployed') return { type, data };
          const release = Reflect.get(data, 'release_id');
          const changed = { ...data, release_id: before ?? release };
          before = release;
          return { type, data: changed };
        },
      },
    };
  }),
  defect('newlines-raw', 'Writes line breaks in a text into the stream unescaped.', FRAMING_SAFE, {
    stream: envelopeText((text) => text.replaceAll('\\n', '\n')),
  }),
  defect('non-ascii-lost', 'Writes a question mark for every character outside ASCII.', FRAMING_SAFE, {
    stream: ({ frame }) => ({ frame: (event) => frame(event).replace(/[^\x20-\x7e\n]/gu, '?') }),
  }),
  defect('long-data-cut', 'Cuts data off after 16 KiB.', FRAMING_SAFE, {
    stream: envelopeText((text) => text.slice(0, 16_384)),
  }),
  defect('separators-break-lines', 'Ends a line at U+2028, as some text libraries do.', FRAMING_SAFE, {
    stream: envelopeText((text) => text.replaceAll('\u2028', '\n')),
  }),
  defect('batch-reversed', 'Delivers the events of one commit newest first.', MONOTONIC, {
    stream: { session: () => ({ live: (events) => events.toReversed() }) },
  }),
  defect(
    'cursor-moves-back',
    'Repeats an older event behind a newer one, which moves the cursor of a client back.',
    MONOTONIC,
    {
      stream: {
        session: () => {
          let before: StoredEvent | undefined;
          return {
            live: (events) => {
              const repeated = before ? [...events, before] : events;
              before = events.at(-1);
              return repeated;
            },
          };
        },
      },
    },
  ),
  defect('ids-shared-by-two', 'Gives every two events the same id, as too coarse a clock would.', MONOTONIC, {
    stream: ({ frame }) => ({
      frame: (event) => {
        const id = event.id + (event.id % 2);
        return frame({ ...event, id, json: event.json.replace(`"id":${event.id}`, `"id":${id}`) });
      },
    }),
  }),
];

export const variants = [
  variant('charset-named', 'Names the charset with each content type.', {
    http: { jsonType: 'application/json; charset=utf-8' },
    stream: ({ headers }) => ({ headers: { ...headers, 'Content-Type': 'text/event-stream; charset=utf-8' } }),
  }),
  variant('extra-fields', 'Adds fields that the specification does not show to deployments, envelopes and payloads.', {
    http: { deploymentBody: (deployment) => ({ ...deployment, updated_at: deployment.created_at, labels: {} }) },
    ...payload((data) => ({ ...data, config_instances: [], note: null })),
    stream: envelopeText((text) => text.replace(/}$/, ',"trace":{"id":7}}')),
  }),
  variant('fields-in-other-order', 'Writes data first, then event, then id, and no space behind the colons.', {
    stream: { frame: ({ id, type, json }) => `data:${json}\nevent:${type}\nid:${id}\n\n` },
  }),
  variant(
    'keys-in-other-order',
    'Writes the members of the envelope in another order.',
    envelope(({ data, occurred_at, type, id, object }) => ({ data, occurred_at, type, id, object })),
  ),
  variant('retry-field', 'Sends the retry field of the standard at the start, and in every frame.', {
    stream: ({ frame }) => ({ preamble: 'retry: 500\n\n', frame: (event) => `retry: 500\n${frame(event)}` }),
  }),
  variant(
    'times-with-offset',
    'Writes times with nanoseconds and an offset.',
    timesAs((time) => twoHoursAhead(time, '000123+02:00')),
  ),
  variant(
    'times-without-offset',
    'Writes times without an offset, by its own clock, which is two hours ahead of UTC.',
    timesAs((time) => twoHoursAhead(time, '')),
  ),
  variant(
    'times-rounded',
    'Rounds times to the nearest second.',
    timesAs((time) => new Date(Math.round(instantOf(time) / 1_000) * 1_000).toISOString().replace(/\.\d+/, '')),
  ),
  variant(
    'times-in-seconds',
    'Writes times without a fraction of a second.',
    timesAs((time) => time.replace(/\.\d+/, '')),
  ),
  variant('says-when-it-answered', 'Adds the time of the answer to deployments, and that of sending to envelopes.', {
    http: { deploymentBody: (deployment) => ({ ...deployment, served_at: performance.now() }) },
    stream: envelopeText((text) => text.replace(/}$/, `,"sent_at":${performance.now()}}`)),
  }),
  variant(
    'blocks-without-data',
    'Sends blocks of an event name, or of the last id, without data: clients dispatch nothing for them.',
    {
      stream: ({ frame }) => ({
        preamble: 'event: stream.opened\n\n',
        frame: (event) => `${frame(event)}id: ${event.id}\n\n`,
      }),
    },
  ),
  variant('chunk-by-byte', 'Sends each byte as an HTTP chunk of its own.', {
    stream: ({ chunk }) => ({ chunk: (body) => Buffer.concat(Array.from(body, (byte) => chunk(Buffer.of(byte)))) }),
  }),
  variant('line-ends-crlf', 'Ends lines with CR LF, as event streams may.', lineEnds('\r\n'), LINE_ENDS),
  variant('line-ends-cr', 'Ends lines with CR alone, as event streams may.', lineEnds('\r'), LINE_ENDS),
  variant('data-in-lines', 'Writes the envelope over several data lines, which a client joins.', {
    stream: {
      frame: (event) => {
        const data = JSON.stringify(JSON.parse(event.json), null, 2).split('\n');
        return `id: ${event.id}\nevent: ${event.type}\n${data.map((line) => `data: ${line}\n`).join('')}\n`;
      },
    },
  }),
  variant('byte-order-mark', 'Begins the stream with a byte order mark, as event streams may.', {
    stream: { preamble: '\uFEFF' },
  }),
  variant('ids-start-high', 'Starts ids at a million.', {
    log: ({ highest }) => ({ highest: (last, mark, damaged) => Math.max(highest(last, mark, damaged), 1_000_000) }),
  }),
  variant('ids-with-gaps', 'Leaves gaps between ids: the specification only asks that they increase.', {
    log: { idStep: 7 },
  }),
];
