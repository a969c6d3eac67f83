/** Section 7: expired cursors, refused requests, and busy platforms (RFC 6585 and RFC 9110). */
import { PLATFORM_JOBS } from '../../harness/contract/client.ts';
import { EXPIRED, event, frame, RETRY_AFTER_SECONDS, type SentEvent } from '../../harness/contract/situations.ts';
import { type Client, NEWEST, section, WITH_CURSOR } from './support/check.ts';
import { expectWait, startRun } from './support/client-run.ts';
import {
  type Answering,
  errorOf,
  expectFailure,
  expectItems,
  expectNoStorm,
  forJob,
  IS_ASKED,
  itemsFrom,
  JobRun,
  pageOf,
  pageWindow,
  platform,
  TOO_MANY,
} from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
import { expectDispatched, expectNoHammering, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '7', since: '2026-11-23' });

const OLDER_CURSOR = 'The cursor (`after` or `Last-Event-ID`) is older than the earliest retained event.';

const dead = event(5);
const refuseExpired = (asked: ClientRequest): void => asked.refuse(EXPIRED);

async function expired(t: Client): Promise<StreamRun> {
  return startRun(await StreamRun.after(t, [dead]), async (run) => {
    run.current.cut();
    refuseExpired(await run.request());
  });
}

const expiredReported = requirement({
  id: 'client.expired.told',
  clause: OLDER_CURSOR,
  text: 'A client that is answered 410 tells its caller that events are lost: a gap, or an end of the stream.',
});
check(expiredReported, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await expired(t);
  // Sends a later event, because a client may report lost events together with its next event.
  const came = await run.until(() => {
    for (const asked of run.requests) {
      if (asked.status !== undefined || asked.closed) continue;
      if (asked.cursor === dead.id) refuseExpired(asked);
      else void asked.accept().send(frame(event(50)));
    }
    return run.reported;
  });
  const expected = '{"saw":"gap"} or {"saw":"end"} after 410';
  run.must((came ?? run.reported) !== undefined, { expected, actual: run.outcome });
});

export const goesOn = requirement({
  id: 'client.expired.goes-on',
  clause: OLDER_CURSOR,
  text: 'A client that is answered 410 asks again without that cursor, and dispatches later events.',
});
check(goesOn, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await expired(t);
  await expectLater(run, [dead], event(50));
});

const AGAIN = { ...WITH_CURSOR, aspect: 'again', premises: [...WITH_CURSOR.premises, goesOn.id] } as const;
check(goesOn, AGAIN, async (t) => {
  await using run: StreamRun = await expired(t);
  const [later, last] = [event(50), event(90)];
  (await expectLater(run, [dead], later)).cut();
  await expectLater(run, [dead, later], last);
});

const MOST_REPEATS = 5;

async function expectLater(run: StreamRun, gone: readonly SentEvent[], later: SentEvent): Promise<ClientRequest> {
  for (let attempt = 0; attempt < MOST_REPEATS; attempt += 1) {
    const asked = await run.request('the client to ask again without the cursor that has expired');
    if (gone.some(({ id }) => id === asked.cursor)) {
      refuseExpired(asked);
      continue;
    }
    await asked.accept().send(frame(later));
    await expectDispatched(run, [...gone, later]);
    return asked;
  }
  throw run.violation({
    expected: 'a request without the cursor that has expired',
    actual: `${MOST_REPEATS} more with the cursor ${gone.at(-1)?.id}`,
  });
}

export const loop = requirement({
  id: 'client.expired.no-loop',
  clause: OLDER_CURSOR,
  protective: true,
  text: 'A client that is answered 410 again and again waits between its requests.',
});
check(loop, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await expired(t);
  await expectNoHammering(run, 'that are all answered 410', refuseExpired);
});

/** Status after which clients do not repeat a request. */
const FORBIDDEN = 403;

