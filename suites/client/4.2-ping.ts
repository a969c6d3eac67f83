/** Sections 2.5 and 4.2: pings of a device. */
import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../harness/contract/limits.ts';
import { numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { parseObject } from '../json.ts';
import { type Client, NEWEST, section } from './support/check.ts';
import { type Answering, forJob, IS_ASKED, JobRun, platform } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
import { shellMs } from './support/storm.ts';

export const { requirement, check, checks } = section({ section: '2.5', since: '2026-11-23' });

const PING = forJob('ping');
const MS_PER_NANO = 1e-6;

const start = (t: Client, ping?: Answering): Promise<JobRun> =>
  JobRun.untilEnded(t, { job: 'ping', answer: platform({ ping }) });

const nanosOf = (asked: ClientRequest | undefined): unknown => parseObject(asked?.body)?.['timeout_nanos'];

const answer = requirement({
  id: 'client.ping.answer',
  level: 'MUST',
  clause: 'A success outcome is reported as `success`.',
  text: 'A client gives code and round_trip_nanos of the answer to its caller.',
});
check(answer, { needs: PING.needs, essential: true }, async (t) => {
  const roundTrip = 7_654_321;
  await using run: JobRun = await start(t, (asked) =>
    asked.answer(200, { code: 'success', round_trip_nanos: roundTrip }),
  );
  const [pong] = run.saw('pong');
  run.must(pong?.code === 'success' && pong.round_trip_nanos === roundTrip && run.failure === undefined, {
    expected: `{"saw":"pong","code":"success","round_trip_nanos":${roundTrip}} and no error`,
    actual: pong === undefined ? run.outcome : `${JSON.stringify(pong)}; ${run.outcome}`,
  });
});

const roundTrip = requirement({
  id: 'client.ping.round-trip',
  since: NEWEST,
  level: 'MUST',
  clause: 'Round-trip time in nanoseconds.',
  text: 'A client gives a round trip of several seconds to its caller with all its digits.',
});
/** Nanoseconds that neither 32 bits nor a single-precision number can hold. */
const LONG_TRIP = 9_876_543_211;
check(roundTrip, PING, async (t) => {
  await using run: JobRun = await start(t, (asked) =>
    asked.answer(200, { code: 'success', round_trip_nanos: LONG_TRIP }),
  );
  const [pong] = run.saw('pong');
  run.must(pong?.round_trip_nanos === LONG_TRIP, {
    expected: `{"saw":"pong"} with "round_trip_nanos":${LONG_TRIP}`,
    actual: pong === undefined ? run.outcome : JSON.stringify(pong),
  });
});

export const body = requirement({
  id: 'client.ping.body',
  level: 'MUST',
  section: '4.2',
  clause: 'Body: JSON object with `timeout_nanos` (integer, at most 10 seconds expressed in nanoseconds).',
  text: 'A client pings with a JSON object as body, and says so by Content-Type: application/json.',
});
check(body, PING, async (t) => {
  await using run: JobRun = await start(t);
  const asked = run.requests.find(IS_ASKED.ping);
  const type = asked?.headers['content-type'] ?? 'none';
  run.must(parseObject(asked?.body) !== undefined && /^application\/json *(;|$)/i.test(type), {
    expected: 'a JSON object, with Content-Type: application/json',
    actual: `Content-Type: ${type}, ${JSON.stringify(asked?.body.slice(0, 200))}`,
  });
});

export const timeout = requirement({
  id: 'client.ping.timeout',
  level: 'MUST',
  clause: 'Nanoseconds to wait for the ping to complete; maximum is 10 seconds.',
  text: 'The timeout_nanos that a client sends of its own accord is an integer, above 0 and at most 10 seconds.',
});
check(timeout, { ...PING, premises: [...PING.premises, body.id] }, async (t) => {
  await using run: JobRun = await start(t);
  expectNanos(run);
  const nanos = nanosOf(run.requests.find(IS_ASKED.ping));
  // Warns about less than 1 ms, which must be in a wrong unit, because no device answers so fast.
  t.should(nanos === undefined || Number(nanos) >= LEAST_NANOS, {
    expected: `nanoseconds: ${LEAST_NANOS} or more, which is 1 ms`,
    actual: JSON.stringify(nanos),
  });
});
const LEAST_NANOS = 1_000_000;

const wish = requirement({
  id: 'client.ping.wish',
  since: NEWEST,
  level: 'MUST',
  clause: 'Nanoseconds to wait for the ping to complete; maximum is 10 seconds.',
  text: 'A client whose caller can choose the timeout of a ping sends it as nanoseconds.',
});
const WISHES_NANOS = [3_000_000_000, 7_000_000_000] as const;
/** Tolerated factor between the wished and the sent timeout; a wrong unit differs by a factor of 1000. */
const TOLERATED_FACTOR = 2;
check(wish, { ...PING, premises: [...PING.premises, timeout.id] }, async (t) => {
  const sent: unknown[] = [];
  for (const nanos of WISHES_NANOS) {
    const variables = { [CLIENT_VARIABLES.pingNanos]: String(nanos) };
    await using run: JobRun = await JobRun.untilSettled(t, { job: 'ping', answer: platform(), variables });
    sent.push(nanosOf(run.requests.find(IS_ASKED.ping)));
    // Skips a client that sends the same time twice, because such a client offers its caller no choice.
    if (sent.length < WISHES_NANOS.length || sent[0] === sent[1]) continue;
    const wrong = WISHES_NANOS.findIndex((wanted, index) => !isNear(sent[index], wanted));
    run.must(wrong === -1, {
      expected: `timeout_nanos ${WISHES_NANOS.join(' and ')}, as ${CLIENT_VARIABLES.pingNanos} says`,
      actual: sent.map((each) => JSON.stringify(each) ?? 'none').join(' and '),
    });
  }
  t.observe('the timeout of a ping that a caller wants', sent[0] === sent[1] ? 'not taken' : 'sent');
});

const isNear = (nanos: unknown, wanted: number): boolean =>
  typeof nanos === 'number' && nanos >= wanted / TOLERATED_FACTOR && nanos <= wanted * TOLERATED_FACTOR;

/** Accepts a ping without `timeout_nanos`, because no section requires the member. */
function expectNanos(run: JobRun): void {
  const wrong = run.requests.filter(IS_ASKED.ping).find((asked) => {
    const nanos = nanosOf(asked);
    if (nanos === undefined) return false;
    return !(Number.isInteger(nanos) && Number(nanos) > 0 && Number(nanos) <= PING_TIMEOUT_MAXIMUM_NANOS);
  });
  run.must(wrong === undefined, {
    expected: `timeout_nanos above 0, at most ${PING_TIMEOUT_MAXIMUM_NANOS}, or none`,
    actual: JSON.stringify(nanosOf(wrong)),
  });
}

const longest = requirement({
  id: 'client.ping.longest',
  level: 'SHOULD',
  clause: 'Nanoseconds to wait for the ping to complete; maximum is 10 seconds.',
  text: 'A client whose caller wants to wait for longer than 10 seconds sends no more than that, or tells an error.',
});
check(longest, { ...PING, premises: [...PING.premises, timeout.id] }, async (t) => {
  await using run: JobRun = await JobRun.start(t, {
    job: 'ping',
    answer: platform(),
    variables: { [CLIENT_VARIABLES.pingNanos]: String(60_000_000_000) },
  });
  // Accepts a client that refuses the value without sending a request.
  await run.until(() => run.requests.find(IS_ASKED.ping));
  if (run.over && run.requests.length === 0 && run.failure !== undefined) return;
  await run.ended();
  expectNanos(run);
});

const patience = requirement({
  id: 'client.ping.patience',
  level: 'SHOULD',
  clause: 'Nanoseconds to wait for the ping to complete; maximum is 10 seconds.',
  text: 'A client waits for the answer as long as it let the platform wait for the device.',
});
/** Share of the client's timeout after which the fake platform answers; the rest covers the network. */
const SHARE = 0.8;
check(patience, { ...PING, slow: true }, async (t) => {
  await using run: JobRun = await start(t, (asked) => {
    const nanos = Number(nanosOf(asked) ?? 0) || 0;
    const lateMs = Math.min(nanos, PING_TIMEOUT_MAXIMUM_NANOS) * MS_PER_NANO * SHARE;
    const answerLate = (): void => {
      if (!asked.closed) asked.answer(200, { code: 'success', round_trip_nanos: 1 });
    };
    // `unref`: the pending answer must not keep the process alive.
    setTimeout(answerLate, lateMs).unref();
  });
  const first = run.requests.find(IS_ASKED.ping);
  const isGiven = run.saw('pong')[0]?.code === 'success' && first?.endedAt !== undefined;
  if (!isGiven && first !== undefined && (await wasLate(first)))
    t.undecided('this machine was too slow for it: the request or the answer took most of the time that was left');
  run.must(isGiven, {
    expected: `the answer, after ${SHARE * 100} % of the timeout_nanos that it sent (${String(nanosOf(first))})`,
    actual: run.outcome,
  });
});

/** Maximum time of a request on its way, as a multiple of the time to start a shell on an idle machine. */
const SHELLS = 5;

/** Returns true if slow delivery may hide that the client waited its whole timeout. */
async function wasLate(asked: ClientRequest): Promise<boolean> {
  const { at, endedAt = performance.now(), closedAt = endedAt } = asked;
  const nanos = nanosOf(asked);
  if (typeof nanos !== 'number') return false;
  return Math.min(closedAt, endedAt) - at > nanos * MS_PER_NANO - SHELLS * (await shellMs());
}

const unknownMembers = requirement({
  id: 'client.ping.unknown-members',
  since: NEWEST,
  level: 'SHOULD',
  text: 'Members of the answer to a ping that a client does not know keep no answer from its caller.',
});
check(unknownMembers, PING, async (t) => {
  const odd = {
    hops: [{ nanos: UNSAFE_INTEGER }, null],
    code: 'success',
    round_trip_nanos: LONG_TRIP,
    serial: UNSAFE_INTEGER,
  };
  await using run: JobRun = await start(t, (asked) => asked.answer(200, numbered(odd)));
  run.must(run.saw('pong')[0]?.code === 'success' && run.failure === undefined, {
    expected: '{"saw":"pong","code":"success"} and no error',
    actual: run.outcome,
  });
});

const unknownCode = requirement({
  id: 'client.ping.unknown-code',
  level: 'SHOULD',
  clause: 'Other code values: not shown.',
  text: 'A code other than success is given to the caller or told as an error, and never as success.',
});
check(unknownCode, PING, async (t) => {
  const code = 'device_on_the_moon';
  await using run: JobRun = await start(t, (asked) => asked.answer(200, { code, round_trip_nanos: LONG_TRIP }));
  const [pong] = run.saw('pong');
  run.must(pong === undefined ? run.failure !== undefined : pong.code === code, {
    expected: `{"saw":"pong","code":"${code}"} or an error`,
    actual: pong === undefined ? run.outcome : JSON.stringify(pong),
  });
});
