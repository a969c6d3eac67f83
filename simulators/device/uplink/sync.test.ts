import { expect, it } from 'vitest';
import type { AgentDeployment } from '../../../harness/contract/agent.ts';
import { ApiError, NetworkError } from '../../common/platform-http.ts';
import { DeployError } from '../ports.ts';
import { allPages } from './sync.ts';
import { syncSetup } from './testing/uplinks.ts';

const FILES = { '/a.json': '1' };

const status = ({ activity_status, error_status, target_status }: AgentDeployment) =>
  `${activity_status}/${error_status} → ${target_status}`;

it('a list ends at a page that repeats', async () => {
  const data = [{ id: 'dpl_1' }, { id: 'dpl_2' }];
  const read = async (offset: number) => {
    expect(offset).toBeLessThanOrEqual(2);
    return { data, has_more: true };
  };
  expect(await allPages(read)).toEqual(data);
});

it('a sync downloads, applies and reports an unchanged deployment only once', async () => {
  const { platform, device, sync, id, downloads } = syncSetup();
  platform.deploy(id, FILES);
  await sync();
  await sync();
  expect(device.events).toHaveLength(1);
  expect(platform.reports).toHaveLength(1);
  expect(downloads).toHaveLength(1);
});

it('a sync passes the release of a deployment to the device', async () => {
  const { platform, device, sync, id } = syncSetup();
  const deployment = platform.deploy(id, FILES);
  const release = { object: 'release' as const, id: 'rls_1', version: '1', git_commit_id: null, created_at: '' };
  platform.stored(deployment.id).release = release;
  await sync();
  expect(device.releases).toEqual([release]);
});

it('a sync fails an impossible deployment, and still removes its archived predecessor', async () => {
  const { platform, device, sync, id, syncer } = syncSetup();
  const one = platform.deploy(id, { '/a.json': '1' });
  await sync();
  device.beforeDeploy = () => new DeployError('no such place', false);
  const two = platform.deploy(id, { '/b.json': '2' });
  await sync();
  expect(status(platform.stored(two.id))).toBe('archived/failed → deployed');
  expect(platform.stored(two.id).archived_at).toBeDefined();
  expect(status(platform.stored(one.id))).toBe('archived/none → archived');
  expect(device.files.size).toBe(0);
  expect(syncer.nextAttemptAt).toBeUndefined();
});

it('a sync retries a blocked deployment with growing delays, and downloads it only once', async () => {
  const { platform, device, sync, id, syncer, time, downloads } = syncSetup();
  const one = platform.deploy(id, { '/a.json': '1' });
  await sync();
  device.beforeDeploy = () => new DeployError('the disk is full', true);
  const two = platform.deploy(id, { '/b.json': '2' });
  for (const delay of [15_000, 30_000, 60_000]) {
    await sync();
    expect(status(platform.stored(two.id))).toBe('queued/retrying → deployed');
    expect(syncer.nextAttemptAt).toBe(time.now() + delay);
    time.advance(delay - 1);
    await sync();
    expect(syncer.nextAttemptAt).toBe(time.now() + 1);
    time.advance(1);
  }
  expect([...device.files.keys()]).toEqual(['/a.json']);
  expect(platform.reports.filter(({ deploymentId }) => deploymentId === two.id)).toHaveLength(1);
  device.beforeDeploy = () => undefined;
  await sync();
  expect(status(platform.stored(two.id))).toBe('deployed/none → deployed');
  expect(status(platform.stored(one.id))).toBe('archived/none → archived');
  expect(downloads).toHaveLength(2);
  expect(syncer.nextAttemptAt).toBeUndefined();
});

it('a sync stops its retries when a newer deployment is wanted', async () => {
  const { platform, device, sync, id, syncer } = syncSetup();
  device.beforeDeploy = ({ id: wanted }) => (wanted === one.id ? new DeployError('no', true) : undefined);
  const one = platform.deploy(id, { '/a.json': '1' });
  await sync();
  const two = platform.deploy(id, { '/b.json': '2' });
  await sync();
  expect(device.events).toEqual([`deployed ${two.id}`]);
  expect(syncer.nextAttemptAt).toBeUndefined();
});

it('a sync retries a deployment later when the platform cannot serve its content', async () => {
  const { platform, sync, id, syncer, time } = syncSetup();
  const one = platform.deploy(id, FILES);
  platform.loseContent(one.id);
  await sync();
  expect(status(platform.stored(one.id))).toBe('queued/retrying → deployed');
  expect(syncer.nextAttemptAt).toBe(time.now() + 15_000);
});

it.each([
  ['the network', new NetworkError('unplugged')],
  ['a token that is not taken', new ApiError(401, 'unauthorized', 'who are you')],
])('a sync fails as a whole for %s, and records no failure of the deployment', async (_, trouble) => {
  const { platform, state, sync, id, syncer } = syncSetup();
  const one = platform.deploy(id, FILES);
  state.trouble = (operation) => (operation === 'contents' ? trouble : undefined);
  await expect(sync()).rejects.toBe(trouble);
  expect(status(platform.stored(one.id))).toBe('queued/none → deployed');
  expect(syncer.nextAttemptAt).toBeUndefined();
});

it('a sync reports a deployment even when it was removed before the report could be sent', async () => {
  const { platform, state, sync, id, time } = syncSetup();
  const one = platform.deploy(id, FILES);
  const [deployed_at, archived_at] = [0, 60_000].map((later) => new Date(time.now() + later).toISOString());
  state.trouble = (operation) => (operation === 'report' ? new NetworkError('unplugged') : undefined);
  await expect(sync()).rejects.toThrow('unplugged');
  time.advance(60_000);
  platform.archive(one.id);
  await expect(sync()).rejects.toThrow('unplugged');
  time.advance(60_000);
  state.trouble = () => undefined;
  await sync();
  expect(platform.stored(one.id)).toMatchObject({ activity_status: 'archived', deployed_at, archived_at });
});

it('a sync drops a report that the platform refuses', async () => {
  const { platform, state, sync, id } = syncSetup();
  platform.deploy(id, FILES);
  let refusals = 0;
  state.trouble = (operation) => {
    if (operation !== 'report') return undefined;
    refusals++;
    return new ApiError(409, 'conflict', 'no');
  };
  await sync();
  expect(refusals).toBe(1);
});
