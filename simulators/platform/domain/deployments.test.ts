/** The life of deployments (sections 2.2 and 3): what a client asks for and what an agent reports. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeploymentReport } from '../../../harness/contract/agent.ts';
import { DEPLOYMENT_ACTIVITY_STATUSES, DEPLOYMENT_ERROR_STATUSES } from '../../../harness/contract/enums.ts';
import { referenceBehaviour } from '../reference.ts';
import { type Json, startPlatform, type TestPlatform } from '../testing/client.ts';
import { createDevice, createKit, deploy, deploymentBody, deploymentOf, deviceOf, stage } from '../testing/kit.ts';

const act = (platform: TestPlatform, id: string, action: string) => platform.post(`/deployments/${id}/${action}`);

describe('a deployment', () => {
  it('is staged, queued, deployed, removed and archived, and each step records its moment', async () => {
    await using platform = await startPlatform();
    const [kit, robot] = [await createKit(platform), await createDevice(platform)];
    const id = await stage(platform, kit, robot);
    expect(await deploymentOf(platform, id)).toMatchObject({
      status: 'staged',
      target_status: 'staged',
      queued_at: null,
    });
    expect((await act(platform, id, 'deploy')).body).toMatchObject({
      status: 'queued',
      target_status: 'deployed',
      deployed_at: null,
    });
    expect(await deviceOf(platform, robot)).toMatchObject({ current_deployment: null });
    platform.port.report(robot, id, { activity_status: 'deployed', deployed_at: new Date().toISOString() });
    expect(await deploymentOf(platform, id)).toMatchObject({ status: 'deployed', archived_at: null });
    expect(await deviceOf(platform, robot)).toMatchObject({
      current_deployment: { id },
      current_release: { id: kit.release },
    });
    const next = await deploy(platform, kit, robot);
    expect(await deploymentOf(platform, id)).toMatchObject({ status: 'removing', target_status: 'archived' });
    expect(await deploymentOf(platform, next)).toMatchObject({ status: 'queued', parent_id: id });
    platform.port.report(robot, next, { activity_status: 'deployed' });
    platform.port.report(robot, id, { activity_status: 'archived' });
    const { queued_at, deployed_at, archived_at, ...ended } = await deploymentOf(platform, id);
    expect(ended).toMatchObject({ status: 'archived', target_status: 'archived' });
    expect([queued_at, deployed_at, archived_at].toSorted()).toEqual([queued_at, deployed_at, archived_at]);
    expect(await deviceOf(platform, robot)).toMatchObject({ current_deployment: { id: next } });
  });

  it('that is queued is archived when a newer one replaces it', async () => {
    await using platform = await startPlatform();
    const [kit, robot] = [await createKit(platform), await createDevice(platform)];
    const [first, second] = [await deploy(platform, kit, robot), await deploy(platform, kit, robot)];
    expect(await deploymentOf(platform, first)).toMatchObject({ status: 'archived', deployed_at: null });
    const { items } = platform.port.deployments(robot, {
      activity: ['queued', 'deployed'],
      limit: 10,
      offset: 0,
      expand: [],
    });
    expect(items.map(({ id }) => id)).toEqual([second]);
    // The device had fetched the first deployment already; its report on it arrives too late to count.
    platform.port.report(robot, first, { activity_status: 'deployed' });
    platform.port.report(robot, first, { error_status: 'failed', deployed_at: new Date().toISOString() });
    expect(await deploymentOf(platform, first)).toMatchObject({ status: 'archived', deployed_at: null });
  });

  it('that its agent was told of stays in its list until the agent has reported it archived', async () => {
    await using platform = await startPlatform();
    const [kit, robot] = [await createKit(platform), await createDevice(platform)];
    const listed = () =>
      platform.port
        .deployments(robot, { activity: ['queued', 'deployed'], limit: 10, offset: 0, expand: [] })
        .items.map(({ id, activity_status, target_status }) => [id, activity_status, target_status]);
    const untold = await deploy(platform, kit, robot);
    const first = await deploy(platform, kit, robot);
    expect(listed()).toEqual([[first, 'queued', 'deployed']]);
    platform.port.report(robot, first, { error_status: 'retrying' });
    const second = await deploy(platform, kit, robot);
    expect(await deploymentOf(platform, first)).toMatchObject({ activity_status: 'archived' });
    const both = [
      [first, 'queued', 'archived'],
      [second, 'queued', 'deployed'],
    ];
    expect(listed()).toEqual(both);
    // The agent had it in place already, and did not know that it was replaced.
    platform.port.report(robot, first, { activity_status: 'deployed' });
    expect(listed()).toEqual([[first, 'deployed', 'archived'], both[1]]);
    platform.port.report(robot, first, { activity_status: 'archived' });
    expect(listed()).toEqual([both[1]]);
    expect(await deploymentOf(platform, untold)).toMatchObject({ activity_status: 'archived' });
  });

  it('that is staged drifts when another is deployed, and can then only be archived', async () => {
    await using platform = await startPlatform();
    const [kit, robot] = [await createKit(platform), await createDevice(platform)];
    const id = await stage(platform, kit, robot);
    const elsewhere = await stage(platform, kit, await createDevice(platform));
    const other = await deploy(platform, kit, robot);
    expect(await deploymentOf(platform, id)).toMatchObject({ status: 'drifted', target_status: 'staged' });
    expect(await deploymentOf(platform, elsewhere)).toMatchObject({ status: 'staged' });
    expect((await platform.items(`/deployments/${id}/drifts`)).map((item) => item.id)).toEqual([other]);
    expect(await act(platform, id, 'deploy')).toMatchObject({
      status: 409,
      body: { error: { code: 'deployment_drifted' } },
    });
    expect((await act(platform, id, 'archive')).body).toMatchObject({ status: 'archived', target_status: 'archived' });
    expect((await act(platform, id, 'archive')).status).toBe(409);
    expect((await act(platform, other, 'archive')).status).toBe(409);
    expect((await act(platform, id, 'deploy')).status).toBe(409);
  });

  it('that failed is archived, and removed from its device', async () => {
    await using platform = await startPlatform();
    const [kit, robot] = [await createKit(platform), await createDevice(platform)];
    const id = await deploy(platform, kit, robot);
    platform.port.report(robot, id, { error_status: 'retrying' });
    expect(await deploymentOf(platform, id)).toMatchObject({ status: 'retrying', activity_status: 'queued' });
    platform.port.report(robot, id, { error_status: 'none', activity_status: 'deployed' });
    platform.port.report(robot, id, { error_status: 'failed' });
    expect(await deploymentOf(platform, id)).toMatchObject({
      status: 'failed',
      activity_status: 'removing',
      target_status: 'archived',
    });
    platform.port.report(robot, id, { error_status: 'none', activity_status: 'archived' });
    expect(await deploymentOf(platform, id)).toMatchObject({ status: 'failed', activity_status: 'archived' });
    expect(await deviceOf(platform, robot)).toMatchObject({ current_deployment: null, current_release: null });
    // The device is free again.
    await deploy(platform, kit, robot, { parent_id: null });
  });

  it('is visible to its own device only', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const [robot, other] = [await createDevice(platform), await createDevice(platform)];
    const id = await deploy(platform, kit, robot);
    const staged = await stage(platform, kit, other);
    expect(() => platform.port.report(other, id, { activity_status: 'deployed' })).toThrow(
      expect.objectContaining({ status: 404 }),
    );
    expect(() => platform.port.deployment(other, id, [])).toThrow(expect.objectContaining({ status: 404 }));
    expect(() => platform.port.report(other, staged, { activity_status: 'deployed' })).toThrow(
      expect.objectContaining({ status: 409 }),
    );
    expect(new TextDecoder().decode(platform.port.content(robot, kit.instance).data)).toBe('{"speed":1}');
    const outsider = await createDevice(platform);
    expect(() => platform.port.content(outsider, kit.instance)).toThrow(expect.objectContaining({ status: 403 }));
  });

  it('cannot go to an archived device', async () => {
    await using platform = await startPlatform();
    const [kit, robot] = [await createKit(platform), await createDevice(platform)];
    const staged = await stage(platform, kit, robot);
    platform.archiveDevice(robot);
    expect((await act(platform, staged, 'deploy')).body).toMatchObject({ error: { code: 'device_archived' } });
    expect((await platform.post('/deployments', deploymentBody(kit, robot, 'deployed'))).status).toBe(409);
    expect((await platform.call('PATCH', `/devices/${robot}`, { name: 'again' })).status).toBe(409);
  });

  it('only moves forward under any sequence of requests and reports', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const report = fc.record(
      {
        activity_status: fc.constantFrom(...DEPLOYMENT_ACTIVITY_STATUSES),
        error_status: fc.constantFrom(...DEPLOYMENT_ERROR_STATUSES),
        deployed_at: fc.constantFrom('2020-01-01T00:00:00Z', '2090-01-01T00:00:00Z'),
      },
      { requiredKeys: [] },
    );
    const step = fc.oneof(
      fc.constantFrom('stage', 'create').map((make) => ({ make })),
      fc.record({ act: fc.constantFrom('deploy', 'archive'), which: fc.nat() }),
      fc.record({ report, which: fc.nat() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const robot = await createDevice(platform);
        const ids: string[] = [];
        const seen = new Map<string, Json>();
        for (const one of steps) {
          const id = 'which' in one ? ids[one.which % Math.max(1, ids.length)] : undefined;
          if ('make' in one)
            ids.push(one.make === 'stage' ? await stage(platform, kit, robot) : await deploy(platform, kit, robot));
          else if (id === undefined) continue;
          else if ('act' in one) await act(platform, id, one.act);
          else reportOrRefuse(platform, robot, id, one.report as DeploymentReport);
          await expectForwardOnly(platform, robot, ids, seen);
        }
      }),
      { numRuns: 25 },
    );
  });
});

function reportOrRefuse(platform: TestPlatform, robot: string, id: string, report: DeploymentReport): void {
  try {
    platform.port.report(robot, id, report);
  } catch (error) {
    expect(error).toMatchObject({ status: 409 });
  }
}

const TARGETS = ['staged', 'deployed', 'archived'];
const ACTIVITIES = ['staged', 'drifted', 'queued', 'deployed', 'removing', 'archived'];

async function expectForwardOnly(
  platform: TestPlatform,
  robot: string,
  ids: string[],
  seen: Map<string, Json>,
): Promise<void> {
  const now = await platform.items(`/deployments?device_id=${robot}&limit=100`);
  expect(now.length).toBe(ids.length);
  for (const item of now) {
    const before = seen.get(item.id);
    const rank = (names: string[], of: Json | undefined, field: string) => names.indexOf(String(of?.[field]));
    expect(rank(TARGETS, item, 'target_status')).toBeGreaterThanOrEqual(rank(TARGETS, before, 'target_status'));
    expect(rank(ACTIVITIES, item, 'activity_status')).toBeGreaterThanOrEqual(
      rank(ACTIVITIES, before, 'activity_status'),
    );
    if (before?.['error_status'] === 'failed') expect(item['error_status']).toBe('failed');
    if (item['error_status'] === 'failed') expect(item['target_status']).toBe('archived');
    expect(item['status']).toBe(item['error_status'] === 'none' ? item['activity_status'] : item['error_status']);
    const moments = ['queued_at', 'deployed_at', 'archived_at']
      .map((field) => item[field])
      .filter((moment) => moment !== null);
    expect(moments.toSorted()).toEqual(moments);
    expect(item['archived_at'] === null).toBe(item['activity_status'] !== 'archived');
    seen.set(item.id, item);
  }
  expect(now.filter((item) => item['target_status'] === 'deployed').length).toBeLessThanOrEqual(1);
  expect(now.filter((item) => item['activity_status'] === 'deployed').length).toBeLessThanOrEqual(1);
}

it('a behaviour can delay the drift until another deployment is on the device', async () => {
  await using platform = await startPlatform({ behaviour: { ...referenceBehaviour, driftsOn: 'deployed' } });
  const [kit, robot] = [await createKit(platform), await createDevice(platform)];
  const id = await stage(platform, kit, robot);
  const other = await deploy(platform, kit, robot);
  expect((await deploymentOf(platform, id))['status']).toBe('staged');
  platform.port.report(robot, other, { activity_status: 'deployed' });
  expect((await deploymentOf(platform, id))['status']).toBe('drifted');
});
