/** Sections 2.1, 2.2 and 4.1: the current deployment, its statuses, and its end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { HttpResponse } from '../../harness/client/http.ts';
import { isObject, parseObject } from '../../harness/common/lenient.ts';
import { pollWithin } from '../../harness/common/waiting.ts';
import { type Deployment, deploymentFields } from '../../harness/contract/device-api.ts';
import { byOracle } from './oracle/explore.ts';
import {
  CURRENT_SHOWN,
  type Device,
  recordSuccess,
  recordTimeout,
  restart,
  SERVED,
  STREAM,
  timeoutMs,
} from './support/check.ts';
import { type ConfigFile, configFile, configRoot, fileThatStays, findConfigFile } from './support/disk.ts';
import { ignoreRefusal } from './support/drive.ts';
import { expectDeployment, expectMergedStatus } from './support/events.ts';
import { sampleRetained } from './support/replays.ts';
import {
  CURRENT,
  currentDeployment,
  deploymentIn,
  describeResponse,
  meansNoDeployment,
  mediaType,
  objectOf,
  refuseThrottled,
  request,
} from './support/requests.ts';
import { section } from './support/section.ts';

export const { requirement, check, rule, checks } = section({ section: '2.2', since: '2026-11-21' });

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
    // Deploys nothing, because its events would change the log that concurrent checks replay and compare.
    if (t.capabilities.has('drive')) return t.notApplicable('the checks before it have left no current deployment');
    t.undecided('the device has no current deployment, and the specification does not say what it answers then');
  }
  expectCurrentDeployment(t, response);
});

check(shape, { aspect: 'driven', needs: ['drive'], profile: 'core', premises: SERVED }, async (t: Device) => {
  await t.control.deploy();
  expectCurrentDeployment(t, await request(t, { path: CURRENT }, '200 with a Deployment'));
});

rule(shape, { premises: [shape.id], traffic: 'a current deployment' }, () => (seen, judge) => {
  const body = deploymentIn(seen);
  if (body === undefined) return;
  judge.saw(() => JSON.stringify(body));
  expectDeployment(judge, body, 'GET /deployments/current');
});

function expectCurrentDeployment(t: Device, response: HttpResponse): void {
  refuseThrottled(t, response);
  t.must(response.status === 200 && mediaType(response.headers) === 'application/json', {
    expected: '200 with content-type application/json',
    actual: describeResponse(response),
  });
  expectDeployment(t, response.json ?? response.text, 'GET /deployments/current');
}

const safe = requirement({
  id: 'device.deployment.safe',
  section: '4.1',
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
  // Waits over one second if timestamps have whole seconds, so that a created_at made up at each reading differs.
  await sleep(/\.\d*[1-9]/.test(String(first['created_at'])) ? SOME_MS : 1050);
  const later = await currentDeployment(t);
  t.must(later?.['id'] !== first['id'] || later?.['created_at'] === first['created_at'], {
    expected: `the same created_at of ${first['id']} at every reading: ${first['created_at']}`,
    actual: later?.['created_at'],
  });
  await t.property(
    fc.dictionary(fc.stringMatching(/^trace_[a-z]{1,8}$/), fc.stringMatching(/^[ -~]{0,20}$/), { maxKeys: 3 }),
    async (query) => {
      for (let attempt = 1; ; attempt += 1) {
        const without = await request(t, { path: CURRENT });
        const withQuery = await request(t, { path: CURRENT, query });
        const same = isDeepStrictEqual(specified(objectOf(without)), specified(objectOf(withQuery)));
        if (without.status === withQuery.status && same) return;
        t.must(attempt < ATTEMPTS, {
          expected: `the same answer with and without the query ${JSON.stringify(query)}`,
          actual: `${describeResponse(without)} without, ${describeResponse(withQuery)} with it`,
        });
      }
    },
    { runs: 15, describe: (query) => `the query ${JSON.stringify(query)}` },
  );
});

const SOME_MS = 15;

const ATTEMPTS = 5;

async function readTwice(t: Device): Promise<Record<string, unknown> | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const before = specified(await currentDeployment(t));
    await sleep(SOME_MS);
    const after = specified(await currentDeployment(t));
    if (isDeepStrictEqual(before, after)) return after;
    t.must(attempt < ATTEMPTS, {
      expected: 'the same deployment at two readings one after the other',
      actual: `${JSON.stringify(before)}, then ${JSON.stringify(after)}`,
    });
  }
}

/** Keeps the fields of section 2.1, because other fields may change at each read. */
function specified(body: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  return body && Object.fromEntries(Object.entries(body).filter(([name]) => name in deploymentFields));
}

