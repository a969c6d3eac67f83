/** A database file holds everything that was answered, after SIGKILL and after a restart. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../common/testing/scratch.ts';
import { startPlatform } from './testing/client.ts';
import { killWhileWriting } from './testing/kills.ts';
import { createDevice, createKit, deploy } from './testing/kit.ts';

describe('a database file', () => {
  it('keeps everything that was answered before SIGKILL', () => killWhileWriting(1));

  it('is reopened with its lists and deployments, and with every device disconnected', async () => {
    using folder = scratch();
    const db = join(folder.path, 'platform.db');
    const robot = await (async () => {
      await using platform = await startPlatform({ db, seed: 1 });
      const kit = await createKit(platform);
      const id = await createDevice(platform);
      const token = await platform.provisioningToken();
      const { name } = platform.port.deviceById(id) ?? { name: '' };
      platform.port.provision(token, { name, agent_version: 'v1', public_key_pem: 'pem', fingerprint: 'f' });
      platform.port.setConnected(id, true);
      platform.port.report(id, await deploy(platform, kit, id), { activity_status: 'deployed' });
      return id;
    })();
    await using platform = await startPlatform({ db, seed: 1, devices: 50 });
    const shown = (await platform.get(`/devices/${robot}?expand=current_deployment`)).body;
    expect(shown).toMatchObject({ status: 'offline', current_deployment: { status: 'deployed' } });
    // A database that holds devices is not seeded again.
    expect((await platform.get('/devices?expand=total_count')).body).toMatchObject({ total_count: 1 });
    expect((await createDevice(platform)).startsWith('dvc_')).toBe(true);
    expect(platform.port.deviceByFingerprint('f')?.id).toBe(robot);
  });

  it('knows after a restart what each agent was told', async () => {
    using folder = scratch();
    const db = join(folder.path, 'platform.db');
    const query = { activity: ['queued', 'deployed'], limit: 10, offset: 0, expand: [] };
    const [robot, kit, told] = await (async () => {
      await using platform = await startPlatform({ db, seed: 1 });
      const [made, id] = [await createKit(platform), await createDevice(platform)];
      const deployment = await deploy(platform, made, id);
      expect(platform.port.deployments(id, query).total).toBe(1);
      return [id, made, deployment] as const;
    })();
    await using platform = await startPlatform({ db, seed: 1 });
    const replacement = await deploy(platform, kit, robot);
    const listed = platform.port.deployments(robot, query).items;
    expect(listed.map(({ id, target_status }) => [id, target_status])).toEqual([
      [told, 'archived'],
      [replacement, 'deployed'],
    ]);
  });
});
