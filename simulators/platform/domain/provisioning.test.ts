import { expect, it } from 'vitest';
import { versionNamed } from '../../../harness/contract/versions.ts';
import { createDevice, createKit, deploy, deploymentOf, deviceOf, startPlatform } from '../testing/kit.ts';

const credentials = { agent_version: 'v1', public_key_pem: 'pem', fingerprint: 'f1' };

it('a device shows the status of each stage from inactive to archived', async () => {
  await using platform = await startPlatform();
  const token = await platform.provisioningToken();
  const robot = await createDevice(platform);
  const name = (await deviceOf(platform, robot))['name'] as string;
  expect(platform.port.provision(token, { name, ...credentials })).toMatchObject({ id: robot, status: 'activating' });
  platform.port.setConnected(robot, true);
  const online = { status: 'online', agent_version: 'v1', last_disconnected_at: null };
  expect(await deviceOf(platform, robot)).toMatchObject(online);
  platform.port.setConnected(robot, false);
  expect(await deviceOf(platform, robot)).toMatchObject({ status: 'offline' });
  expect((await platform.items('/devices?status=offline')).map(({ id }) => id)).toEqual([robot]);
  platform.archiveDevice(robot);
  platform.port.setConnected(robot, true);
  expect(await deviceOf(platform, robot)).toMatchObject({ status: 'archived' });
  expect(platform.port.deviceByFingerprint('f1')).toBeUndefined();
});

it('a device is provisioned once, by a known and unexpired token', async () => {
  let now = Date.UTC(2026, 0, 1);
  await using platform = await startPlatform({ clock: { now: () => now } });
  const issued = await platform.create('/provisioning_tokens');
  const token = String(issued['token']);
  expect(issued['expires_at']).toBe('2026-01-01T00:05:00.000Z');
  const attempt = (given: string, name: string, fingerprint: string) =>
    platform.port.provision(given, { ...credentials, name, fingerprint });
  expect(() => attempt('wrong', 'a', 'f1')).toThrow(expect.objectContaining({ status: 401 }));
  attempt(token, 'a', 'f1');
  expect(() => attempt(token, 'a', 'f2')).toThrow(expect.objectContaining({ status: 409 }));
  expect(() => attempt(token, 'b', 'f1')).toThrow(expect.objectContaining({ code: 'key_in_use' }));
  attempt(token, 'b', 'f2');
  now += 5 * 60_000;
  expect(() => attempt(token, 'c', 'f3')).toThrow(expect.objectContaining({ status: 401 }));
  expect(await platform.items('/devices')).toHaveLength(2);
});

it('a device that is reprovisioned gets a new session, and its deployment is queued again', async () => {
  await using platform = await startPlatform();
  const kit = await createKit(platform);
  const token = await platform.provisioningToken();
  const first = platform.port.provision(token, { name: 'robot', ...credentials });
  const id = await deploy(platform, kit, first.id);
  platform.port.report(first.id, id, { activity_status: 'deployed' });
  const again = platform.port.reprovision(token, { ...credentials, fingerprint: 'f2' });
  expect(again.id).toBe(first.id);
  expect(again.session_id).not.toBe(first.session_id);
  expect(await deploymentOf(platform, id)).toMatchObject({ status: 'queued', deployed_at: null });
  expect((await platform.items('/deployments?activity_status=queued')).map((item) => item.id)).toEqual([id]);
  const other = await platform.provisioningToken();
  expect(() => platform.port.reprovision(other, credentials)).toThrow(expect.objectContaining({ status: 403 }));
});

it('a device of version tetons is activated by its own token', async () => {
  await using platform = await startPlatform();
  const [robot, other] = [await createDevice(platform), await createDevice(platform)];
  const version = versionNamed('tetons');
  const issue = async (body?: object) =>
    String((await platform.create(`/devices/${robot}/activation_token`, body, { version }))['token']);
  const attempt = (token: string, fingerprint: string) =>
    platform.port.provision(token, { ...credentials, name: 'any name', fingerprint });
  expect(attempt(await issue(), 'f1').id).toBe(robot);
  expect(() => attempt('x', 'f2')).toThrow();
  const refused = await issue();
  expect(() => attempt(refused, 'f2')).toThrow(expect.objectContaining({ status: 409 }));
  const id = await deploy(platform, await createKit(platform), robot);
  platform.port.report(robot, id, { activity_status: 'deployed' });
  expect(attempt(await issue({ allow_reactivation: true }), 'f2').id).toBe(robot);
  platform.port.report(robot, id, { activity_status: 'deployed' });
  expect(await deviceOf(platform, robot)).toMatchObject({ current_deployment: { id } });
  expect(platform.port.deviceById(other)?.status).toBe('inactive');
});
