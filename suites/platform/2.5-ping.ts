/** Sections 2.5 and 4.2: a ping that succeeds, and one that does not. */
import fc from 'fast-check';
import type { HttpResponse } from '../../harness/client/http.ts';
import { requirement } from '../../harness/runner/define.ts';
import { pingRefusalChecks } from './4.2-ping-refusals.ts';
import { code, ping, pingsAreServed, pingWithin } from './support/devices.ts';
import { getList, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { isJson, ok, refused, said, send } from './support/send.ts';

const SECOND = 1_000_000_000;
const MILLISECOND = 1_000_000;

const SUCCESS = requirement({
  id: 'platform.ping.success',
  level: 'MUST',
  section: '2.5',
  since: '2026-11-21',
  text: 'A ping of a device that is online answers 200 with code "success" and the round trip in nanoseconds, which is no longer than the call.',
});
const success = check(SUCCESS, { needs: ['online-device'], profile: 'core' }, async (t: Platform) => {
  const device = t.onlineDevice ?? t.blocked('no online device was named');
  const response = await firstToArrive(t, device);
  t.must(response.status === 200 && isJson(response) && code(response) === 'success', {
    expected: '200, application/json, code "success" from a device that is online',
    actual: `${response.headers['content-type'] ?? 'no Content-Type'}, ${said(response)}`,
  });
  const trip = (response.json as { round_trip_nanos?: unknown }).round_trip_nanos;
  t.must(typeof trip === 'number' && Number.isInteger(trip) && trip >= 0, {
    expected: 'an integer of 0 or more in round_trip_nanos',
    actual: said(response),
  });
  // The platform's clock may tick a little differently from ours.
  const longest = response.durationMs * 1.05 * MILLISECOND + 5 * MILLISECOND;
  t.must(trip <= longest, {
    expected: `a round trip no longer than the call took, ${Math.round(response.durationMs)} ms, in nanoseconds`,
    actual: trip,
  });
  t.should(trip === 0 || trip >= 1000, {
    expected: 'nanoseconds: no round trip over a network takes less than a microsecond',
    actual: trip,
  });
});

const TRIES = 3;

/** What is sent to a device may be lost on its way, which is no fault of the platform; all of it hardly ever is. */
async function firstToArrive(t: Platform, device: string): Promise<HttpResponse> {
  let response = await ping(t, device, { timeout_nanos: 10 * SECOND });
  for (let attempt = 1; attempt < TRIES && code(response) !== 'success'; attempt += 1) {
    response = await ping(t, device, { timeout_nanos: 10 * SECOND });
  }
  return response;
}

const TIMEOUT = requirement({
  id: 'platform.ping.timeout',
  level: 'MUST',
  section: '2.5',
  since: '2026-11-21',
  text: 'A ping of a device that does not answer ends when timeout_nanos are over, and never with code "success".',
});
const timeout = check(TIMEOUT, { needs: ['offline-device'], slow: true }, async (t: Platform) => {
  await served(t);
  await pingsAreServed(t);
  const device = t.offlineDevice ?? t.blocked('no offline device was named');
  const margin = await marginMs(t);
  for (const nanos of [MILLISECOND, 300 * MILLISECOND, 3 * SECOND]) {
    // Pings of another device go on meanwhile: their answers are not this one's.
    const meanwhile = t.onlineDevice === undefined ? [] : [ping(t, t.onlineDevice, { timeout_nanos: SECOND })];
    const [response] = await Promise.all([quickest(t, device, nanos, margin), ...meanwhile]);
    if (code(response) === 'success') await stillOffline(t, device);
    t.must(code(response) !== 'success', {
      expected: `another code than "success", or an error, from ${device}, which is offline`,
      actual: said(response),
    });
    t.must(response.status !== 200 || typeof code(response) === 'string', {
      expected: 'a code in every answer of status 200',
      actual: said(response),
    });
    const trip = (response.json as { round_trip_nanos?: unknown } | null | undefined)?.round_trip_nanos;
    t.should(!(typeof trip === 'number' && trip < 0), {
      expected: 'no round trip of less than nothing',
      actual: said(response),
    });
    t.should(ok(response) || refused(response) || [502, 503, 504].includes(response.status), {
      expected: '200 with another code, a 4xx, or 504',
      actual: said(response),
    });
  }
});

const LATENCIES = 5;

/** How late an answer may be: what a platform takes its time for apart from the timeout shows in how quick its other answers are. */
async function marginMs(t: Platform): Promise<number> {
  let slowest = 0;
  for (let index = 0; index < LATENCIES; index += 1) {
    slowest = Math.max(slowest, (await getList(t, 'devices', { limit: 1 })).durationMs);
  }
  return Math.round(Math.min(t.patienceMs / 4, 1500 + 20 * slowest));
}

/** One answer that comes late may be the machine's fault; three in a row are the platform's. */
async function quickest(t: Platform, device: string, nanos: number, margin: number) {
  const allowedMs = nanos / MILLISECOND + margin;
  const took: number[] = [];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const started = performance.now();
    const response = await pingWithin(t, device, { timeout_nanos: nanos }, nanos / MILLISECOND + t.patienceMs);
    took.push(Math.round(performance.now() - started));
    if (response !== 'no answer' && response.durationMs <= allowedMs) return response;
  }
  t.must(false, {
    expected: `an answer within ${nanos} ns (${nanos / MILLISECOND} ms), give or take ${margin} ms`,
    actual: `no answer within ${took.join(' ms, ')} ms, three times`,
    counterexample: { device, timeout_nanos: nanos },
  });
}

