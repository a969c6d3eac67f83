/** Section 7: how a client reports a refusal to its caller, whatever the body of the refusal. */

import { PLATFORM_JOBS } from '../../harness/contract/client.ts';
import { type Client, NEWEST, section } from './support/check.ts';
import {
  type Answering,
  errorOf,
  expectFailure,
  expectNoStorm,
  forJob,
  itemsFrom,
  JobRun,
  pageOf,
  pageWindow,
  platform,
} from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '7', since: '2026-11-23' });

/** Status after which clients do not repeat a request. */
const FORBIDDEN = 403;

const told = requirement({
  id: 'client.errors.told',
  text: 'A client whose request is refused tells an error: by a line, or by an exit code other than 0.',
});
const refuse: Answering = (asked) => asked.answer(FORBIDDEN, errorOf('forbidden'));
for (const job of [...PLATFORM_JOBS, 'current' as const])
  check(told, { ...forJob(job), aspect: job }, async (t) => {
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

const AFTER_TOLD = { needs: ['list'], premises: [...forJob('list').premises, `${told.id}.list`] } as const;

const bodies = requirement({
  id: 'client.errors.bodies',
  text:
    'A client tells an error in the same way whatever the body of the answer is, ' +
    'and with the status that was sent.',
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
    await reportOf(t, (asked) => asked.answer(FORBIDDEN, body, headers), { usual, name });
  }
});

/** Returns how the client reports a refusal; `usual` is its report of the error body that published platforms send. */
async function reportOf(
  t: Client,
  list: Answering,
  { usual, name = '' }: { usual?: string; name?: string } = {},
): Promise<string> {
  await using run: JobRun = await JobRun.untilEnded(t, { job: 'list', answer: platform({ list }) });
  expectFailure(run, `${FORBIDDEN} with ${name}`);
  const how = run.failure ?? '';
  run.must(usual === undefined || usual === how, {
    expected: `${FORBIDDEN} with ${name} told by ${usual}, as with an error in JSON`,
    actual: `told by ${how}; ${run.outcome}`,
  });
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
const GARBAGE: readonly (readonly [name: string, answer: (asked: ClientRequest) => unknown])[] = [
  [
    'a page of HTML',
    (asked) => asked.garble('<!doctype html><title>Please log in</title>', { 'content-type': 'text/html' }),
  ],
  ['no body', (asked) => asked.garble('')],
  ['an object without data', (asked) => asked.garble('{}')],
  ['JSON that breaks off', (asked) => asked.garble(torn(asked))],
  ['a connection that is torn', (asked) => asked.tear(200, torn(asked), { 'content-length': '100000' })],
];
const torn = (asked: ClientRequest): string => JSON.stringify(pageOf(asked, itemsFrom(1, 3))).slice(0, -30);
check(garbage, AFTER_TOLD, async (t) => {
  for (const [name, answer] of GARBAGE) {
    await using run: JobRun = await JobRun.untilEnded(t, {
      job: 'list',
      answer: platform({ list: (asked) => void answer(asked) }),
    });
    expectFailure(run, `a page that is ${name}`);
  }
});

const laterPage = requirement({
  id: 'client.errors.later-page',
  text: 'A list that is refused after its first page is told as an error, not as complete.',
});
check(laterPage, AFTER_TOLD, async (t) => {
  const all = itemsFrom(1, 230);
  const answer = platform({
    list: (asked, run) => {
      if (pageWindow(asked).offset === 0) asked.answer(200, pageOf(asked, all));
      else void refuse(asked, run);
    },
  });
  await using run: JobRun = await JobRun.untilEnded(t, { job: 'list', answer });
  expectFailure(run, `${FORBIDDEN} on the second page`);
});