const current = requirement({
  id: 'device.deployment.current',
  section: '4.1',
  level: 'MUST',
  clause: 'return the current deployment of the device',
  text: 'After a deployment has been deployed, GET /deployments/current answers that deployment.',
});
check(current, { needs: ['drive'], profile: 'core', premises: [`${shape.id}.driven`] }, async (t: Device) => {
  for (let round = 0; round < t.session.rounds(3); round += 1) {
    const deployed = await t.control.deploy({ description: `round ${round}` });
    const body = await currentDeployment(t);
    t.must(body?.['id'] === deployed.id, {
      expected: `the deployment deployed last, ${deployed.id}`,
      actual: body === undefined ? '404' : body['id'],
    });
  }
});

byOracle(check, safe, { aspect: 'oracle', least: 'looks at the current deployment' });
byOracle(check, current, { aspect: 'oracle', least: 'deployments' });

const merge = requirement({
  id: 'device.deployment.merge',
  level: 'MUST',
  clause:
    '`status` equals `error_status` when an error is present … ' +
    'when `error_status` is `none`, `status` equals `activity_status`.',
  text:
    'status equals error_status when that is failed or retrying, and activity_status when error_status is none, ' +
    'on every deployment seen.',
});
check(merge, { turn: 'last', profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  let seen = 0;
  const body = await currentDeployment(t);
  if (body !== undefined && expectMergedStatus(t, body, 'the current deployment')) seen += 1;
  const past = await sampleRetained(t, streams);
  for (const { event = '', data = '' } of past?.stream.frames ?? []) {
    const payload = parseObject(data)?.['data'];
    if (!isObject(payload)) continue;
    if (event === 'deployment.deployed' && expectMergedStatus(t, payload, `the payload of ${data}`)) seen += 1;
    // Records the status without a verdict, because section 6.3 shows no payload of deployment.removed.
    if (event !== 'deployment.removed') continue;
    const { status, activity_status, error_status } = payload;
    const merged = error_status === 'none' ? activity_status : error_status;
    const how = status === undefined ? 'none' : status === merged ? 'merged' : `${status}, which is not merged`;
    t.observe('the status in deployment.removed', how);
  }
  if (seen === 0) t.undecided('the device shows no deployment: neither a current one nor one in a retained event');
});

rule(merge, { premises: [merge.id], traffic: 'a current deployment with its statuses' }, () => (seen, judge) => {
  const body = deploymentIn(seen);
  if (typeof body?.['activity_status'] !== 'string' || typeof body['error_status'] !== 'string') return;
  judge.saw(() => JSON.stringify(body));
  expectMergedStatus(judge, body, 'the current deployment');
});

byOracle(check, merge, { aspect: 'driven', least: 'looks at the current deployment' });