/** Devices come back. Whether this one did, the platform itself says. */
async function stillOffline(t: Platform, device: string): Promise<void> {
  const { json } = await send(t, { path: `/devices/${encodeURIComponent(device)}` });
  if ((json as { status?: unknown } | undefined)?.status === 'online') t.blocked(`${device} has come online meanwhile`);
}

const LIMIT = requirement({
  id: 'platform.ping.limit',
  level: 'MUST',
  section: '8',
  since: '2026-11-21',
  text: 'A timeout_nanos above 10 seconds is refused or clamped: no ping waits longer than 10 seconds.',
});
const limit = check(LIMIT, { needs: ['offline-device'], slow: true }, async (t: Platform) => {
  await served(t);
  await pingsAreServed(t);
  const device = t.offlineDevice ?? t.blocked('no offline device was named');
  const response = await pingWithin(t, device, { timeout_nanos: 60 * SECOND }, 10_000 + t.patienceMs / 2);
  t.must(response !== 'no answer', {
    expected: 'an answer within 10 s (and a margin) to a ping with timeout_nanos of 60 s',
    actual: `none within ${10 + t.patienceMs / 2000} s`,
    counterexample: { device, timeout_nanos: 60 * SECOND },
  });
  t.must(code(response) !== 'success', { expected: 'no success: the device is offline', actual: said(response) });
  t.note(`timeout_nanos of 60 s: ${said(response)} after ${Math.round(response.durationMs / 1000)} s`);
});

const limitHuge = check(LIMIT, { aspect: 'huge', needs: ['online-device'] }, async (t: Platform) => {
  await pingsAreServed(t);
  const device = t.onlineDevice ?? t.blocked('no online device was named');
  const above = fc.bigInt({ min: BigInt(10 * SECOND) + 1n, max: 2n ** 70n }).map(String);
  const edges = [
    String(10 * SECOND + 1),
    String(2n ** 63n - 1n),
    String(2n ** 63n),
    String(2n ** 64n),
    '9'.repeat(400),
  ];
  const seen = new Set<string>();
  await t.property(
    above,
    async (nanos) => {
      const response = await ping(t, device, `{"timeout_nanos":${nanos}}`);
      t.must(refused(response) || (response.status === 200 && typeof code(response) === 'string'), {
        expected: 'a 4xx, or an answer as if 10 s had been asked for',
        actual: said(response),
        counterexample: { timeout_nanos: nanos.length > 40 ? `${nanos.length} digits` : nanos },
      });
      seen.add(refused(response) ? `refused with ${response.status}` : 'clamped');
    },
    { runs: edges.length + 5, examples: edges.map((nanos): [unknown] => [nanos]) },
  );
  t.note(`timeout_nanos above 10 s is ${[...seen].join(', or ')}`);
});

export const pingChecks = [success, timeout, limit, limitHuge, ...pingRefusalChecks];
