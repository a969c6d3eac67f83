import { randomBytes } from 'node:crypto';
import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import {
  event,
  eventsFrom,
  frame,
  frames,
  HEARTBEAT,
  RETRY_AFTER_SECONDS,
  type Refusal,
  UNAVAILABLE,
  withRetryAfter,
} from '../../harness/contract/situations.ts';
import { type Client, NEWEST, section, WITH_CURSOR } from './support/check.ts';
import { AGAIN_PATIENCES, expectWait, openElsewhere } from './support/client-run.ts';
import { errorOf, TOO_MANY } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
import { expectCursor, expectDispatched, expectNoHammering, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '6.2', since: '2026-11-23' });

const cursor = requirement({
  id: 'client.heartbeat.cursor',
  level: 'MUST',
  clause: 'clients ignore comment lines',
  text: 'Heartbeats move no cursor: after one the client still names the last event.',
});
check(cursor, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await StreamRun.open(t);
  const all = eventsFrom(7, 2);
  await run.current.send(frames(all.slice(0, 1)) + HEARTBEAT.repeat(3));
  await expectDispatched(run, all.slice(0, 1));
  run.current.end();
  const again = await run.stream();
  expectCursor(run, again, '7');
  await again.send(HEARTBEAT + frames(all.slice(1)));
  await expectDispatched(run, all);
});

const silence = requirement({
  id: 'client.heartbeat.silence',
  clause: 'The agent sends a comment line `: heartbeat` roughly every 30 seconds',
  text:
    'A client that has heard nothing for several heartbeats takes the connection for dead, ' +
    'and asks again with its cursor.',
});
/** Seconds between heartbeats, tried in order, because a busy machine may delay a client beyond a short interval. */
const INTERVALS = [0.5, 2, 4];
/** Longest silence that a client may tolerate, in heartbeat intervals. */
const SILENT_INTERVALS = 20;
check(silence, { ...WITH_CURSOR, needs: [...WITH_CURSOR.needs, 'heartbeat'], slow: true }, async (t) => {
  for (const interval of INTERVALS) if (await isDecided(t, interval, interval === INTERVALS.at(-1))) return;
});

/** False if the client left too early for a verdict and a longer interval remains. */
async function isDecided(t: Client, interval: number, isLast: boolean): Promise<boolean> {
  const variables = { [CLIENT_VARIABLES.heartbeatSeconds]: String(interval) };
  await using run: StreamRun = await StreamRun.open(t, { variables });
  const all = eventsFrom(1, 2);
  await run.current.send(HEARTBEAT + frames(all.slice(0, 1)));
  const isEarly = (): boolean => !isLast && run.requests.length > 1;
  await run.until(() => run.dispatched.length > 0 || isEarly() || undefined);
  if (isEarly()) return false;
  await expectDispatched(run, all.slice(0, 1));
  const again = await run.requestWithin(Math.max(SILENT_INTERVALS * interval * 1000, AGAIN_PATIENCES * run.patienceMs));
  const expected = `a new request after ${SILENT_INTERVALS} heartbeat intervals of ${interval} s without a byte`;
  run.must(again !== undefined, { expected, actual: run.state });
  if (again.cursor !== '1' && !isLast) return false;
  expectCursor(run, again, '1');
  await again.accept().send(frames(all.slice(1)));
  const asked = run.requests.length;
  const isImpatient = (): boolean => !isLast && run.requests.length > asked;
  await run.until(() => run.dispatched.length === all.length || isImpatient() || undefined);
  if (run.dispatched.length < all.length && isImpatient()) return false;
  await expectDispatched(run, all);
  return true;
}

const [first, second, third, fourth] = [event(1), event(2), event(3), event(4)];

async function cutOff(t: Client): Promise<StreamRun> {
  const run = await StreamRun.after(t, [first]);
  run.current.cut();
  return run;
}

async function expectBack(run: StreamRun): Promise<void> {
  const back = await run.request('the client to come back');
  expectCursor(run, back, first.id);
  await back.accept().send(frame(second));
  await expectDispatched(run, [first, second]);
}

const unavailable = requirement({
  id: 'client.back-off.unavailable',
  text: 'A client that is answered 503 comes back with its cursor.',
});
check(unavailable, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await cutOff(t);
  (await run.request()).refuse(UNAVAILABLE);
  await expectBack(run);
});

