/**
 * A deployment from the platform to the robot's disk and event stream, and its report back: both simulators, real
 * sockets.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../common/testing/scratch.ts';
import { createKit, deploy, type Kit, startPlatform, type TestPlatform, unique } from '../../platform/testing/kit.ts';
import { type Robot, robot as startRobot } from '../testing/robot.ts';
import { createUplink } from './index.ts';

let stack: AsyncDisposableStack;
let platform: TestPlatform;
let kit: Kit;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  platform = stack.use(await startPlatform({ mqtt: {} }));
  kit = await createKit(platform);
});
afterEach(async () => {
  await stack.disposeAsync();
});

/** A robot that is online, and its id on the platform. */
async function onlineRobot(): Promise<{ robot: Robot; id: string }> {
  const { token } = await platform.create('/provisioning_tokens', {});
  const uplink = createUplink({
    kind: 'agent',
    platform: platform.agentUrl,
    mqtt: platform.mqttUrl ?? '',
    token: String(token),
  });
  const robot = stack.use(await startRobot({ name: unique('end-to-end'), uplink }));
  await robot.device.uplink?.start();
  return { robot, id: robot.device.uplink?.deviceId ?? '' };
}

const statusOf = async (deployment: string) => (await platform.get(`/deployments/${deployment}`)).body;
const reaches = (deployment: string, expected: object) =>
  eventually(async () => expect(await statusOf(deployment)).toMatchObject(expected));
const filesOf = ({ dir }: Robot, path: string) => readFileSync(join(dir, 'root', path), 'utf8');
const pathOf = async () => {
  const schema = (await platform.get(`/config_schemas/${kit.schema}`)).body;
  return (schema['instance_slots'] as { filepath: string }[])[0]?.filepath ?? '';
};

describe('a deployment', () => {
  it('reaches the disk, then the event stream, then the platform again', async () => {
    const { robot, id } = await onlineRobot();
    const stream = await robot.listen();
    const path = await pathOf();
    const held: string[] = [];
    const deployment = await deploy(platform, kit, id);
    await stream.until(() => {
      if (stream.events.length > 0) held.push(filesOf(robot, path));
      return stream.events.length > 0;
    });
    expect(held[0]).toBe('{"speed":1}');
    expect(stream.events[0]).toMatchObject({
      type: 'deployment.deployed',
      envelope: { data: { deployment_id: deployment, release_id: kit.release, status: 'deployed' } },
    });
    await reaches(deployment, { status: 'deployed', activity_status: 'deployed', error_status: 'none' });
    const { queued_at, deployed_at } = await statusOf(deployment);
    expect(Date.parse(String(deployed_at))).toBeGreaterThanOrEqual(Date.parse(String(queued_at)));
    expect((await robot.ask('/deployments/current')).json).toMatchObject({ id: deployment, status: 'deployed' });
    expect((await robot.ask('/releases/current')).json).toMatchObject({ id: kit.release });
  });

  it('replaces the one before, which is removed and archived', async () => {
    const { robot, id } = await onlineRobot();
    const stream = await robot.listen();
    const first = await deploy(platform, kit, id);
    await reaches(first, { status: 'deployed' });
    const second = await deploy(platform, kit, id);
    await reaches(second, { status: 'deployed' });
    await reaches(first, { status: 'archived', error_status: 'none' });
    const published = stream.events.map(({ type, envelope: { data } }) => [
      type,
      (data as { deployment_id: string }).deployment_id,
    ]);
    expect(published).toContainEqual(['deployment.removed', first]);
    expect(published.filter(([type]) => type === 'deployment.deployed')).toEqual([
      ['deployment.deployed', first],
      ['deployment.deployed', second],
    ]);
    const { deployed_at, archived_at } = await statusOf(first);
    expect(Date.parse(String(archived_at))).toBeGreaterThanOrEqual(Date.parse(String(deployed_at)));
  });

  it('waits for a robot that is offline, and reaches it once', async () => {
    const { robot, id } = await onlineRobot();
    await robot.device.stop();
    await eventually(async () => {
      expect((await platform.get(`/devices/${id}`)).body).toMatchObject({ status: 'offline' });
    });
    const deployment = await deploy(platform, kit, id);
    expect(await statusOf(deployment)).toMatchObject({ status: 'queued' });
    await robot.device.start();
    await reaches(deployment, { status: 'deployed' });
    const stream = await robot.listen('?after=0');
    await stream.count(1);
    expect(stream.events.map(({ type }) => type)).toEqual(['deployment.deployed']);
  });

  it('is reported after a crash of the robot, which comes back as the same device', async () => {
    const { robot, id } = await onlineRobot();
    const first = await deploy(platform, kit, id);
    await reaches(first, { status: 'deployed' });
    robot.device.kill();
    const second = await deploy(platform, kit, id);
    await robot.device.start();
    await reaches(second, { status: 'deployed' });
    await reaches(first, { status: 'archived' });
    expect(robot.device.uplink?.deviceId).toBe(id);
  });

  it('that can never be applied ends failed and archived, with no files on the robot', async () => {
    const { robot, id } = await onlineRobot();
    const slug = unique('type');
    const type = await platform.create('/config_types', { name: slug, slug });
    // A file cannot also be the directory of another.
    const filepaths = ['/srv/configs/same', '/srv/configs/same/below.json'];
    const schema = await platform.create('/config_schemas', {
      config_type_ref: { id: type.id },
      language: 'jsonschema',
      format: 'json',
      documents: [{ name: 'any.json', data: '{}' }],
      instance_slots: filepaths.map((filepath, index) => {
        return { key: `slot-${index}`, name: `Slot ${index}`, filepath, required: true };
      }),
    });
    const instances = await Promise.all(
      filepaths.map((_, index) =>
        platform.create('/config_instances', {
          config_schema_id: schema.id,
          slot_key: `slot-${index}`,
          content: { format: 'json', data: '{}' },
        }),
      ),
    );
    const release = await platform.create('/releases', { version: unique('v'), config_schema_ids: [schema.id] });
    const body = { config_instance_ids: instances.map((instance) => instance.id) };
    const deployment = await deploy(platform, { ...kit, release: release.id }, id, body);
    await reaches(deployment, { status: 'failed', activity_status: 'archived', error_status: 'failed' });
    expect(() => filesOf(robot, 'srv/configs/same')).toThrow();
    const next = await deploy(platform, kit, id);
    await reaches(next, { status: 'deployed' });
  });
});

