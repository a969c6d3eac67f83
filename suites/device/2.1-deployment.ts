/** Sections 2.1 and 4.1: the Deployment that GET /deployments/current returns. */

import fc from 'fast-check';
import type { HttpResponse } from '../../harness/client/http.ts';
import { deploymentFields } from '../../harness/contract/device-api.ts';
import { byOracle } from './oracle/checks.ts';
import { CURRENT_SHOWN, type Device, SERVED } from './support/check.ts';
import { expectDeployment, sameJson } from './support/events.ts';
import {
  CURRENT,
  currentDeployment,
  deploymentIn,
  describeResponse,
  meansNoDeployment,
  mediaType,
  objectOf,
  request,
} from './support/requests.ts';
import { section } from './support/section.ts';

export const { requirement, check, rule, checks } = section({ section: '4.1', since: '2026-11-21' });

const shape = requirement({
  id: 'device.deployment.shape',
  level: 'MUST',
  section: '2.1',
  clause: 'Response 200, `application/json`: a Deployment (section 2.1).',
  text:
    'GET /deployments/current answers 200 with application/json: a Deployment with all required fields, their types, ' +
    'the prefixes dpl_, dvc_ and rls_, the enumerations, and ISO 8601 timestamps.',
});
check(shape, { turn: 'last', profile: 'core', premises: SERVED }, async (t: Device) => {
  const response = await request(t, { path: CURRENT }, '200 with a Deployment');
  if (meansNoDeployment(response)) {
    // Leaves the check out instead of deploying, because concurrent checks read the retained events.
    if (t.capabilities.has('drive')) return t.notApplicable('the checks before it have left no current deployment');
    t.undecided('the device has no current deployment, and the specification does not say what it answers then');
  }
  expectCurrentDeployment(t, response);
});

const shapeDrivenCheck = check(
  shape,
  { aspect: 'driven', needs: ['drive'], profile: 'core', premises: SERVED },
  async (t: Device) => {
    await t.control.deploy();
    expectCurrentDeployment(t, await request(t, { path: CURRENT }, '200 with a Deployment'));
  },
);

rule(shape, { premises: [shape.id] }, () => (seen, judge) => {
  const body = deploymentIn(seen);
  if (body === undefined) return;
  judge.saw(() => JSON.stringify(body));
  expectDeployment(judge, body, 'GET /deployments/current');
});

function expectCurrentDeployment(t: Device, response: HttpResponse): void {
  t.must(response.status === 200 && mediaType(response.headers) === 'application/json', {
    expected: '200 with content-type application/json',
    actual: describeResponse(response),
  });
  expectDeployment(t, response.json ?? response.text, 'GET /deployments/current');
}

const safe = requirement({
  id: 'device.deployment.safe',
  level: 'SHOULD',
  clause: 'return the current deployment of the device … no parameters, no body',
  text:
    'Reading the current deployment changes nothing: ' +
    'repeated reads agree while nothing is deployed, and unknown query parameters change nothing.',
});
check(safe, { sharing: 'exclusive', premises: CURRENT_SHOWN }, async (t: Device) => {
  if (t.capabilities.has('drive')) await t.control.deploy();
  const first = await readTwice(t);
  if (typeof first?.['id'] !== 'string') return t.undecided('the device shows no current deployment');
  // Waits longer than one second if the device writes timestamps in whole seconds.
  await pause(/\.\d*[1-9]/.test(String(first['created_at'])) ? SOME_MS : 1050);
  const later = await currentDeployment(t);
  t.must(later?.['id'] !== first['id'] || later?.['created_at'] === first['created_at'], {
    expected: `the same created_at of ${first['id']} at every reading: ${first['created_at']}`,
    actual: later?.['created_at'],
  });
  await t.property(unknownParameters, (query) => expectIgnored(t, query), {
    runs: 15,
    describe: (query) => `the query ${JSON.stringify(query)}`,
  });
});

const SOME_MS = 15;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Maximum number of attempts to get two equal answers; a deployment may come between two reads. */
const ATTEMPTS = 5;

async function readTwice(t: Device): Promise<Record<string, unknown> | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const before = specified(await currentDeployment(t));
    await pause(SOME_MS);
    const after = specified(await currentDeployment(t));
    if (sameJson(before, after)) return after;
    t.must(attempt < ATTEMPTS, {
      expected: 'the same deployment at two readings one after the other',
      actual: `${JSON.stringify(before)}, then ${JSON.stringify(after)}`,
    });
  }
}

const unknownParameters = fc.dictionary(fc.stringMatching(/^trace_[a-z]{1,8}$/), fc.stringMatching(/^[ -~]{0,20}$/), {
  maxKeys: 3,
});

async function expectIgnored(t: Device, query: Record<string, string>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const without = await request(t, { path: CURRENT });
    const withQuery = await request(t, { path: CURRENT, query });
    const same = sameJson(specified(objectOf(without)), specified(objectOf(withQuery)));
    if (without.status === withQuery.status && same) return;
    t.must(attempt < ATTEMPTS, {
      expected: `the same answer with and without the query ${JSON.stringify(query)}`,
      actual: `${describeResponse(without)} without, ${describeResponse(withQuery)} with it`,
    });
  }
}

/** Keeps only the fields of section 2.1, because a device may add fields that change at each read. */
function specified(body: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  return body && Object.fromEntries(Object.entries(body).filter(([name]) => name in deploymentFields));
}

const current = requirement({
  id: 'device.deployment.current',
  level: 'MUST',
  clause: 'return the current deployment of the device',
  text: 'After a deployment has been deployed, GET /deployments/current answers that deployment.',
});
check(current, { needs: ['drive'], profile: 'core', premises: [shapeDrivenCheck.id] }, async (t: Device) => {
  for (let round = 0; round < t.session.rounds(3); round += 1) {
    const deployed = await t.control.deploy({ description: `round ${round}` });
    const body = await currentDeployment(t);
    t.must(body?.['id'] === deployed.id, {
      expected: `the deployment deployed last, ${deployed.id}`,
      actual: body === undefined ? '404' : body['id'],
    });
  }
});

check(safe, ...byOracle(safe, { least: 'looks at the current deployment' }));

check(current, ...byOracle(current, { least: 'deployments' }));
