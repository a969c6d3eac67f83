import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../common/clock.ts';
import { Agent } from './agent.ts';
import { DeviceDirectory } from './device-directory.ts';
import { type DiskIo, disk } from './log/io.ts';
import { completeOptions } from './options.ts';
import { fillerEvents } from './state/deployment-store.ts';
import { robot, scratch } from './testing/robot.ts';

function everything(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const at = `${entry.parentPath}/${entry.name}`;
      const { ino, size, mtimeMs } = lstatSync(at);
      const content = entry.isFile() ? readFileSync(at, 'latin1') : entry.isSymbolicLink() ? readlinkSync(at) : '';
      return `${at} ${ino} ${entry.isDirectory() ? '' : `${size} ${mtimeMs} ${content}`}`;
    })
    .toSorted();
}

const CHANGING = 'open write store truncate rename sync syncDirectory makeDirectory link remove'.split(' ');

function watched(after: () => void): DiskIo {
  const quick: DiskIo = {
    ...disk,
    sync: () => turn(),
    // Writes immediately, because the kernel completes a write that a killed process has begun.
    store: async (fd, buffer, position) => {
      disk.write(fd, buffer, position);
      await turn();
    },
    syncDirectory: async () => {
      await turn();
      await turn();
    },
  };
  const operations = Object.entries(quick).map(([name, operation]: [string, (...args: never[]) => unknown]) => [
    name,
    (...args: never[]) => {
      const result = operation(...args);
      if (CHANGING.includes(name)) after();
      return result;
    },
  ]);
  return Object.fromEntries(operations) as DiskIo;
}

async function busy({ events, deployments }: Agent): Promise<void> {
  const publish = (count: number) => events.append(fillerEvents(0, count, systemClock));
  const files = (name: string) => [
    { filepath: `/etc/${name}`, content: name },
    { filepath: '/both', content: name },
  ];
  const first = await deployments.drive({ config_instances: files('a') });
  await Promise.allSettled([
    ...[1, 5, 30, 2].map(publish),
    deployments.drive({ config_instances: files('b') }),
    deployments.remove(first.id),
    deployments.drive({ error_status: 'failed' }),
    events.compact(),
    deployments.drive({ config_instances: files('c') }),
    publish(40),
  ]);
}

test('a killed agent changes nothing on the disk, at any step of a write', async () => {
  for (let fatal = 1; ; fatal += 1) {
    using home = scratch();
    const dir = `${home.path}/robot`;
    let step = 0;
    let then: string[] | undefined;
    const io = watched(() => {
      step += 1;
      if (step !== fatal) return;
      void agent.kill();
      then = everything(home.path);
    });
    const settings = completeOptions({ dir, socket: `${home.path}/s`, retain: 60, seed: 1, failedMs: 0 });
    const identity = () => ({ deviceId: 'dvc_1', name: 'robot', directory: dir });
    const env = {
      io,
      clock: systemClock,
      write: (socket: Socket, bytes: Buffer) => socket.write(bytes),
      latency: () => 0,
    };
    const agent: Agent = new Agent(settings, identity, env, new DeviceDirectory(dir, io));
    await agent.start().catch(() => undefined);
    await busy(agent).catch(() => undefined);
    for (let turns = 0; turns < 20; turns += 1) await turn();
    if (then === undefined) {
      void agent.kill();
      expect(step).toBeGreaterThan(80);
      return;
    }
    expect(everything(home.path), `after step ${fatal}`).toEqual(then);
  }
});

test('an agent killed during its start comes up at the next start', async () => {
  for (let turns = 0; turns < 6; turns += 1) {
    await using on = await robot();
    await on.device.publish(3);
    await on.device.deploy();
    await on.device.stop();
    const starting = on.device.start();
    for (let at = 0; at < turns; at += 1) await Promise.resolve();
    on.device.kill();
    const failure = await starting.catch((error: Error) => error);
    if (failure !== undefined) expect(failure.message).toMatch(/killed/);
    if (failure !== undefined) expect(on.device.running).toBe(false);
    await on.device.start();
    expect((await on.ask('/health')).status).toBe(200);
  }
});

test('a kill ends a stop that is under way', async () => {
  for (let turns = 0; turns < 4; turns += 1) {
    await using on = await robot();
    await on.device.publish(3);
    const stopping = on.device.stop();
    for (let at = 0; at < turns; at += 1) await Promise.resolve();
    on.device.kill();
    await stopping.catch(() => undefined);
    // A killed agent leaves its lock, which a stopped one removes.
    expect(readlinkSync(`${on.dir}/lock`)).not.toBe('');
    await on.device.start();
    expect((await on.ask('/health')).status).toBe(200);
  }
});