const reported = requirement({
  id: 'client.errors.told',
  text: 'A client whose request is refused tells an error: by a line, or by an exit code other than 0.',
});
const refuse: Answering = (asked) => asked.answer(FORBIDDEN, errorOf('forbidden'));
for (const job of [...PLATFORM_JOBS, 'current' as const])
  check(reported, { ...forJob(job), aspect: job }, async (t) => {
    const answer = job === 'current' ? refuse : platform({ [job]: refuse });
    await using run: JobRun = await JobRun.untilEnded(t, { job, answer });
    expectFailure(run, `${FORBIDDEN}`);
    const [result] = run.results;
    run.must(result === undefined, { expected: 'no result', actual: JSON.stringify(result) });
  });

export const endless = requirement({
  id: 'client.errors.endless',
  since: NEWEST,
  protective: true,
  text:
    'A client whose requests are all refused (400, 401, 403 or 404) gives up with an error, ' +
    'or waits between its requests.',
});
for (const job of PLATFORM_JOBS)
  check(endless, { ...forJob(job), aspect: job }, async (t) => {
    for (const status of [400, 401, 403, 404])
      await expectNoStorm(t, job, { status, headers: {}, body: errorOf('refused') });
  });

const AFTER_TOLD = { needs: ['list'], premises: [...forJob('list').premises, `${reported.id}.list`] } as const;

const bodies = requirement({
  id: 'client.errors.bodies',
  text:
    'A client tells an error in the same way whatever the body of the answer ' +
    'is, and with the status that was sent.',
});
const HTML = '<!doctype html><title>403 Forbidden</title><h1>403 Forbidden</h1>';
const BODIES: readonly (readonly [name: string, body: string, type?: string])[] = [
  ['a page of HTML', HTML, 'text/html'],
  ['no body', ''],
  ['JSON that breaks off', '{"error":{"code":"forbid'],
  ['null', 'null'],
  ['an error that is text', '{"error":"forbidden"}'],
  ['an error in an error', '{"error":{"error":{"code":{"of":[403]},"message":null}},"message":{"text":[]}}'],
];
check(bodies, { ...AFTER_TOLD, slow: true }, async (t) => {
  const usual = await reportOf(t, (asked) => asked.answer(FORBIDDEN, errorOf('forbidden')));
  for (const [name, body, type] of BODIES) {
    const headers = type === undefined ? {} : { 'content-type': type };
    await reportOf(t, (asked) => asked.answer(FORBIDDEN, body, headers), name, usual);
  }
});

/** Returns how the client reports a refused list; fails if that differs from `usual`, its report of a JSON error. */
async function reportOf(t: Client, list: Answering, name = '', usual?: string): Promise<string> {
  await using run: JobRun = await JobRun.untilEnded(t, { job: 'list', answer: platform({ list }) });
  expectFailure(run, `${FORBIDDEN} with ${name}`);
  const how = run.failure ?? '';
  const expected = `${FORBIDDEN} with ${name} told by ${usual}, as with an error in JSON`;
  run.must(usual === undefined || usual === how, { expected, actual: `told by ${how}; ${run.outcome}` });
  const status = run.saw('error')[0]?.status;
  run.must(status === undefined || status === null || status === FORBIDDEN, {
    expected: `the status ${FORBIDDEN}, or none`,
    actual: `${status}`,
  });
  return how;
}

const garbage = requirement({
  id: 'client.errors.garbage',
  text:
    'A list whose page is no list (a page of HTML, JSON that breaks off, a torn connection) is told as an error, ' +
    'not as its end.',
});
const LOG_IN = '<!doctype html><title>Please log in</title>';
const GARBAGE: readonly (readonly [name: string, answer: (asked: ClientRequest) => unknown])[] = [
  ['a page of HTML', (asked) => asked.garble(LOG_IN, { 'content-type': 'text/html' })],
  ['no body', (asked) => asked.garble('')],
  ['an object without data', (asked) => asked.garble('{}')],
  ['JSON that breaks off', (asked) => asked.garble(torn(asked))],
  ['a connection that is torn', (asked) => asked.tear(200, torn(asked), { 'content-length': '100000' })],
];
const torn = (asked: ClientRequest): string => JSON.stringify(pageOf(asked, itemsFrom(1, 3))).slice(0, -30);
check(garbage, AFTER_TOLD, async (t) => {
  for (const [name, answer] of GARBAGE) {
    const list: Answering = (asked) => void answer(asked);
    await using run: JobRun = await JobRun.untilEnded(t, { job: 'list', answer: platform({ list }) });
    expectFailure(run, `a page that is ${name}`);
  }
});

