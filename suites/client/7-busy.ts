/** Section 7: busy platforms. The specification states no status or rate limit, so RFC 6585 and RFC 9110 apply. */
import { PLATFORM_JOBS } from '../../harness/contract/client.ts';
import { RETRY_AFTER_SECONDS, type Refusal } from '../../harness/contract/situations.ts';
import { section } from './support/check.ts';
import {
  errorOf,
  expectItems,
  expectNoStorm,
  forJob,
  IS_ASKED,
  itemsFrom,
  JobRun,
  pageOf,
  pages,
  pageWindow,
  platform,
} from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';
import { expectWait } from './support/waits.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '7', since: '2026-11-23' });

/** Returns a later time as an HTTP date, rounded up to whole seconds. */
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
        if (refused !== undefined) return void platform({ list: pages(few) })(asked, run);
        refused = asked;
        seconds = run.secondsToWait(RETRY_AFTER_SECONDS);
        asked.answer(status, errorOf('busy'), { 'retry-after': after(seconds) });
      };
      await using run: JobRun = await JobRun.untilEnded(t, { job, answer: platform({ [job]: refuseOnce }) });
      run.must(run.failure !== undefined || run.results.length > 0, {
        expected: 'the result, or an error',
        actual: run.outcome,
      });
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
const TOO_MANY: Refusal = { status: 429, headers: {}, body: errorOf('too_many_requests') };
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
  const answer = platform({
    list: (asked) => {
      if (refused || pageWindow(asked).offset === 0) return asked.answer(200, pageOf(asked, all));
      refused = true;
      asked.answer(503, errorOf('unavailable'), { 'retry-after': '1' });
    },
  });
  await using run: JobRun = await JobRun.untilEnded(t, { job: 'list', answer });
  if (run.failure === undefined) expectItems(run, all);
});
