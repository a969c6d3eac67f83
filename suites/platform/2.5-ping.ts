/** Sections 2.5 and 4.2: answers, timeouts and refusals of a ping. */
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import type { HttpResponse } from '../../harness/client/http.ts';
import { codePoint, eachAtOnce } from '../../harness/runner/property.ts';
import { byExploring } from './oracle/checks.ts';
import { type Platform, section } from './support/check.ts';
import { getList, servedCollections } from './support/lists.ts';
import {
  blockIfDeleted,
  describePing,
  LONGEST_PING_MS,
  MILLISECOND_NANOS,
  ping,
  pingCode,
  requirePing,
  SECOND_NANOS,
  unanswered,
} from './support/ping.ts';
import { describeRequest, describeResponse, ok, refused, send, serverError } from './support/requests.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '2.5', since: '2026-11-21' });

export const success = requirement({
  id: 'platform.ping.success',
  clause: 'A success outcome is reported as `success`. … Round-trip time in nanoseconds.',
  text:
    'A ping of an online device answers 200 with code "success" and a round trip in nanoseconds that does not ' +
    'exceed the duration of the call.',
});
const explored = { writes: true, needs: ['online-device'], least: { 'pings that succeeded': 1 } } as const;
check(...byExploring(success, { ...explored, profile: 'core', part: 'refusals' }));
check(...byExploring(success, { ...explored, aspect: 'explored', premises: [success.id] }));

const timeout = requirement({
  id: 'platform.ping.timeout',
  clause: 'Nanoseconds to wait for the ping to complete',
  text: 'A ping of a device that does not answer ends when timeout_nanos are over, and never with code "success".',
});
check(timeout, { writes: true, needs: ['offline-device'], slow: true }, async (t: Platform) => {
  await servedCollections(t);
  await requirePing(t);
  const device = t.offlineDevice ?? t.blocked('no offline device was named');
  const toleranceMs = await measureTolerance(t);
  for (const nanos of [MILLISECOND_NANOS, 300 * MILLISECOND_NANOS, 3 * SECOND_NANOS]) {
    // Pings an online device at the same time, because its answer must not count for the offline one.
    const concurrent = t.onlineDevice === undefined ? [] : [ping(t, t.onlineDevice, { timeout_nanos: SECOND_NANOS })];
    const [response] = await Promise.all([pingInTime(t, device, nanos, toleranceMs), ...concurrent]);
    await mustNotSucceed(t, device, response);
  }
});

/** True for the status of a lost message, which may be no fault of the platform. */
const isLost = ({ status }: HttpResponse): boolean => [502, 503, 504].includes(status);

async function mustNotSucceed(t: Platform, device: string, response: HttpResponse): Promise<void> {
  if (pingCode(response) === 'success') {
    const { json } = await send(t, { path: `/devices/${encodeURIComponent(device)}` });
    const isOnline = (json as { status?: unknown } | undefined)?.status === 'online';
    if (isOnline) t.blocked(`${device} has come online meanwhile`);
  }
  await blockIfDeleted(t, device, response);
  const actual = describeResponse(response);
  const expected = `another code than "success", or an error, from ${device}, which is offline`;
  t.must(pingCode(response) !== 'success', { expected, actual });
  const hasCode = typeof pingCode(response) === 'string';
  t.must(response.status !== 200 || hasCode, { expected: 'a code in every answer of status 200', actual });
  const trip = (response.json as { round_trip_nanos?: unknown } | null | undefined)?.round_trip_nanos;
  t.should(!(typeof trip === 'number' && trip < 0), { expected: 'no negative round trip', actual });
  const isUsual = ok(response) || refused(response) || isLost(response);
  t.should(isUsual, { expected: '200 with another code, a 4xx, or 504', actual });
}

const TOLERANCE = { baseMs: 1500, latencies: 20, shareOfTimeout: 1 / 4 };

async function measureTolerance(t: Platform): Promise<number> {
  let slowest = 0;
  for (let sample = 0; sample < 5; sample += 1) {
    slowest = Math.max(slowest, (await getList(t, 'devices', { limit: 1 })).durationMs);
  }
  return Math.round(
    Math.min(t.patienceMs * TOLERANCE.shareOfTimeout, TOLERANCE.baseMs + TOLERANCE.latencies * slowest),
  );
}

/** Pings up to three times, because this machine may delay an answer; undecided if lists are slow too. */
async function pingInTime(t: Platform, device: string, nanos: number, toleranceMs: number): Promise<HttpResponse> {
  const askedMs = nanos / MILLISECOND_NANOS;
  const took: number[] = [];
  const besideMs: number[] = [];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const started = performance.now();
    const pinging = ping(t, device, { timeout_nanos: nanos }, { takesMs: askedMs }).catch(unanswered);
    const [response, lists] = await Promise.all([pinging, listsBeside(t, pinging)]);
    took.push(Math.round(performance.now() - started));
    besideMs.push(...lists);
    if (response !== 'no answer' && response.durationMs <= askedMs + toleranceMs) return response;
  }
  const usualMs = besideMs.toSorted((a, b) => a - b)[Math.floor(besideMs.length / 2)] ?? 0;
  if (Math.min(...took) <= askedMs + TOLERANCE.baseMs + TOLERANCE.latencies * usualMs)
    t.undecided(`too slow to tell: a list takes ${Math.round(usualMs)} ms beside pings that are late`);
  t.must(false, {
    expected: `an answer within ${nanos} ns (${askedMs} ms), with a tolerance of ${toleranceMs} ms`,
    actual: `no answer within ${took.join(' ms, ')} ms, three times`,
    counterexample: describePing(device, nanos),
  });
}