const laterPage = requirement({
  id: 'client.errors.later-page',
  text: 'A list that is refused after its first page is told as an error, not as complete.',
});
check(laterPage, AFTER_TOLD, async (t) => {
  const all = itemsFrom(1, 230);
  const list: Answering = (asked, run) =>
    pageWindow(asked).offset === 0 ? asked.answer(200, pageOf(asked, all)) : refuse(asked, run);
  await using run: JobRun = await JobRun.untilEnded(t, { job: 'list', answer: platform({ list }) });
  expectFailure(run, `${FORBIDDEN} on the second page`);
});

const dateIn = (seconds: number): string => new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000).toUTCString();

export const retryAfter = requirement({
  id: 'client.busy.retry-after',
  protective: true,
  text:
    'A client that is answered 429 or 503 with Retry-After does not ask again before that time, ' +
    'or gives up with an error.',
});
const BUSY = [
  { aspect: '429', job: 'list', status: 429, after: String },
  { aspect: '503', job: 'list', status: 503, after: String },
  { aspect: 'date', job: 'list', status: 503, after: dateIn },
  { aspect: 'ping', job: 'ping', status: 429, after: String },
] as const;
const few = itemsFrom(1, 3);
for (const { aspect, job, status, after } of BUSY)
  check(retryAfter, { ...forJob(job), aspect }, async (t) => {
    await expectWait(async () => {
      let refused: ClientRequest | undefined;
      let seconds = RETRY_AFTER_SECONDS;
      const refuseOnce = (asked: ClientRequest, run: JobRun): void => {
        if (refused !== undefined) return void platform()(asked, run);
        refused = asked;
        seconds = run.secondsToWait(RETRY_AFTER_SECONDS);
        asked.answer(status, errorOf('busy'), { 'retry-after': after(seconds) });
      };
      await using run: JobRun = await JobRun.untilEnded(t, { job, answer: platform({ [job]: refuseOnce }) });
      const expected = 'the result, or an error';
      run.must(run.failure !== undefined || run.results.length > 0, { expected, actual: run.outcome });
      const [since, back] = run.requests.filter(IS_ASKED[job]);
      if (since === undefined || back === undefined) return undefined;
      return { run, since, back, seconds, what: `${status} with Retry-After` };
    });
  });

export const hammering = requirement({
  id: 'client.busy.hammering',
  protective: true,
  text: 'A client whose requests are all answered 429 waits between them, or gives up with an error.',
});
for (const job of PLATFORM_JOBS)
  check(hammering, { ...forJob(job), ...(job === 'list' ? {} : { aspect: job }) }, async (t) => {
    const run = await expectNoStorm(t, job, TOO_MANY);
    if (job === 'list' && run.failure === undefined) expectItems(run, few);
  });

const resumes = requirement({
  id: 'client.busy.resumes',
  text: 'A client that is answered 503 on a later page asks for that page again, or tells an error: no item is lost.',
});
check(resumes, { ...forJob('list'), premises: ['client.pages.next'] }, async (t) => {
  const all = itemsFrom(1, 230);
  let refused = false;
  const list: Answering = (asked) => {
    if (refused || pageWindow(asked).offset === 0) return asked.answer(200, pageOf(asked, all));
    refused = true;
    asked.answer(503, errorOf('unavailable'), { 'retry-after': '1' });
  };
  await using run: JobRun = await JobRun.untilEnded(t, { job: 'list', answer: platform({ list }) });
  if (run.failure === undefined) expectItems(run, all);
});
