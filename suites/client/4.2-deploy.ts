/** Section 4.2: creation of a deployment; the specification states only `parent_id` of its body. */

import { DEPLOYMENT } from '../../harness/contract/client.ts';
import { longId, numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { type Client, NEWEST, section } from './support/check.ts';
import { type Answering, forJob, IS_ASKED, JobRun, platform } from './support/job-run.ts';

export const { requirement, check, checks } = section({ section: '4.2', since: '2026-11-23' });

const DEPLOY = forJob('deploy');

const start = (t: Client, deploy?: Answering): Promise<JobRun> =>
  JobRun.untilEnded(t, { job: 'deploy', answer: platform({ deploy }) });

const shown = requirement({
  id: 'client.deploy.shown',
  level: 'SHOULD',
  text: 'A client creates one deployment, and gives the one that the platform answers with to its caller.',
});
check(shown, { needs: DEPLOY.needs }, async (t) => {
  await using run: JobRun = await start(t);
  const seen = run.saw('deployment').map(({ deployment }) => deployment.id);
  run.must(seen.length === 1 && seen[0] === DEPLOYMENT.id && run.failure === undefined, {
    expected: `{"saw":"deployment"} once with the id ${DEPLOYMENT.id}, and no error`,
    actual: `${seen.join(', ')}; ${run.outcome}`,
  });
  const times = run.requests.filter(IS_ASKED.deploy).length;
  run.must(times === 1, { expected: 'one request that creates a deployment', actual: `${times}` });
});

const unknown = requirement({
  id: 'client.deploy.unknown',
  since: NEWEST,
  level: 'SHOULD',
  section: '2.1',
  text: 'Members and values that a client does not know, and a long id, keep no deployment from its caller.',
});
check(unknown, DEPLOY, async (t) => {
  const id = longId('dpl_');
  const odd = {
    next: [UNSAFE_INTEGER],
    ...DEPLOYMENT,
    id,
    status: 'orbiting',
    activity_status: 'orbiting',
    serial: UNSAFE_INTEGER,
  };
  await using run: JobRun = await start(t, (asked) => asked.answer(200, numbered(odd)));
  run.must(run.saw('deployment')[0]?.deployment.id === id && run.failure === undefined, {
    expected: `{"saw":"deployment"} with the id ${id}, and no error`,
    actual: run.outcome,
  });
});

const parent = requirement({
  id: 'client.deploy.parent',
  level: 'SHOULD',
  section: '9',
  clause: '`null` asserts that the device has no current target deployment.',
  text: 'A client that does not know the current target deployment sends no parent_id, rather than null.',
});
check(parent, DEPLOY, async (t) => {
  await using run: JobRun = await start(t);
  // Allows `parent_id` after an earlier request, which may have shown the current target to the client.
  const looked = run.requests[0] !== undefined && !IS_ASKED.deploy(run.requests[0]);
  const body = run.requests.find(IS_ASKED.deploy)?.body ?? '';
  run.must(looked || !/"parent_id"\s*:\s*null/.test(body), {
    expected: 'no parent_id, or one that the client has looked up',
    actual: '"parent_id": null',
  });
});

const lost = requirement({
  id: 'client.deploy.lost',
  level: 'INFO',
  text: 'What a client does when the answer to its deployment is lost: the specification names no idempotency key.',
});
check(lost, DEPLOY, async (t) => {
  let created = 0;
  await using run: JobRun = await start(t, (asked) => {
    created += 1;
    if (created === 1) asked.cut();
    else asked.answer(200, DEPLOYMENT);
  });
  const sent = run.requests.filter(IS_ASKED.deploy);
  const keys = new Set(sent.map(({ headers }) => headers['idempotency-key']));
  const marked = keys.size === 1 && !keys.has(undefined) ? ', with one Idempotency-Key' : '';
  const times = sent.length === 1 ? 'once' : `${sent.length} times${marked}`;
  const told = run.failure === undefined ? 'no error' : 'an error';
  t.observe('a deployment whose answer is lost', `sent ${times}, ${told} told`);
});
