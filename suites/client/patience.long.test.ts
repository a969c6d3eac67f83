import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { CLIENT_VARIABLES, DEPLOYMENT } from '../../harness/contract/client.ts';
import { TooLittleSeen } from '../../harness/runner/violation.ts';
import { type InProcessClient, referenceWith } from '../../harness/tools/subjects/clients.ts';
import { type RunChoice, runClientSuite } from '../../harness/tools/subjects/run.ts';
import { type Block, CallFailed, type ClientBehaviour } from '../../simulators/client/behaviour.ts';
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

const { stream, follow, calls, jobs } = referenceBehaviour;

test.each([
  ['first-page-again', 'client.pages.next', 'fail', /GET .*offset=0 again and again, 20 times in .* answered 200$/],
  ['repeats-when-refused', 'client.errors.told.list', 'warn', /again and again, 31 times in .* answered 403$/],
  ['dead-cursor', 'client.expired.goes-on', 'warn', /5 more with the cursor 5/],
])('a client with %s is red without waiting for its end', async (defect, id, outcome, words) => {
  const [result] = await checked(defect, [id], { patienceMs: PATIENCE_MS });
  expect(result).toMatchObject({ outcome, actual: expect.stringMatching(words) });
  expect(result?.duration_ms).toBeLessThan(PATIENCE_MS);
});

test('a client that hammers before its pace is known is red', async () => {
  const own: Partial<ClientBehaviour> = {
    follow: {
      ...follow,
      expired: (cursor) => ({ told: true, cursor }),
      reconnect: (why) => (why.status === 410 ? 0 : follow.reconnect(why)),
    },
  };
  const client = referenceWith(() => ({ ...referenceBehaviour, ...own }));
  const result = { outcome: 'warn', actual: expect.stringMatching(/again and again, 31 times in .* answered 410$/) };
  expect(await resultsOf(client, ['client.expired.no-loop'], {})).toMatchObject([result]);
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

const leaving = { ...follow, mostEvents: 5, deduplicates: false };
function shortPages(wanted = 50): number {
  if (wanted > 100) throw new CallFailed('a page has at most 100 items');
  return wanted;
}

const oneEach: Partial<ClientBehaviour> = {
  stream: () => {
    let isTaken = false;
    const isDispatched = ({ data }: Block): boolean => {
      const before = isTaken;
      isTaken ||= data !== '';
      return data !== '' && !before;
    };
    return { ...stream(), isDispatched, idOf: (value, before) => (isTaken ? before : value) };
  },
  follow: { ...leaving, mostEvents: 1 },
};
const bounded: Partial<ClientBehaviour> = {
  follow: {
    ...leaving,
    mostEvents: 1,
    envelope: (block) => (block.data.length < 4_000_000 ? follow.envelope(block) : { type: 'gap' }),
    show: (line) => (line['type'] === 'gap' ? ['{"saw":"gap"}'] : follow.show(line)),
  },
};
const fixedLimit = { calls: { ...calls, limit: () => 50 } };
const noTimeout = { jobs: { ...jobs, ping: { ...jobs.ping, body: () => ({}) } } };
const PINGS = ['timeout', 'wish', 'patience'].map((name) => `client.ping.${name}`);
const HUGE = 'client.stream.huge.one-line';
test.each<[string, string[], Partial<ClientBehaviour>, string]>([
  ['leaves its streams, and shows what comes again', ['client.stream.boundaries.crlf'], { follow: leaving }, 'pass'],
  ['takes one event from a stream', ['client.delivery.big-ids', HUGE], oneEach, 'pass'],
  ['leaves the stream of a large event, and tells of a gap', [HUGE], bounded, 'pass'],
  ['has pages of one size', ['client.pages.clamped', 'client.pages.limit'], fixedLimit, 'not_applicable'],
  ['sends no types', ['client.request.types'], { follow: { ...follow, types: () => '' } }, 'not_applicable'],
  ['sends no timeout', PINGS, noTimeout, 'not_applicable'],
  ['refuses long pages', ['client.pages.clamped'], { calls: { ...calls, limit: shortPages } }, 'not_applicable'],
])('a client that %s does not fail %j', async (_, only, own, outcome) => {
  const client = referenceWith(() => ({ ...referenceBehaviour, ...own }));
  const results = await resultsOf(client, only, {});
  expect(results.map((result) => result.outcome)).toEqual(only.map(() => outcome));
});

const { id, device_id, release_id } = DEPLOYMENT;
/** Sends `before` and `after` beside the requests of the reference client. */
const withFurther =
  (before: readonly string[], after: readonly string[] = []): InProcessClient =>
  async (variables, print, signal, complain) => {
    const base = variables[CLIENT_VARIABLES.deviceUrl] ?? variables[CLIENT_VARIABLES.platformUrl];
    const send = async (requests: readonly string[]): Promise<void> => {
      for (const [method = '', path] of requests.map((each) => each.split(' '))) {
        const headers = { 'X-API-Key': variables[CLIENT_VARIABLES.platformKey] ?? '' };
        const answer = await fetch(`${base}${path}`, { method, signal, headers });
        if (answer.status !== 200) throw new CallFailed(`${method} ${path} answered ${answer.status}`);
        const isKnown = (await answer.text()).includes(device_id);
        if (path === '/devices' && !isKnown) throw new CallFailed(`${device_id} is not among the devices`);
      }
    };
    await send(before);
    const code = await referenceWith(() => referenceBehaviour)(variables, print, signal, complain);
    await send(after);
    return code;
  };

test.each<[string, string[], string[]]>([
  ['client.stream.dispatch', ['GET /deployments/current'], []],
  ['client.ping.answer', ['GET /devices', `GET /devices/${device_id}`], []],
  ['client.key.sent.ping', [`GET /devices/${device_id}`], []],
  [
    'client.deploy.shown',
    ['GET /deployments', `GET /devices/${device_id}`, `GET /releases/${release_id}`],
    [`POST /deployments/${id}/deploy`, `GET /deployments/${id}`],
  ],
])('a client with further requests passes %s', async (only, before, after) => {
  const results = await resultsOf(withFurther(before, after), [only], {});
  expect([...new Set(results.map(({ outcome }) => outcome))]).toEqual(['pass']);
});

test.each<[string, string[]]>([
  ['client.back-off.retry-field', []],
  ['client.busy.retry-after.429', [`GET /devices/${device_id}`]],
  ['client.ping.patience', [`GET /devices/${device_id}`]],
])('a patience shorter than the wait that %s asks for fails no client', async (only, before) => {
  expect(await resultsOf(withFurther(before), [only], { patienceMs: 500 })).toMatchObject([{ outcome: 'pass' }]);
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
