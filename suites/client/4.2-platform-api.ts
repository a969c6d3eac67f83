/** Sections 2.5 and 4.2: pings and new deployments. */

import { parseObject } from '../../harness/common/lenient.ts';
import { CLIENT_VARIABLES, DEPLOYMENT } from '../../harness/contract/client.ts';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../harness/contract/lists.ts';
import { longId, numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { type Client, NEWEST, NO_CHOICE, section } from './support/check.ts';
import { type Answering, forJob, IS_ASKED, JobRun, platform } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
import { shellMs } from './support/storm.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '2.5', since: '2026-11-23' });

const PING = forJob('ping');
const MS_PER_NANO = 1e-6;

const start = (t: Client, job: 'ping' | 'deploy', answer?: Answering): Promise<JobRun> =>
  JobRun.untilEnded(t, { job, answer: platform({ [job]: answer }) });

const nanosOf = (asked: ClientRequest | undefined): unknown => parseObject(asked?.body)?.['timeout_nanos'];

const answer = requirement({
  id: 'client.ping.answer',
  level: 'MUST',
  clause: 'A success outcome is reported as `success`.',
  text: 'A client gives code and round_trip_nanos of the answer to its caller.',
});
check(answer, { needs: PING.needs, essential: true }, async (t) => {
  const roundTrip = 7_654_321;
  const sent = { code: 'success', round_trip_nanos: roundTrip };
  await using run: JobRun = await start(t, 'ping', (asked) => asked.answer(200, sent));
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
/** Nanoseconds, too many for 32 bits and for a single-precision number. */
const LONG_TRIP = 9_876_543_211;
check(roundTrip, PING, async (t) => {
  const sent = { code: 'success', round_trip_nanos: LONG_TRIP };
  await using run: JobRun = await start(t, 'ping', (asked) => asked.answer(200, sent));
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
  await using run: JobRun = await start(t, 'ping');
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
  await using run: JobRun = await start(t, 'ping');
  expectNanos(run);
  const nanos = nanosOf(run.requests.find(IS_ASKED.ping));
  if (nanos === undefined) t.notApplicable(NO_TIMEOUT);
  // Below 1 ms, the unit must be wrong, because no device answers so fast.
  const expected = `nanoseconds: ${LEAST_NANOS} or more, which is 1 ms`;
  t.should(Number(nanos) >= LEAST_NANOS, { expected, actual: JSON.stringify(nanos) });
});
const LEAST_NANOS = 1_000_000;
const NO_TIMEOUT = 'the client sends no timeout_nanos of its own accord';

const wish = requirement({
  id: 'client.ping.wish',
  since: NEWEST,
  level: 'MUST',
  clause: 'Nanoseconds to wait for the ping to complete; maximum is 10 seconds.',
  text: 'A client whose caller can choose the timeout of a ping sends it as nanoseconds.',
});
const WISHES_NANOS = [3_000_000_000, 7_000_000_000] as const;
/** Largest tolerated ratio between the wished and the sent timeout; a wrong unit differs by a factor of 1000. */
const TOLERATED_FACTOR = 2;
check(wish, { ...PING, premises: [...PING.premises, timeout.id] }, async (t) => {
  const sent: unknown[] = [];
  for (const nanos of WISHES_NANOS) {
    const variables = { [CLIENT_VARIABLES.pingNanos]: String(nanos) };
    await using run: JobRun = await JobRun.untilSettled(t, { job: 'ping', answer: platform(), variables });
    sent.push(nanosOf(run.requests.find(IS_ASKED.ping)));
    if (sent.length < WISHES_NANOS.length) continue;
    if (sent[0] === sent[1]) t.notApplicable(NO_CHOICE);
    const wrong = WISHES_NANOS.findIndex((wanted, index) => !isNear(sent[index], wanted));
    const expected = `timeout_nanos ${WISHES_NANOS.join(' and ')}, as ${CLIENT_VARIABLES.pingNanos} says`;
    run.must(wrong === -1, { expected, actual: sent.map((each) => JSON.stringify(each) ?? 'none').join(' and ') });
  }
});

const isNear = (nanos: unknown, wanted: number): boolean =>
  typeof nanos === 'number' && nanos >= wanted / TOLERATED_FACTOR && nanos <= wanted * TOLERATED_FACTOR;

/** A ping may lack `timeout_nanos`, because no section requires it. */
function expectNanos(run: JobRun): void {
  const wrong = run.requests.filter(IS_ASKED.ping).find((asked) => {
    const nanos = nanosOf(asked);
    if (nanos === undefined) return false;
    return !(Number.isInteger(nanos) && Number(nanos) > 0 && Number(nanos) <= PING_TIMEOUT_MAXIMUM_NANOS);
  });
  const expected = `timeout_nanos above 0, at most ${PING_TIMEOUT_MAXIMUM_NANOS}, or none`;
  run.must(wrong === undefined, { expected, actual: JSON.stringify(nanosOf(wrong)) });
}

const longest = requirement({
  id: 'client.ping.longest',
  clause: 'Nanoseconds to wait for the ping to complete; maximum is 10 seconds.',
  text: 'A client whose caller wants to wait for longer than 10 seconds sends no more than that, or tells an error.',
});
check(longest, { ...PING, premises: [...PING.premises, timeout.id] }, async (t) => {
  const variables = { [CLIENT_VARIABLES.pingNanos]: String(60_000_000_000) };
  await using run: JobRun = await JobRun.start(t, { job: 'ping', answer: platform(), variables });
  if (await run.refusedByItself()) return;
  await run.ended();
  expectNanos(run);
});

const patience = requirement({
  id: 'client.ping.patience',
  clause: 'Nanoseconds to wait for the ping to complete; maximum is 10 seconds.',
  text: 'A client waits for the answer as long as it let the platform wait for the device.',
});
/** Share of the client's timeout after which the answer is sent; the rest covers the network. */
const SHARE = 0.8;
/** Minimum time that must be left of the timeout for a verdict, as a multiple of `shellMs()`. */
const SHELLS = 5;
check(patience, { ...PING, slow: true }, async (t) => {
  await using run: JobRun = await start(t, 'ping', (asked, asking) => {
    const nanos = Number(nanosOf(asked) ?? 0) || 0;
    asking.askedMs = Math.min(nanos, PING_TIMEOUT_MAXIMUM_NANOS) * MS_PER_NANO * SHARE;
    const answerLate = (): void => {
      if (!asked.closed) asked.answer(200, { code: 'success', round_trip_nanos: 1 });
    };
    setTimeout(answerLate, asking.askedMs).unref();
  });
  const first = run.requests.find(IS_ASKED.ping);
  const isGiven = run.saw('pong')[0]?.code === 'success' && first?.endedAt !== undefined;
  const nanos = nanosOf(first);
  if (nanos === undefined) t.notApplicable(NO_TIMEOUT);
  if (!isGiven && first !== undefined && typeof nanos === 'number') {
    const { at, endedAt = performance.now(), closedAt = endedAt } = first;
    const leftMs = nanos * MS_PER_NANO - (Math.min(closedAt, endedAt) - at);
    // Slow delivery may hide that the client waited its whole timeout.
    if (leftMs < SHELLS * (await shellMs()))
      t.undecided('this machine was too slow for it: the request or the answer took most of the time that was left');
  }
  const expected = `the answer, after ${SHARE * 100} % of the timeout_nanos that it sent (${String(nanos)})`;
  run.must(isGiven, { expected, actual: run.outcome });
});

const unknownMembers = requirement({
  id: 'client.ping.unknown-members',
  since: NEWEST,
  text: 'Members of the answer to a ping that a client does not know keep no answer from its caller.',
});
check(unknownMembers, PING, async (t) => {
  const known = { code: 'success', round_trip_nanos: LONG_TRIP };
  const odd = { hops: [{ nanos: UNSAFE_INTEGER }, null], ...known, serial: UNSAFE_INTEGER };
  await using run: JobRun = await start(t, 'ping', (asked) => asked.answer(200, numbered(odd)));
  const expected = '{"saw":"pong","code":"success"} and no error';
  run.must(run.saw('pong')[0]?.code === 'success' && run.failure === undefined, { expected, actual: run.outcome });
});

const unknownCode = requirement({
  id: 'client.ping.unknown-code',
  clause: 'Other code values: not shown.',
  text: 'A code other than success is given to the caller or told as an error, and never as success.',
});
check(unknownCode, PING, async (t) => {
  const code = 'device_on_the_moon';
  await using run: JobRun = await start(t, 'ping', (asked) => asked.answer(200, { code, round_trip_nanos: LONG_TRIP }));
  const [pong] = run.saw('pong');
  run.must(pong === undefined ? run.failure !== undefined : pong.code === code, {
    expected: `{"saw":"pong","code":"${code}"} or an error`,
    actual: pong === undefined ? run.outcome : JSON.stringify(pong),
  });
});

const DEPLOY = forJob('deploy');

/** POST requests to the path of the first; by a POST to another path, a client may deploy what it has created. */
function creationsIn({ requests }: JobRun): ClientRequest[] {
  const first = requests.find(IS_ASKED.deploy);
  return requests.filter((asked) => IS_ASKED.deploy(asked) && asked.path === first?.path);
}

const shown = requirement({
  id: 'client.deploy.shown',
  section: '4.2',
  text: 'A client creates one deployment, and gives the one that the platform answers with to its caller.',
});
check(shown, { needs: DEPLOY.needs }, async (t) => {
  await using run: JobRun = await start(t, 'deploy');
  const seen = run.saw('deployment').map(({ deployment }) => deployment.id);
  run.must(seen.length === 1 && seen[0] === DEPLOYMENT.id && run.failure === undefined, {
    expected: `{"saw":"deployment"} once with the id ${DEPLOYMENT.id}, and no error`,
    actual: `${seen.join(', ')}; ${run.outcome}`,
  });
  const times = creationsIn(run).length;
  run.must(times === 1, { expected: 'one request that creates a deployment', actual: `${times}` });
});

const unknown = requirement({
  id: 'client.deploy.unknown',
  since: NEWEST,
  section: '2.1',
  text: 'Members and values that a client does not know, and a long id, keep no deployment from its caller.',
});
check(unknown, DEPLOY, async (t) => {
  const id = longId('dpl_');
  const unheard = { status: 'orbiting', activity_status: 'orbiting', serial: UNSAFE_INTEGER };
  const odd = { next: [UNSAFE_INTEGER], ...DEPLOYMENT, id, ...unheard };
  await using run: JobRun = await start(t, 'deploy', (asked) => asked.answer(200, numbered(odd)));
  run.must(run.saw('deployment')[0]?.deployment.id === id && run.failure === undefined, {
    expected: `{"saw":"deployment"} with the id ${id}, and no error`,
    actual: run.outcome,
  });
});

const parent = requirement({
  id: 'client.deploy.parent',
  section: '9',
  clause: '`null` asserts that the device has no current target deployment.',
  text: 'A client that does not know the current target deployment sends no parent_id, rather than null.',
});
check(parent, DEPLOY, async (t) => {
  await using run: JobRun = await start(t, 'deploy');
  // Accepts null after an earlier request, which may have shown the current target.
  const looked = run.requests[0] !== undefined && !IS_ASKED.deploy(run.requests[0]);
  const body = run.requests.find(IS_ASKED.deploy)?.body ?? '';
  const expected = 'no parent_id, or one that the client has looked up';
  run.must(looked || !/"parent_id"\s*:\s*null/.test(body), { expected, actual: '"parent_id": null' });
});

const lost = requirement({
  id: 'client.deploy.lost',
  section: '4.2',
  level: 'INFO',
  text: 'What a client does when the answer to its deployment is lost: the specification names no idempotency key.',
});
check(lost, DEPLOY, async (t) => {
  let created = 0;
  await using run: JobRun = await start(t, 'deploy', (asked) => {
    created += 1;
    if (created === 1) asked.cut();
    else asked.answer(200, DEPLOYMENT);
  });
  const sent = creationsIn(run);
  const keys = new Set(sent.map(({ headers }) => headers['idempotency-key']));
  const marked = keys.size === 1 && !keys.has(undefined) ? ', with one Idempotency-Key' : '';
  const times = sent.length === 1 ? 'once' : `${sent.length} times${marked}`;
  const told = run.failure === undefined ? 'no error' : 'an error';
  t.observe('a deployment whose answer is lost', `sent ${times}, ${told} told`);
});
