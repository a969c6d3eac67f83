/** Section 5: the API key of the Platform API. */

import { PLATFORM_JOBS } from '../../harness/contract/client.ts';
import { NEWEST, section } from './support/check.ts';
import { openElsewhere } from './support/client-run.ts';
import { errorOf, forJob, IS_ASKED, itemsFrom, JobRun, pages, platform } from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';

export const { requirement, check, checks } = section({ section: '5', since: '2026-11-23' });

const KEY = 'x-api-key';

export const sent = requirement({
  id: 'client.key.sent',
  level: 'MUST',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'Every request to the Platform API has the API key in X-API-Key, and not in its address.',
});
for (const job of PLATFORM_JOBS)
  check(sent, { ...forJob(job), aspect: job }, async (t) => {
    // Serves 230 items, which fill several pages, so that the check sees later requests too.
    const answer = platform({ list: pages(itemsFrom(1, 230)) });
    await using run: JobRun = await JobRun.untilSettled(t, { job, answer });
    const without = run.requests.find(({ headers }) => headers[KEY] !== run.secret);
    const sent = without?.headers[KEY] === undefined ? 'none' : 'another one';
    run.must(without === undefined, {
      expected: 'X-API-Key with the key on every request',
      actual: `${without?.method} ${without?.path} with ${sent}`,
    });
    const shown = run.requests.some(({ query, path }) => `${path}?${query}`.includes(run.secret));
    t.should(!shown, { expected: 'no key in the address, which servers log', actual: 'the key in the address' });
  });

export const address = requirement({
  id: 'client.key.address',
  since: NEWEST,
  protective: true,
  level: 'SHOULD',
  text: 'A client does not write the API key into an address, which servers and proxies log.',
});
for (const job of PLATFORM_JOBS)
  check(address, { ...forJob(job), aspect: job }, async (t) => {
    const answer = platform({ list: pages(itemsFrom(1, 230)) });
    await using run: JobRun = await JobRun.untilSettled(t, { job, answer });
    const shown = run.requests.find(({ query, path }) => `${path}?${query}`.includes(run.secret));
    run.must(shown === undefined, { expected: 'no key in any address', actual: `the key, in that of ${shown?.path}` });
  });

const elsewhere = requirement({
  id: 'client.key.elsewhere',
  protective: true,
  level: 'SHOULD',
  text: 'A client that is led to another host does not send the API key there.',
});
for (const job of ['list', 'ping'] as const)
  check(
    elsewhere,
    { ...forJob(job), aspect: job, premises: [...forJob(job).premises, `${sent.id}.${job}`] },
    async (t) => {
      const seen: string[] = [];
      let whole: JobRun | undefined;
      await using other = await openElsewhere(t, {
        track: (what) => whole?.timeline.request(what, ' (at the other host)'),
        request: (asked) => {
          seen.push(JSON.stringify([asked.headers, asked.path, asked.query.toString(), asked.body]));
          if (whole !== undefined) void platform()(asked, whole);
        },
      });
      const lead = (asked: ClientRequest): void =>
        asked.answer(307, '', { location: `${other.origin}${asked.path}?${asked.query}` });
      await using run: JobRun = await JobRun.start(t, { job, answer: platform({ [job]: lead }) });
      whole = run;
      await run.ended();
      run.must(!seen.some((said) => said.includes(run.secret)), {
        expected: 'no API key at another host',
        actual: 'the API key, at the host that a redirection named',
      });
    },
  );

const printed = requirement({
  id: 'client.key.printed',
  protective: true,
  level: 'SHOULD',
  text: 'A client writes the API key neither to its output nor to its errors, also when the key is refused.',
});
for (const job of PLATFORM_JOBS)
  check(printed, { ...forJob(job), aspect: job }, async (t) => {
    const refuse = (asked: ClientRequest): void => asked.answer(401, errorOf('unauthorized'));
    for (const answer of [platform(), platform({ [job]: refuse })]) {
      await using run: JobRun = await JobRun.untilEnded(t, { job, answer });
      const asked = run.requests.some(IS_ASKED[job]);
      run.must(!asked || !run.printedSecret, { expected: 'no API key', actual: 'the API key, in what it wrote' });
    }
  });
