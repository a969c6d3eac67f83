import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../common/testing/scratch.ts';
import { configInstance, queuedDeployment } from '../../platform/agent/testing/memory-platform.ts';
import { disk } from '../log/io.ts';
import { robot } from '../testing/robot.ts';
import { Syncer } from '../uplink/sync.ts';
import { ManualTime } from '../uplink/testing/uplinks.ts';

const file = (filepath: string, content = 'x') => ({ filepath, content: Buffer.from(content) });
const isEvent = (bytes: string) => /^\{(?:"object":"event",)?"id":/.test(bytes);

test('a repeated deployment publishes no further event, and an archived one cannot be repeated', async () => {
  await using on = await robot();
  const { port } = on.device;
  await port.deploy(queuedDeployment('dpl_1'), [file('/a')]);
  await port.deploy(queuedDeployment('dpl_1'), [file('/a')]);
  expect(on.device.stats().latestId).toBe(1);
  await port.remove('dpl_1');
  await expect(port.deploy(queuedDeployment('dpl_1'), [])).rejects.toMatchObject({ retryable: false });
  await expect(port.remove('dpl_none')).rejects.toThrow(/no deployment "dpl_none"/);
});

test('a deployment publishes its event only after its state is saved', async () => {
  await using on = await robot();
  const isState = (bytes: string) => bytes.startsWith('{"current"');
  using full = fullDisk(isState);
  const deploying = () => on.device.port.deploy(queuedDeployment('dpl_1'), [file('/a')]);
  await expect(deploying()).rejects.toMatchObject({ name: 'DeployError', retryable: true });
  expect(on.device.stats().latestId).toBe(0);
  full.free();
  await deploying();
  on.device.kill();
  await on.device.start();
  expect(on.device.port.active().map(({ id }) => id)).toEqual(['dpl_1']);
  expect(on.device.stats().latestId).toBe(1);
});

describe('through a syncer', () => {
  const { signal } = new AbortController();
  const contents = async () => [Buffer.from('x')];

  test.for(['spec', 'miru'] as const)(
    'in dialect %s, a deployment event that cannot be stored is published by a later sync',
    async (dialect) => {
      await using on = await robot({ dialect });
      const time = new ManualTime();
      const list = async () => [queuedDeployment('dpl_1', { config_instances: [configInstance('cfg_1', '/a')] })];
      const syncer = new Syncer(on.device.port, { list, contents }, time);
      using full = fullDisk(isEvent);
      for (const pause of [15_000, 30_000]) {
        await syncer.run(signal);
        expect(on.device.port.get('dpl_1')?.status).toBe('retrying');
        expect(syncer.nextAttemptAt).toBe(time.elapsed() + pause);
        time.advance(pause);
      }
      full.free();
      await syncer.run(signal);
      expect(on.device.stats().latestId).toBe(1);
      expect(syncer.nextAttemptAt).toBeUndefined();
      expect((await on.ask('/deployments/current')).json).toMatchObject({ id: 'dpl_1', status: 'deployed' });
    },
  );

  test('a removal event that cannot be stored is published by a later sync', async () => {
    await using on = await robot();
    await on.device.port.deploy(queuedDeployment('dpl_1'), [file('/a')]);
    const syncer = new Syncer(on.device.port, { list: async () => [], contents }, new ManualTime());
    using full = fullDisk(isEvent);
    await expect(syncer.run(signal)).rejects.toThrow(/cannot store events/);
    expect(on.device.port.active()).toEqual([]);
    full.free();
    await syncer.run(signal);
    expect(on.device.stats().latestId).toBe(2);
  });
});

/** A disk that refuses every write for which `kind` is true, until `free` or the end of the test. */
function fullDisk(kind: (bytes: string) => boolean): Disposable & { free(): void } {
  const { write, store } = disk;
  const refuse = (buffer: Uint8Array): void => {
    if (kind(Buffer.from(buffer).toString())) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
  };
  disk.write = (fd, buffer, position) => {
    refuse(buffer);
    write(fd, buffer, position);
  };
  disk.store = async (fd, buffer, position) => {
    refuse(buffer);
    await store(fd, buffer, position);
  };
  const free = () => void Object.assign(disk, { write, store });
  return { free, [Symbol.dispose]: free };
}

test('after a restart, deployments, releases and commits are as before', async () => {
  await using on = await robot();
  const created_at = '2026-01-01T00:00:00Z';
  const more = { updated_at: created_at };
  const commit = { object: 'git_commit', id: 'gcm_1', sha: 'a', message: 'm', commit_url: 'u', created_at } as const;
  const release = { object: 'release', id: 'rls_1', version: 'v1', git_commit_id: 'gcm_1', created_at } as const;
  on.device.port.remember({ ...release, ...more, git_commit: { ...commit, ...more } });
  const { deployment } = await on.device.port.deploy(queuedDeployment('dpl_1'), [file('/a')]);
  on.device.kill();
  await on.device.start();
  expect((await on.ask('/deployments/current')).json).toEqual(deployment);
  expect((await on.ask('/releases/current')).json).toEqual(release);
  expect((await on.ask('/releases/rls_1')).status).toBe(200);
  expect((await on.ask('/git_commits/gcm_1')).json).toEqual(commit);
  expect((await on.ask('/git_commits/gcm_2')).status).toBe(404);
});

test('after a restart, an event that was compacted away is not published again', async () => {
  await using on = await robot({ retain: 10 });
  await on.device.port.deploy(queuedDeployment('dpl_1'), [file('/a')]);
  await on.device.publish(30);
  await on.device.stop();
  await on.device.start();
  expect(on.device.stats().latestId).toBe(31);
});

test.for(['crash=before-rename', 'crash=after-rename'].flatMap((at) => [1, 2, 3].map((nth) => `${at}:${nth}`)))(
  'after a restart, with %s while deploying, files, state and events agree',
  async (fault) => {
    await using on = await robot({ faults: [fault] });
    await on.device.port.deploy(queuedDeployment('dpl_1'), [file('/a', 'one')]).catch(() => undefined);
    expect(on.device.running).toBe(false);
    await on.device.start();
    const stream = await on.listen(`?after=${on.device.stats().earliestId - 1}`);
    await on.device.publish(1);
    await stream.until(() => stream.events.some(({ envelope }) => JSON.stringify(envelope).includes('filler')));
    const published = stream.events.filter(({ envelope }) => JSON.stringify(envelope).includes('dpl_1'));
    const current = on.device.port.get('dpl_1');
    expect(published).toHaveLength(current === undefined ? 0 : 1);
    expect(existsSync(`${on.dir}/root/a`)).toBe(current !== undefined);
    if (current) expect(current.status).toBe('deployed');
  },
);

test('a driven deployment fails if a file path is invalid, and leaves the previous files', async () => {
  await using on = await robot();
  await on.device.deploy({ config_instances: [{ filepath: '/ok', content: '1' }] });
  const config_instances = ['/fine', '../x'].map((filepath) => ({ filepath, content: '1' }));
  const failed = await on.device.deploy({ config_instances });
  expect(failed).toMatchObject({ status: 'failed', activity_status: 'archived' });
  expect(readFileSync(`${on.dir}/root/ok`, 'utf8')).toBe('1');
  expect(existsSync(`${on.dir}/root/fine`)).toBe(false);
  expect(on.device.stats().latestId).toBe(1);
});

test('a driven deployment is retried while the disk is full, and deployed once there is space', async () => {
  const content = 'too large for now';
  using full = fullDisk((bytes) => bytes === content);
  await using on = await robot({ retryMs: 10 });
  const stream = await on.listen();
  const made = await on.device.deploy({ config_instances: [{ filepath: '/a', content }] });
  expect(made).toMatchObject({ status: 'retrying', activity_status: 'queued' });
  expect(on.device.stats().latestId).toBe(0);
  full.free();
  await stream.count(1);
  expect(on.device.port.get(made.id)).toMatchObject({ status: 'deployed', error_status: 'none' });
  expect(readFileSync(`${on.dir}/root/a`, 'utf8')).toBe(content);
});

test('a driven deployment is not retried once a newer deployment is applied', async () => {
  using full = fullDisk((bytes) => bytes === 'old');
  await using on = await robot({ retryMs: 10, failedMs: 20 });
  await on.device.deploy({ config_instances: [{ filepath: '/a', content: 'old' }] });
  full.free();
  const newer = await on.device.deploy({ config_instances: [{ filepath: '/a', content: 'new' }] });
  // Archived by a timer that ends after the timer of the retry.
  const last = await on.device.deploy({ activity_status: 'queued', error_status: 'failed' });
  await eventually(() => expect(on.device.port.get(last.id)?.activity_status).toBe('archived'));
  expect(on.device.port.active().map(({ id }) => id)).toEqual([newer.id]);
  expect(on.device.stats().latestId).toBe(1);
});

test('a driven deployment is finally applied if it is the newer of two that are retried', async () => {
  using full = fullDisk((bytes) => bytes === 'old' || bytes === 'new');
  await using on = await robot({ retryMs: 50 });
  await on.device.deploy({ config_instances: [{ filepath: '/a', content: 'old' }] });
  const newer = await on.device.deploy({ config_instances: [{ filepath: '/a', content: 'new' }] });
  full.free();
  await eventually(() => expect(on.device.port.active().map(({ id }) => id)).toEqual([newer.id]));
  expect(readFileSync(`${on.dir}/root/a`, 'utf8')).toBe('new');
});

test('a driven deployment that fails while the robot stops leaves no timer: the robot starts again', async () => {
  const failedMs = 1;
  await using on = await robot({ failedMs });
  const driving = on.device.deploy({ error_status: 'failed' });
  await on.device.stop();
  const { id } = await driving;
  // A timer left behind would lock the directory.
  await delay(failedMs + 20);
  await on.device.start();
  expect(on.device.port.get(id)).toMatchObject({ status: 'failed', activity_status: 'archived' });
});

test('a driven deployment has a unique id, even after restarts', async () => {
  await using on = await robot();
  const ids = new Set<string>();
  for (let round = 0; round < 5; round += 1) {
    for (const activity_status of ['staged', 'deployed', 'queued'] as const)
      ids.add((await on.device.deploy({ activity_status })).id);
    on.device.kill();
    await on.device.start();
  }
  expect(ids.size).toBe(15);
});