async function listsBeside(t: Platform, pinging: Promise<unknown>): Promise<number[]> {
  const over = Promise.allSettled([pinging]);
  const took: number[] = [];
  do took.push((await getList(t, 'devices', { limit: 1 })).durationMs);
  while ((await Promise.race([over, setTimeout(100)])) === undefined);
  return took;
}

const limit = requirement({
  id: 'platform.ping.limit',
  section: '8',
  clause: 'maximum is 10 seconds',
  text: 'A timeout_nanos above 10 seconds is refused or clamped: no ping waits longer than 10 seconds.',
});
check(limit, { writes: true, needs: ['offline-device'], slow: true }, async (t: Platform) => {
  await servedCollections(t);
  await requirePing(t);
  const device = t.offlineDevice ?? t.blocked('no offline device was named');
  const lateMs = t.patienceMs / 2;
  const response = await ping(t, device, { timeout_nanos: 60 * SECOND_NANOS }, { lateMs }).catch(unanswered);
  t.must(response !== 'no answer', {
    expected: 'an answer within 10 s (and a tolerance) to a ping with timeout_nanos of 60 s',
    actual: `none within ${(LONGEST_PING_MS + lateMs) / 1000} s`,
    counterexample: describePing(device, 60 * SECOND_NANOS),
  });
  await mustNotSucceed(t, device, response);
  t.observe('timeout_nanos of 60 s, device offline', String(pingCode(response) ?? response.status));
  t.note(`timeout_nanos of 60 s: ${describeResponse(response)} after ${Math.round(response.durationMs / 1000)} s`);
});

check(limit, { writes: true, aspect: 'huge', needs: ['online-device'] }, async (t: Platform) => {
  await requirePing(t);
  const device = t.onlineDevice ?? t.blocked('no online device was named');
  const least = BigInt(10 * SECOND_NANOS) + 1n;
  const above = fc.bigInt({ min: least, max: 2n ** 70n }).map(String);
  const edges = [least, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n, '9'.repeat(400)].map(String);
  const outcomes = new Set<string>();
  await t.property(
    above,
    async (nanos) => {
      const response = await ping(t, device, `{"timeout_nanos":${nanos}}`);
      const isRefused = refused(response) || isLost(response);
      t.must(isRefused || (response.status === 200 && typeof pingCode(response) === 'string'), {
        expected: 'a 4xx, or the answer to a timeout of 10 s',
        actual: describeResponse(response),
        counterexample: describePing(device, nanos),
      });
      outcomes.add(isRefused ? `refused with ${response.status}` : 'clamped');
    },
    {
      runs: edges.length + 5,
      examples: edges.map((nanos): [unknown] => [nanos]),
      describe: (nanos: string) => describePing(device, nanos),
    },
  );
  for (const outcome of outcomes) t.observe('timeout_nanos above 10 s', outcome);
});

const badBody = requirement({
  id: 'platform.ping.bad-body',
  level: 'SHOULD',
  section: '4.2',
  clause: 'JSON object with `timeout_nanos` (integer, at most 10 seconds expressed in nanoseconds)',
  text: 'A ping whose body is not a JSON object, or whose timeout_nanos is not an integer, is refused with a 4xx.',
});
const waiting = (nanos: string): string => `{"timeout_nanos":${nanos}}`;
const BAD_BODIES = [
  ...['{', 'timeout_nanos=1000000', '[]', `[${waiting('1000000')}]`, '"1000000"', '1000000', 'null'],
  ...['"soon"', '{}', '[1000000]', 'true', '1000000.5', '1000000}', '['.repeat(2000) + ']'.repeat(2000)].map(waiting),
];
const UNSPECIFIED_BODIES = ['', '{}', ...['null', '0', '-1', '"1000000"', '1e6'].map(waiting)];
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
    t.must(!serverError(response) || response.status === 504, {
      expected: 'no 5xx',
      actual: describeResponse(response),
      counterexample: describeRequest('POST', `/devices/${device}/ping`, body),
    });
    t.observe(`a ping with ${body || 'no body'}`, response.status);
  });
});

const unknownDevice = requirement({
  id: 'platform.ping.unknown-device',
  level: 'SHOULD',
  section: '4.2',
  clause: '`device_id` (string, device identifier)',
  text: 'A ping of a device that does not exist is refused with a 4xx.',
});
/** Path segments that a server may resolve by a redirect (RFC 3986, section 5.2.4). */
const DOT_SEGMENTS = ['.', '..'];
const UNKNOWN_DEVICES = [
  ...['dvc_', 'dvc_0000000000000000', 'dpl_1', '%', "' OR '1'='1", 'dvc_\u0000', 'a'.repeat(2000), ...DOT_SEGMENTS],
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