const restart = requirement({
  id: 'client.back-off.restart',
  text: 'A client whose agent restarts, so that nobody listens for some seconds, comes back with its cursor.',
});
check(restart, WITH_CURSOR, async (t) => {
  // On a random loopback address, no other server takes the port meanwhile.
  const [a, b] = randomBytes(2);
  const away = t.capabilities.has('url') ? ({ place: 'url', host: `127.77.${a}.${b}` } as const) : {};
  await using run: StreamRun = await StreamRun.after(t, [first], away).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRNOTAVAIL')) throw error;
    return t.undecided('this machine has no other loopback address');
  });
  await run.leave(2000);
  run.must(!run.over, { expected: 'the client to wait for the agent to come back', actual: run.state });
  await expectBack(run);
});

export const retryAfter = requirement({
  id: 'client.back-off.retry-after',
  protective: true,
  text: 'A client that is answered 503 with Retry-After does not come back before that time.',
});
const AFTER_UNAVAILABLE = { ...WITH_CURSOR, premises: [...WITH_CURSOR.premises, unavailable.id] } as const;
check(retryAfter, AFTER_UNAVAILABLE, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await expectRefusalWait(run, UNAVAILABLE, () => run.request('the client to come back'));
});
check(retryAfter, { ...AFTER_UNAVAILABLE, aspect: '429' }, async (t) => {
  await using run: StreamRun = await cutOff(t);
  let isBack = false;
  await expectRefusalWait(run, TOO_MANY, async (seconds) => {
    // Seconds to wait after Retry-After for a client, which may also have given up.
    const back = await run.requestWithin((seconds + 6) * 1000);
    isBack = back !== undefined;
    return back;
  });
  // Recorded only, because a client may also give up.
  t.observe('GET /events answered 429 with Retry-After', isBack ? 'asks again' : 'does not ask again');
});

async function expectRefusalWait(
  run: StreamRun,
  refusal: Refusal,
  next: (seconds: number) => Promise<ClientRequest | undefined>,
): Promise<void> {
  let since = await run.request();
  await expectWait(async () => {
    const seconds = run.secondsToWait(RETRY_AFTER_SECONDS);
    const refused = since;
    refused.refuse(withRetryAfter(refusal, seconds));
    const back = await next(seconds);
    if (back === undefined) return undefined;
    since = back;
    return { run, back, since: refused, seconds, what: `${refusal.status} with Retry-After: ${seconds}` };
  });
}

const retry = requirement({
  id: 'client.back-off.retry-field',
  text: 'A client waits for the time that the retry field of the stream names before it connects again.',
});
check(retry, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await StreamRun.open(t);
  let stream = run.current;
  const seconds = run.secondsToWait(RETRY_AFTER_SECONDS);
  await stream.send(`retry: ${seconds * 1000}\n\n${frame(first)}`);
  await expectDispatched(run, [first]);
  await expectWait(async () => {
    const since = stream;
    since.end();
    const back = await run.request('the client to come back');
    stream = back.accept();
    return { run, back, since, seconds, what: `retry: ${seconds * 1000}` };
  });
});

export const refused = requirement({
  id: 'client.back-off.refused',
  since: NEWEST,
  section: '7',
  protective: true,
  text: 'A client whose requests for the stream are all refused (400, 401, 403, 404, 429) waits between them, or ends.',
});
for (const status of [400, 401, 403, 404, 429])
  check(refused, { ...WITH_CURSOR, aspect: String(status) }, async (t) => {
    await using run: StreamRun = await cutOff(t);
    const answer = (asked: ClientRequest): void => asked.answer(status, errorOf('refused'));
    await expectNoHammering(run, `that are all answered ${status}`, answer);
    const isOver = run.over || run.reported === 'end';
    t.observe(`GET /events answered ${status}`, isOver ? 'the client gives up' : 'asks again');
  });

