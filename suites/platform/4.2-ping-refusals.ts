/** Section 4.2: refusals of a ping with a wrong body or of an unknown device. */
import fc from 'fast-check';
import { codePoint, eachAtOnce } from '../../harness/runner/property.ts';
import { type Platform, section } from './support/check.ts';
import { describePing, MILLISECOND_NANOS, ping, requirePing } from './support/ping.ts';
import { describeRequest, describeResponse, refused, serverError } from './support/requests.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '4.2', since: '2026-11-21' });

const badBody = requirement({
  id: 'platform.ping.bad-body',
  clause: 'JSON object with `timeout_nanos` (integer, at most 10 seconds expressed in nanoseconds)',
  text: 'A ping whose body is not a JSON object, or whose timeout_nanos is not an integer, is refused with a 4xx.',
});
const BAD_BODIES = [
  '{',
  'timeout_nanos=1000000',
  '[]',
  '[{"timeout_nanos":1000000}]',
  '"1000000"',
  '1000000',
  'null',
  '{"timeout_nanos":"soon"}',
  '{"timeout_nanos":{}}',
  '{"timeout_nanos":[1000000]}',
  '{"timeout_nanos":true}',
  '{"timeout_nanos":1000000.5}',
  '{"timeout_nanos":1000000}}',
  `{"timeout_nanos":${'['.repeat(2000)}${']'.repeat(2000)}}`,
];
/** Bodies that the specification does not mention; the check only records the answers. */
const UNSPECIFIED_BODIES = [
  '',
  '{}',
  '{"timeout_nanos":null}',
  '{"timeout_nanos":0}',
  '{"timeout_nanos":-1}',
  '{"timeout_nanos":"1000000"}',
  '{"timeout_nanos":1e6}',
];
check(badBody, { writes: true }, async (t: Platform) => {
  const device = await requirePing(t);
  await eachAtOnce(t, BAD_BODIES, async (body) => {
    const response = await ping(t, device, body);
    t.must(refused(response), {
      expected: `a 4xx to a ping with the body ${body.slice(0, 60)}`,
      actual: describeResponse(response),
      counterexample: describeRequest('POST', `/devices/${device}/ping`, body),
    });
  });
  await eachAtOnce(t, UNSPECIFIED_BODIES, async (body) => {
    const response = await ping(t, device, body);
    const shown = body === '' ? 'no body' : body;
    t.must(!serverError(response) || response.status === 504, {
      expected: 'no 5xx',
      actual: describeResponse(response),
      counterexample: describeRequest('POST', `/devices/${device}/ping`, body),
    });
    t.observe(`a ping with ${shown}`, response.status);
  });
});

const unknownDevice = requirement({
  id: 'platform.ping.unknown-device',
  clause: '`device_id` (string, device identifier)',
  text: 'A ping of a device that does not exist is refused with a 4xx.',
});
/** Path segments that a server may resolve by a redirect (RFC 3986, section 5.2.4). */
const DOT_SEGMENTS = ['.', '..'];
const UNKNOWN_DEVICES = [
  'dvc_',
  'dvc_0000000000000000',
  'dpl_1',
  '%',
  "' OR '1'='1",
  'dvc_\u0000',
  'a'.repeat(2000),
  ...DOT_SEGMENTS,
];
const describeUnknown = (device: string): string =>
  describePing(encodeURIComponent(device.slice(0, 100)), MILLISECOND_NANOS);
check(unknownDevice, { writes: true }, async (t: Platform) => {
  await requirePing(t);
  const anyUnknownDevice = fc.oneof(
    fc
      .string({ unit: fc.constantFrom(...'abcdefghijkmnpqrstuvwxyz0123456789'), minLength: 12, maxLength: 30 })
      .map((text) => `dvc_${text}`),
    fc.string({ unit: codePoint, minLength: 1, maxLength: 12 }),
  );
  await t.property(
    anyUnknownDevice,
    async (device) => {
      const response = await ping(t, device, { timeout_nanos: MILLISECOND_NANOS });
      const isElsewhere = DOT_SEGMENTS.includes(device) && response.status >= 300 && response.status < 400;
      t.must(refused(response) || isElsewhere, {
        expected: 'a 4xx to the ping of a device that does not exist',
        actual: describeResponse(response),
        counterexample: describeUnknown(device),
      });
    },
    {
      runs: UNKNOWN_DEVICES.length + 8,
      examples: UNKNOWN_DEVICES.map((device): [unknown] => [device]),
      describe: describeUnknown,
    },
  );
});
