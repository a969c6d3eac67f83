/** Section 9: the API version that a client names. */

import type { PlatformJob } from '../../harness/contract/client.ts';
import { DIALECT_NAMES, DIALECTS, END_OF_LIFE_VERSIONS } from '../../harness/contract/versions.ts';
import type { CheckContext } from '../../harness/runner/types.ts';
import type { ClientContext } from '../../harness/targets/opened.ts';
import { VERSION_FORMAT } from '../watched.ts';
import { section } from './support/check.ts';
import { forJob, itemsFrom, JobRun, pages, platform } from './support/job-run.ts';

export const { requirement, check, checks } = section({ since: '2026-11-23' });

async function expectVersion(t: ClientContext & CheckContext, job: PlatformJob): Promise<void> {
  const answer = platform({ list: pages(itemsFrom(1, 230)) });
  await using run: JobRun = await JobRun.untilSettled(t, { job, answer });
  seeDialect(t, run);
  const named = run.requests.map(({ headers }) => headers[t.versionHeader.toLowerCase()]);
  const wrong = named.findIndex((version = '') => !VERSION_FORMAT.test(version) || version !== named[0]);
  run.must(wrong === -1, {
    expected: `${t.versionHeader}: <YYYY-MM-DD>.<codename>, the same one on every request`,
    actual: named[wrong] === undefined ? noVersion(t, run, wrong) : `${t.versionHeader}: ${named[wrong]}`,
  });
  const ended = END_OF_LIFE_VERSIONS.find((version) => version === named[0]);
  t.should(ended === undefined, { expected: 'a version that is still supported', actual: `${ended}` });
}

function noVersion({ versionHeader }: ClientContext, { requests }: JobRun, index: number): string {
  const { method = '', path = '', headers = {} } = requests[index] ?? {};
  const names = Object.keys(headers);
  const other = otherHeaders(versionHeader).find((name) => names.includes(name.toLowerCase()));
  const hint = other === undefined ? '' : ` (${other} is that of --dialect ${dialectOf(other)})`;
  return `none; ${method} ${path} has the headers ${names.join(', ')}${hint}`;
}

const otherHeaders = (versionHeader: string): string[] =>
  DIALECTS.map((name) => DIALECT_NAMES[name].versionHeader).filter((name) => name !== versionHeader);

function seeDialect({ versionHeader, session }: ClientContext & CheckContext, { requests }: JobRun): void {
  const has = (name: string): boolean => requests.some(({ headers }) => headers[name.toLowerCase()] !== undefined);
  const other = has(versionHeader) ? undefined : otherHeaders(versionHeader).find(has);
  if (other === undefined && !has(versionHeader)) return;
  session.declarations.saw({
    name: 'dialect',
    declared: `the version in ${versionHeader}`,
    observed: other === undefined ? versionHeader : `${other} (add --dialect ${dialectOf(other)})`,
    holds: other === undefined,
  });
}

const dialectOf = (header: string): string | undefined =>
  DIALECTS.find((name) => DIALECT_NAMES[name].versionHeader === header);

export const ping = requirement({
  id: 'client.version.ping',
  level: 'MUST',
  section: '4.2',
  clause: 'Headers: `Content-Type: application/json`, `Service-Version: <version>`, `X-API-Key: <API_KEY>`.',
  text: 'A ping names the API version that the client was built against.',
});
check(ping, forJob('ping'), (t) => expectVersion(t, 'ping'));

export const sent = requirement({
  id: 'client.version.sent',
  level: 'SHOULD',
  section: '9',
  clause: 'The header `Service-Version` carries the API version the client was built against.',
  text: 'Every request to the Platform API names the API version that the client was built against.',
});
for (const job of ['list', 'deploy'] as const)
  check(sent, { ...forJob(job), aspect: job }, (t) => expectVersion(t, job));
