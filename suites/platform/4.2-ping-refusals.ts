/** Section 4.2: pings that are refused, for their body or for their device. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { codePoint } from '../code-points.ts';
import { ping, pingsAreServed } from './support/devices.ts';
import { check, type Platform } from './support/platform.ts';
import { broken, refused, said } from './support/send.ts';

const MILLISECOND = 1_000_000;

const BAD_BODY = requirement({
  id: 'platform.ping.bad-body',
  level: 'SHOULD',
  section: '4.2',
  since: '2026-11-21',
  text: 'A ping whose body is no JSON object, or whose timeout_nanos is no integer, is refused with a 4xx.',
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
/** What the specification leaves open: recorded only. */
const OPEN_BODIES = [
  '',
  '{}',
  '{"timeout_nanos":null}',
  '{"timeout_nanos":0}',
  '{"timeout_nanos":-1}',
  '{"timeout_nanos":"1000000"}',
  '{"timeout_nanos":1e6}',
];

const badBody = check(BAD_BODY, {}, async (t: Platform) => {
  const device = await pingsAreServed(t);
  const answers = await Promise.all(BAD_BODIES.map((body) => ping(t, device, body)));
  for (const [index, response] of answers.entries()) {
    t.must(refused(response), {
      expected: `a 4xx to a ping with the body ${(BAD_BODIES[index] ?? '').slice(0, 60)}`,
      actual: said(response),
      counterexample: (BAD_BODIES[index] ?? '').slice(0, 100),
    });
  }
  const open = await Promise.all(OPEN_BODIES.map((body) => ping(t, device, body)));
  for (const [index, response] of open.entries()) {
    const body = OPEN_BODIES[index] === '' ? 'no body' : OPEN_BODIES[index];
    t.must(!broken(response) || response.status === 504, {
      expected: 'no 5xx',
      actual: said(response),
      counterexample: body,
    });
    t.note(`${body}: ${response.status}`);
  }
});

const UNKNOWN = requirement({
  id: 'platform.ping.unknown-device',
  level: 'SHOULD',
  section: '4.2',
  since: '2026-11-21',
  text: 'A ping of a device that does not exist is refused with a 4xx.',
});
const unknownDevice = check(UNKNOWN, {}, async (t: Platform) => {
  await pingsAreServed(t);
  const strange = fc.oneof(
    fc
      .string({ unit: fc.constantFrom(...'abcdefghijkmnpqrstuvwxyz0123456789'), minLength: 12, maxLength: 30 })
      .map((text) => `dvc_${text}`),
    fc.string({ unit: codePoint, minLength: 1, maxLength: 12 }),
  );
  const examples = ['dvc_', 'dvc_0000000000000000', 'dpl_1', '%', "' OR '1'='1", 'dvc_\u0000', 'a'.repeat(2000), '..'];
  await t.property(
    strange,
    async (device) => {
      const response = await ping(t, device, { timeout_nanos: MILLISECOND });
      t.must(refused(response), {
        expected: 'a 4xx to the ping of a device that does not exist',
        actual: said(response),
        counterexample: device.slice(0, 100),
      });
    },
    { runs: examples.length + 8, examples: examples.map((device): [unknown] => [device]) },
  );
});

export const pingRefusalChecks = [badBody, unknownDevice];
