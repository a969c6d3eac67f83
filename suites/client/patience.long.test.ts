import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import { TooLittleSeen } from '../../harness/runner/violation.ts';
import { type InProcessClient, referenceWith } from '../../harness/tools/subjects/clients.ts';
import { type RunChoice, runClientSuite } from '../../harness/tools/subjects/run.ts';
import { CallFailed, type ClientBehaviour } from '../../simulators/client/behaviour.ts';
import { referenceBehaviour } from '../../simulators/client/reference.ts';
import { clientDefects } from '../../simulators/defects/client/index.ts';
import { ClientRun } from './support/client-run.ts';

async function checked(defect: string, only: string[], choice: RunChoice) {
  const planted = clientDefects.find(({ name }) => name === defect);
  if (planted === undefined) throw new Error(`there is no defect ${defect}`);
  const client = referenceWith(() => planted.behaviour(referenceBehaviour));
  return await resultsOf(client, only, choice);
}

async function resultsOf(client: InProcessClient, only: string[], choice: RunChoice) {
  const { checks } = await runClientSuite(client, { only, ...choice });
  return checks.map(({ outcome, reason, actual, duration_ms }) => ({ outcome, reason, actual, duration_ms }));
}

const PATIENCE_MS = 60_000;

test.each([
  ['first-page-again', 'client.pages.next', 'fail', /GET .*offset=0 again and again, 20 times in .* answered 200$/],
  ['repeats-when-refused', 'client.errors.told.list', 'warn', /again and again, 31 times in .* answered 403$/],
  ['dead-cursor', 'client.expired.goes-on', 'warn', /5 more with the cursor 5/],
])('a client with %s is red without waiting for its end', async (defect, id, outcome, words) => {
  const [result] = await checked(defect, [id], { patienceMs: PATIENCE_MS });
  expect(result).toMatchObject({ outcome, actual: expect.stringMatching(words) });
  expect(result?.duration_ms).toBeLessThan(PATIENCE_MS);
});

test('a client without an end has its requests judged', async () => {
  const only = ['client.key.sent.list', 'client.version.sent.list'];
  const results = await checked('first-page-again', only, { patienceMs: PATIENCE_MS });
  expect(results.map(({ outcome }) => outcome)).toEqual(['pass', 'pass']);
});

test('a check out of time is undecided, and red after enough waiting', async () => {
  const only = ['client.stream.line-ends.cr'];
  const early = await checked('no-cr', only, { patienceMs: PATIENCE_MS, maxTimeMs: 8000 });
  const reason = expect.stringMatching(/^this machine was too slow for it, or --max-time is: the client runs/);
  expect(early).toMatchObject([{ outcome: 'undecided', reason }]);
  expect(await checked('no-cr', only, { patienceMs: 300 })).toMatchObject([{ outcome: 'fail' }]);
});

test('a client that starts too late for a check of pauses is undecided', async () => {
  const said = 'this machine was too slow for it: the client took 40 s to ask for anything';
  const spy = vi.spyOn(ClientRun.prototype, 'secondsToWait').mockImplementation(() => {
    throw new TooLittleSeen(said);
  });
  const only = ['client.busy.retry-after.429', 'client.back-off.retry-after'];
  const results = await checked('busy-at-once', only, {});
  spy.mockRestore();
  expect(results.length).toBeGreaterThan(1);
  for (const result of results) expect(result).toMatchObject({ outcome: 'undecided', reason: said });
});

const { follow, calls } = referenceBehaviour;
const leaving = { ...follow, mostEvents: 5, deduplicates: false };
function shortPages(wanted = 50): number {
  if (wanted > 100) throw new CallFailed('a page has at most 100 items');
  return wanted;
}

test.each<[string, string, Partial<ClientBehaviour>, string]>([
  ['leaves its streams, and shows what comes again', 'client.stream.boundaries.crlf', { follow: leaving }, 'pass'],
  ['refuses long pages', 'client.pages.clamped', { calls: { ...calls, limit: shortPages } }, 'not_applicable'],
])('a client that %s does not fail %s', async (_, id, own, outcome) => {
  const client = referenceWith(() => ({ ...referenceBehaviour, ...own }));
  expect(await resultsOf(client, [id], {})).toMatchObject([{ outcome }]);
});

test.each<[string, string[], string[]]>([
  ['client.stream.dispatch', ['GET /deployments/current'], []],
  ['client.deploy.shown', ['GET /deployments', 'GET /releases?limit=1'], ['POST /deployments/dpl_Qa9Ws2/deploy']],
])('a client with further requests passes %s', async (id, before, after) => {
  const client: InProcessClient = async (variables, print, signal, complain) => {
    const base = variables[CLIENT_VARIABLES.deviceUrl] ?? variables[CLIENT_VARIABLES.platformUrl];
    const send = async (requests: readonly string[]): Promise<void> => {
      for (const [method = '', path] of requests.map((each) => each.split(' '))) {
        const { status } = await fetch(`${base}${path}`, { method, signal });
        if (status !== 200) throw new CallFailed(`${method} ${path} answered ${status}`);
      }
    };
    await send(before);
    const code = await referenceWith(() => referenceBehaviour)(variables, print, signal, complain);
    await send(after);
    return code;
  };
  const outcomes = new Set((await resultsOf(client, [id], {})).map(({ outcome }) => outcome));
  expect([...outcomes]).toEqual(['pass']);
});

test('a client that starts late finds its agent', async () => {
  const patienceMs = 5000;
  const late: InProcessClient = async (variables, print, signal, complain) => {
    await delay(4 * patienceMs, undefined, { signal });
    return await referenceWith(() => referenceBehaviour)(variables, print, signal, complain);
  };
  const only = ['unknown-members', 'half-written.start', 'stale'].map((name) => `client.loopback.${name}`);
  const results = await resultsOf(late, only, { patienceMs });
  expect(results.map(({ outcome }) => outcome)).toEqual(['pass', 'pass', 'pass']);
});
