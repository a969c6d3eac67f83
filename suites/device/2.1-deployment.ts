/** Section 2.1: the Deployment, as GET /deployments/current answers it. */
import fc from 'fast-check';
import { deploymentFields } from '../../harness/contract/deployment.ts';
import { requirement } from '../../harness/runner/define.ts';
import { ask, brief, CURRENT, currentDeployment, mediaType, objectOf, saysNone } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { sameJson } from './support/events.ts';
import { judgeDeployment } from './support/judge.ts';

const shape = requirement({
  id: 'device.deployment.shape',
  level: 'MUST',
  section: '2.1',
  since: '2026-11-21',
  text: 'GET /deployments/current answers 200 with application/json: a Deployment with all required fields, their types, the prefixes dpl_, dvc_ and rls_, the enumerations, and ISO 8601 timestamps.',
});

/** What section 2.1 says of it. What else an implementation adds (the time of the answer, say) may change. */
function specified(body: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  return body && Object.fromEntries(Object.entries(body).filter(([name]) => name in deploymentFields));
}

const SOME_MS = 15;
const OVER_A_SECOND_MS = 1050;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The current deployment, as two readings one after the other agree on it. One may come from elsewhere in between, so there are several attempts. */
async function agreeing(context: Device, between: () => Promise<void>): Promise<Record<string, unknown> | undefined> {
  for (let attempt = 0; ; attempt += 1) {
    const before = specified(await currentDeployment(context));
    await between();
    const after = specified(await currentDeployment(context));
    if (sameJson(before, after)) return after;
    context.must(attempt < 4, {
      expected: 'the same deployment at two readings one after the other',
      actual: `${JSON.stringify(before)}, then ${JSON.stringify(after)}`,
    });
  }
}

async function judgeCurrent(context: Device): Promise<void> {
  const response = await ask(context, { path: CURRENT }, '200 with a Deployment');
  context.must(response.status === 200 && mediaType(response.headers) === 'application/json', {
    expected: '200 with content-type application/json',
    actual: brief(response),
  });
  judgeDeployment(context, response.json ?? response.text, 'GET /deployments/current');
}

const safe = requirement({
  id: 'device.deployment.safe',
  level: 'SHOULD',
  section: '4.1',
  since: '2026-11-21',
  text: 'Reading the current deployment changes nothing: repeated reads agree while nothing is deployed, and unknown query parameters change nothing.',
});

const current = requirement({
  id: 'device.deployment.current',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'After a deployment has been deployed, GET /deployments/current answers that deployment.',
});

export default [
  check(shape, { sharing: 'shared', profile: 'core' }, async (context: Device) => {
    if (saysNone(await ask(context, { path: CURRENT })))
      context.notApplicable(
        'the device has no current deployment, and the specification does not say what it answers then',
      );
    await judgeCurrent(context);
  }),

  check(
    shape,
    { aspect: 'driven', needs: ['drive'], sharing: 'exclusive', profile: 'core' },
    async (context: Device) => {
      await context.control.deploy();
      await judgeCurrent(context);
    },
  ),

  check(safe, { sharing: 'exclusive' }, async (context: Device) => {
    if (context.capabilities.has('drive')) await context.control.deploy();
    const first = await agreeing(context, async () => {
      await pause(SOME_MS);
    });
    if (first === undefined) return context.notApplicable('the device has no current deployment');
    // Times are written to the second by some, so that a change shows only after one.
    await pause(OVER_A_SECOND_MS);
    const later = await currentDeployment(context);
    context.must(later?.['id'] !== first['id'] || later?.['created_at'] === first['created_at'], {
      expected: `the same created_at of ${first['id']} at every reading: ${first['created_at']}`,
      actual: later?.['created_at'],
    });
    const parameters = fc.dictionary(fc.stringMatching(/^muster_[a-z]{1,8}$/), fc.stringMatching(/^[ -~]{0,20}$/), {
      maxKeys: 3,
    });
    await context.property(
      parameters,
      async (query) => {
        // A deployment may come from elsewhere in between, so a difference counts only when it stays.
        for (let attempt = 0; ; attempt += 1) {
          const plain = await ask(context, { path: CURRENT });
          const decorated = await ask(context, { path: CURRENT, query });
          if (plain.status === decorated.status && sameJson(specified(objectOf(plain)), specified(objectOf(decorated))))
            return;
          context.must(attempt < 4, {
            expected: `the same answer with and without the query ${JSON.stringify(query)}`,
            actual: `${brief(plain)} without, ${brief(decorated)} with it`,
          });
        }
      },
      { runs: 15 },
    );
  }),

  check(current, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, async (context: Device) => {
    for (let round = 0; round < 3; round += 1) {
      const description = `Muster round ${round}`;
      const deployed = await context.control.deploy({ description });
      const body = await currentDeployment(context);
      context.must(body?.['id'] === deployed.id, {
        expected: `the deployment deployed last, ${deployed.id}`,
        actual: body === undefined ? '404' : body['id'],
      });
    }
  }),
];
