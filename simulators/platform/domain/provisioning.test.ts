import { describe, expect, it } from 'vitest';
import { type Json, startPlatform, type TestPlatform } from '../testing/client.ts';
import { createDevice, createKit, deploy } from '../testing/kit.ts';

const state = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/deployments/${id}`)).body;
const device = async (platform: TestPlatform, id: string): Promise<Json> =>
  (await platform.get(`/devices/${id}?expand=current_deployment&expand=current_release`)).body;

describe('a device', () => {
  it('is inactive, activating, online, offline and archived in turn', async () => {
    await using platform = await startPlatform();
    const token = (await platform.create('/provisioning_tokens'))['token'] as string;
    const robot = await createDevice(platform);
    const name = (await device(platform, robot))['name'] as string;
    const credentials = { agent_version: 'v1', public_key_pem: 'pem', fingerprint: 'f1' };
    expect(platform.port.provision(token, { name, ...credentials })).toMatchObject({ id: robot, status: 'activating' });
    platform.port.setConnected(robot, true);
    expect(await device(platform, robot)).toMatchObject({
      status: 'online',
      agent_version: 'v1',
      last_disconnected_at: null,
    });
    platform.port.setConnected(robot, false);
    expect(await device(platform, robot)).toMatchObject({ status: 'offline' });
    expect((await platform.items('/devices?status=offline')).map(({ id }) => id)).toEqual([robot]);
    platform.archiveDevice(robot);
    platform.port.setConnected(robot, true);
    expect(await device(platform, robot)).toMatchObject({ status: 'archived' });
    expect(platform.port.deviceByFingerprint('f1')).toBeUndefined();
  });

  it('is provisioned once by a token that is known and fresh', async () => {
    let now = Date.UTC(2026, 0, 1);
    await using platform = await startPlatform({ clock: { now: () => now } });
    const { token, expires_at } = (await platform.create('/provisioning_tokens')) as unknown as {
      token: string;
      expires_at: string;
    };
    expect(expires_at).toBe('2026-01-01T00:05:00.000Z');
    const attempt = (given: string, name: string, fingerprint: string) =>
      platform.port.provision(given, { name, agent_version: 'v1', public_key_pem: 'pem', fingerprint });
    expect(() => attempt('wrong', 'a', 'f1')).toThrow(expect.objectContaining({ status: 401 }));
    attempt(token, 'a', 'f1');
    expect(() => attempt(token, 'a', 'f2')).toThrow(expect.objectContaining({ status: 409 }));
    expect(() => attempt(token, 'b', 'f1')).toThrow(expect.objectContaining({ code: 'key_in_use' }));
    attempt(token, 'b', 'f2');
    now += 5 * 60_000;
    expect(() => attempt(token, 'c', 'f3')).toThrow(expect.objectContaining({ status: 401 }));
    expect(await platform.items('/devices')).toHaveLength(2);
  });

  it('is provisioned anew by its own token: a new session, and its deployment is queued again', async () => {
    await using platform = await startPlatform();
    const kit = await createKit(platform);
    const token = (await platform.create('/provisioning_tokens'))['token'] as string;
    const credentials = { agent_version: 'v1', public_key_pem: 'pem', fingerprint: 'f1' };
    const first = platform.port.provision(token, { name: 'robot', ...credentials });
    const id = await deploy(platform, kit, first.id);
    platform.port.report(first.id, id, { activity_status: 'deployed' });
    const again = platform.port.reprovision(token, { ...credentials, fingerprint: 'f2' });
    expect(again.id).toBe(first.id);
    expect(again.session_id).not.toBe(first.session_id);
    expect(await state(platform, id)).toMatchObject({ status: 'queued', deployed_at: null });
    const other = (await platform.create('/provisioning_tokens'))['token'] as string;
    expect(() => platform.port.reprovision(other, credentials)).toThrow(expect.objectContaining({ status: 403 }));
  });

  it('of tetons is activated by a token of its own', async () => {
    await using platform = await startPlatform();
    const [robot, other] = [await createDevice(platform), await createDevice(platform)];
    const issue = async (body?: object) =>
      (await platform.create(`/devices/${robot}/activation_token`, body, { version: '2026-03-09.tetons' }))[
        'token'
      ] as string;
    const credentials = { name: 'whatever it says', agent_version: 'v1', public_key_pem: 'pem' };
    expect(platform.port.provision(await issue(), { ...credentials, fingerprint: 'f1' }).id).toBe(robot);
    expect(() => platform.port.provision('x', { ...credentials, fingerprint: 'f2' })).toThrow();
    const refused = await issue();
    expect(() => platform.port.provision(refused, { ...credentials, fingerprint: 'f2' })).toThrow(
      expect.objectContaining({ status: 409 }),
    );
    const allowed = await issue({ allow_reactivation: true });
    expect(platform.port.provision(allowed, { ...credentials, fingerprint: 'f2' }).id).toBe(robot);
    expect(platform.port.deviceById(other)?.status).toBe('inactive');
  });
});