export const hammering = requirement({
  id: 'client.back-off.hammering',
  protective: true,
  text: 'A client whose requests are all cut off waits between them, and comes back when they are answered again.',
});
check(hammering, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await expectNoHammering(run, 'to an agent that cuts them off', (asked) => asked.cut());
  await expectBack(run);
});
check(hammering, { ...WITH_CURSOR, aspect: 'ended' }, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await expectNoHammering(run, 'for streams that end at once', (asked) => asked.accept().end());
  await expectBack(run);
});
const AFTER_ENDED = [...WITH_CURSOR.premises, `${hammering.id}.ended`] as const;
check(hammering, { ...WITH_CURSOR, premises: AFTER_ENDED, aspect: 'retry-nonsense' }, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await expectNoHammering(run, 'for streams that end at once, after `retry: soon`', (asked) => {
    void asked.accept().send('retry: soon\n\n');
    asked.end();
  });
});

const nextOf = (run: StreamRun): Promise<ClientRequest | undefined> => run.requestWithin(2 * run.patienceMs);

const repeated = requirement({
  id: 'client.choices.repeated',
  level: 'INFO',
  since: '2026-11-25',
  text: 'Whether a client hands an event on again that is sent again after a reconnection, as at-least-once allows.',
});
check(repeated, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await (await run.stream()).send(frames([first, second]));
  await run.untilDispatched(second.id);
  const times = run.dispatched.filter(({ id }) => id === first.id).length;
  t.observe('an event that is sent again', times > 1 ? 'handed on again' : 'handed on once');
});

const nul = requirement({
  id: 'client.choices.null-id',
  level: 'INFO',
  since: '2026-11-25',
  text: 'What a client does with an id that has U+0000 in it. No agent sends one, and the standard leaves it out.',
});
check(nul, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await StreamRun.after(t, [first]);
  await run.current.send(frame(second).replace(`id: ${second.id}`, `id: ${second.id}\u0000`));
  await run.untilRead(() => run.dispatched.length > 1 || undefined);
  run.current.end();
  const asked = await nextOf(run);
  const cursor = asked?.cursor ?? '';
  const value = { [first.id]: 'left out', [second.id]: 'taken without it', '': 'loses its cursor' }[cursor];
  t.observe('an id with U+0000', asked === undefined ? 'never asks again' : (value ?? 'taken as it is'));
});

const noContent = requirement({
  id: 'client.choices.no-content',
  level: 'INFO',
  since: '2026-11-25',
  text: 'Whether a client asks again after 204, which in the standard ends the stream for good.',
});
check(noContent, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await cutOff(t);
  (await run.request()).answer(204, '');
  const again = await nextOf(run);
  t.observe('204 in place of a stream', again === undefined ? 'ends' : 'asks again');
});

const otherType = requirement({
  id: 'client.choices.other-type',
  level: 'INFO',
  since: '2026-11-25',
  text: 'Whether a client reads a stream that comes as text/plain, which the standard refuses.',
});
check(otherType, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await cutOff(t);
  (await run.request()).answer(200, frames([second, third]), { 'content-type': 'text/plain' });
  const again = await nextOf(run);
  // Waits for another event, because printed lines may arrive after the client's next request.
  if (again !== undefined) {
    await again.accept().send(frames([fourth]));
    await run.untilDispatched(fourth.id);
  }
  const reads = run.dispatched.some(({ id }) => id === second.id);
  t.observe('a stream as text/plain', `${reads ? 'read' : 'left out'}; ${again === undefined ? 'ends' : 'asks again'}`);
});

const redirected = requirement({
  id: 'client.choices.redirected',
  level: 'INFO',
  since: '2026-11-25',
  text: 'Whether a client follows a redirection of the stream to another host, and whether its cursor goes with it.',
});
check(redirected, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await cutOff(t);
  const cursors: (string | undefined)[] = [];
  await using other = await openElsewhere(t, {
    track: (what) => run.timeline.request(what, ' (at the other address)'),
    request: (asked) => {
      cursors.push(asked.cursor);
      void asked.accept().send(frame(second));
    },
  });
  (await run.request()).answer(307, '', { location: `${other.url}/events` });
  await run.until(() => run.dispatched.length > 1 || run.requests.length > 2 || undefined, 2 * run.patienceMs);
  const how = cursors[0] === undefined ? 'followed without the cursor' : 'followed with the cursor';
  t.observe('a redirection of the stream', cursors.length === 0 ? 'not followed' : how);
});