const failed = requirement({
  id: 'device.deployment.failed',
  level: 'MUST',
  clause: 'a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device',
  text: 'A failed deployment ends archived and is no longer on the device; it may pass through removing.',
});
const afterWritten = { needs: ['drive'], premises: [...CURRENT_SHOWN, 'device.events.written-first'] } as const;
check(failed, { ...afterWritten, sharing: 'disruptive' }, async (t: Device) => {
  const files = [configFile('{"a":1}'), configFile('{"b":2}')];
  // Blocks a device that shows no deployment, or has its files on another machine, because it would pass below.
  await deployShown(t, configFile('{"c":3}'));
  const made = await t.control.deploy({ error_status: 'failed', config_instances: files }).catch(ignoreRefusal);
  if (made?.error_status !== 'failed') return t.notApplicable('control cannot drive a deployment to failed');
  const { id, activity_status: answered } = made;
  const hasLeft = async (): Promise<boolean> => (await activeState(t, id)) === undefined;
  // Only warns, because control may have forced the deployment to stay deployed.
  if (answered === 'deployed' && !(await hasLeft())) {
    const left = await happens(t, 'the failed deployment to leave', hasLeft, t.patienceMs / 2);
    t.should(left, {
      expected: `the failed deployment ${id} archived, or not shown as current any more`,
      actual: `${await activeState(t, id)} ${t.patienceMs / 2000} s later, as control was asked for`,
    });
    if (!left) return;
  }
  // Only warns about files of a deployment that never was deployed, because no section demands their removal.
  await expectInactive(t, id, files, 'failed', answered === 'deployed' ? t.must : t.should);
  // Restarts the agent, because it may then write the files of its newest deployment, even of a failed one.
  const staying = () => fileThatStays(t, files, (_, found) => found.some(({ inPlace }) => inPlace));
  if (!t.capabilities.has('files') || !t.capabilities.has('restart') || (await staying())) return;
  await restart(t);
  // Ends without a verdict on files, because an agent that forgets the failure may deploy again.
  if ((await activeState(t, id)) !== undefined) return;
  const back = await staying();
  t.must(back === undefined, {
    expected: `no config file of the failed deployment ${id} on the device after a restart`,
    actual: `${back?.filepath} is there`,
  });
});

async function deployShown(t: Device, file: ConfigFile): Promise<Deployment> {
  const made = await t.control.deploy({ config_instances: [file] });
  const shown = (await currentDeployment(t))?.['id'];
  if (shown !== made.id) t.blocked(`the device does not show ${made.id}, which was deployed, as current`);
  // Only blocks, because device.events.written-first reports missing files.
  if (t.capabilities.has('files') && (await findConfigFile(t, configRoot(t), file)).length === 0)
    t.blocked(`${file.filepath} is not below config_root, though its deployment is deployed`);
  return made;
}

const removed = requirement({
  id: 'device.deployment.removed',
  level: 'SHOULD',
  clause: 'Kept for history; cannot be deployed and is not active on the device.',
  text: 'A removed deployment is archived: it is not shown as deployed any more, and its config files are gone.',
});
check(removed, afterWritten, async (t: Device) => {
  const file = configFile('{"c":3}');
  const { id } = await deployShown(t, file);
  await t.control.remove(id);
  await expectInactive(t, id, [file], 'removed');
  const after = await currentDeployment(t);
  t.observe('the current deployment after a removal', after === undefined ? '404' : String(after['activity_status']));
});

async function expectInactive(
  t: Device,
  id: string,
  files: readonly ConfigFile[],
  what: string,
  judge: Device['should'] = t.must,
): Promise<void> {
  let state: string | undefined;
  const since = performance.now();
  const inactive = await happens(t, `the ${what} deployment to leave`, async () => {
    state = await activeState(t, id);
    return state === undefined;
  });
  t.must(inactive, {
    expected: `the ${what} deployment ${id} archived, or not shown as current any more`,
    actual: `${state}, ${Math.round(performance.now() - since)} ms later`,
  });
  if (!t.capabilities.has('files')) return;
  const archivedAt = performance.now();
  const left = await fileThatStays(t, files);
  if (left === undefined) recordSuccess(t, 'files', performance.now() - archivedAt);
  judge(left === undefined, {
    expected: `no config file of the ${what} deployment ${id} on the device`,
    actual: `${left?.filepath} is still there`,
  });
}

async function activeState(t: Device, id: string): Promise<string | undefined> {
  const body = await currentDeployment(t);
  if (body?.['id'] !== id || body['activity_status'] === 'archived') return undefined;
  return `activity_status ${body['activity_status']}, error_status ${body['error_status']}`;
}

async function happens(t: Device, what: string, happened: () => Promise<boolean>, within?: number): Promise<boolean> {
  const times = { timeoutMs: within ?? timeoutMs(t, 'state'), firstPauseMs: 5, growth: 2, longestPauseMs: 100 };
  const started = performance.now();
  const found = await pollWithin(what, async () => (await happened()) || undefined, { ...times, signal: t.signal });
  if (found === true) recordSuccess(t, 'state', performance.now() - started);
  else if (within === undefined) recordTimeout(t, 'state');
  return found ?? false;
}

byOracle(check, removed, { aspect: 'restart', least: 'removals' });