describe('a ping', () => {
  it('reaches the robot and comes back, or times out', async () => {
    const { robot, id } = await onlineRobot();
    const ping = (timeout_nanos: number) => platform.call('POST', `/devices/${id}/ping`, { timeout_nanos });
    expect((await ping(5e9)).body).toMatchObject({ code: 'success', round_trip_nanos: expect.any(Number) });
    await robot.device.stop();
    expect((await ping(1e8)).body).toMatchObject({ code: 'timeout' });
  });
});

describe('a polling robot', () => {
  it('applies deployments of the public API, and cannot report them', async () => {
    const uplink = createUplink({ kind: 'polling', platform: platform.url, apiKey: platform.apiKey, intervalMs: 20 });
    const robot = stack.use(await startRobot({ name: unique('polling'), uplink }));
    await robot.device.uplink?.start();
    const id = robot.device.uplink?.deviceId ?? '';
    expect((await platform.get(`/devices/${id}`)).body).toMatchObject({ name: robot.device.identity.name });
    const stream = await robot.listen();
    const first = await deploy(platform, kit, id);
    await stream.count(1);
    const second = await deploy(platform, kit, id);
    await stream.until(() => stream.events.filter(({ type }) => type === 'deployment.deployed').length === 2);
    expect(filesOf(robot, await pathOf())).toBe('{"speed":1}');
    expect((await robot.ask('/deployments/current')).json).toMatchObject({ id: second, status: 'deployed' });
    expect(await statusOf(second)).toMatchObject({ status: 'queued' });
    expect(await statusOf(first)).toMatchObject({ status: 'archived' });
    await robot.device.stop();
    await robot.device.start();
    await robot.device.uplink?.start();
    expect(robot.device.uplink?.deviceId).toBe(id);
  });
});
