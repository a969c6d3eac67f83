/** Section 6.2, rule 1: a client whose agent is absent comes back without hammering. */
import { randomBytes } from 'node:crypto';
import {
  event,
  frame,
  RETRY_AFTER_SECONDS,
  type Refusal,
  UNAVAILABLE,
  withRetryAfter,
} from '../../harness/contract/situations.ts';
import { type Client, FOLLOW, NEWEST, RECONNECT, section } from './support/check.ts';
import { errorOf } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
import {
  expectCursor,
  expectDispatched,
  expectNoHammering,
  StreamRun,
  type StreamRunOptions,
} from './support/stream-run.ts';
import { expectWait } from './support/waits.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '6.2', since: '2026-11-23' });

const OPTIONS = { needs: FOLLOW, premises: [...RECONNECT, 'client.delivery.cursor'] } as const;

const TOO_MANY: Refusal = { status: 429, headers: {}, body: errorOf('too_many_requests') };
const first = event(1);
const second = event(2);

export async function cutOff(t: Client): Promise<StreamRun> {
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
check(unavailable, OPTIONS, async (t) => {
  await using run: StreamRun = await cutOff(t);
  (await run.request()).refuse(UNAVAILABLE);
  await expectBack(run);
});

const restart = requirement({
  id: 'client.back-off.restart',
  text: 'A client whose agent restarts, so that nobody listens for some seconds, comes back with its cursor.',
});
check(restart, OPTIONS, async (t) => {
  await using run: StreamRun = await StreamRun.after(t, [first], awayFromOthers(t)).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRNOTAVAIL')) throw error;
    return t.undecided('this machine has no other loopback address');
  });
  await run.leave(2000);
  run.must(!run.over, { expected: 'the client to wait for the agent to come back', actual: run.state });
  await expectBack(run);
});

/** Uses a random loopback address, where no other server takes the port while the agent is absent. */
function awayFromOthers(t: Client): StreamRunOptions {
  if (!t.capabilities.has('url')) return {};
  const [a, b] = randomBytes(2);
  return { place: 'url', host: `127.77.${a}.${b}` };
}

export const retryAfter = requirement({
  id: 'client.back-off.retry-after',
  protective: true,
  text: 'A client that is answered 503 with Retry-After does not come back before that time.',
});
const AFTER_UNAVAILABLE = { ...OPTIONS, premises: [...OPTIONS.premises, unavailable.id] } as const;
check(retryAfter, AFTER_UNAVAILABLE, async (t) => {
  await using run: StreamRun = await cutOff(t);
  const back = (): Promise<ClientRequest> => run.request('the client to come back');
  await expectRefusalWait(run, UNAVAILABLE, back);
});
check(retryAfter, { ...AFTER_UNAVAILABLE, aspect: '429' }, async (t) => {
  await using run: StreamRun = await cutOff(t);
  let isBack = false;
  await expectRefusalWait(run, TOO_MANY, async (seconds) => {
    const back = await run.requestWithin((seconds + MORE_SECONDS) * 1000);
    isBack = back !== undefined;
    return back;
  });
  // Only records whether the client returns, because a client may also give up.
  t.observe('GET /events answered 429 with Retry-After', isBack ? 'asks again' : 'does not ask again');
});
/** Maximum number of seconds after Retry-After within which a client returns or gives up. */
const MORE_SECONDS = 6;

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
check(retry, OPTIONS, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t);
  const seconds = (): number => run.secondsToWait(RETRY_AFTER_SECONDS);
  let stream = await run.stream();
  await stream.send(`retry: ${seconds() * 1000}\n\n${frame(first)}`);
  await expectDispatched(run, [first]);
  await expectWait(async () => {
    const since = stream;
    since.end();
    const back = await run.request('the client to come back');
    stream = back.accept();
    return { run, back, since, seconds: seconds(), what: `retry: ${seconds() * 1000}` };
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
  check(refused, { ...OPTIONS, aspect: String(status) }, async (t) => {
    await using run: StreamRun = await cutOff(t);
    const answer = (asked: ClientRequest): void => asked.answer(status, errorOf('refused'));
    await expectNoHammering(run, { answer, how: `that are all answered ${status}` });
    const isOver = run.over || run.reported === 'end';
    t.observe(`GET /events answered ${status}`, isOver ? 'the client gives up' : 'asks again');
  });

export const hammering = requirement({
  id: 'client.back-off.hammering',
  protective: true,
  text: 'A client whose requests are all cut off waits between them, and comes back when they are answered again.',
});
check(hammering, OPTIONS, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await expectNoHammering(run, { answer: (asked) => asked.cut(), how: 'to an agent that cuts them off' });
  await expectBack(run);
});
check(hammering, { ...OPTIONS, aspect: 'ended' }, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await expectNoHammering(run, { answer: (asked) => asked.accept().end(), how: 'for streams that end at once' });
  await expectBack(run);
});
const AFTER_ENDED = [...OPTIONS.premises, `${hammering.id}.ended`] as const;
check(hammering, { ...OPTIONS, premises: AFTER_ENDED, aspect: 'retry-nonsense' }, async (t) => {
  await using run: StreamRun = await cutOff(t);
  await expectNoHammering(run, {
    answer: (asked) => {
      void asked.accept().send('retry: soon\n\n');
      asked.end();
    },
    how: 'for streams that end at once, after `retry: soon`',
  });
});
