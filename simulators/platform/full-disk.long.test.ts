/** A database on a disk that is full: the client is told, and nothing that was answered is lost. */
import { execFileSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { scratch } from '../common/testing/scratch.ts';
import { startPlatform, walk } from './testing/client.ts';

/** Whether this process may mount a file system of a few hundred kB. */
const mounts = process.platform === 'linux' && process.getuid?.() === 0;

it.skipIf(!mounts)('says that the disk is full, and takes writes again when there is room', async () => {
  using folder = scratch();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder.path]);
  try {
    const db = join(folder.path, 'platform.db');
    const filler = join(folder.path, 'filler');
    const names: string[] = [];
    {
      await using platform = await startPlatform({ db });
      expect(statSync(db).mode & 0o777).toBe(0o600);
      writeFileSync(filler, Buffer.alloc(500_000));
      const attempt = async () => {
        const name = `robot-${names.length}`;
        const reply = await platform.post('/devices', { name });
        if (reply.status === 200) names.push(name);
        return reply;
      };
      let reply = await attempt();
      while (reply.status === 200) reply = await attempt();
      expect(reply).toMatchObject({
        status: 503,
        body: { error: { code: 'disk_full', message: 'the disk is full: nothing was changed' } },
      });
      expect((await walk(platform, '/devices')).map(({ name }) => name).sort()).toEqual(names.toSorted());
      rmSync(filler);
      expect((await attempt()).status).toBe(200);
    }
    await using platform = await startPlatform({ db });
    expect((await walk(platform, '/devices')).map(({ name }) => name).sort()).toEqual(names.toSorted());
  } finally {
    execFileSync('umount', ['-l', folder.path]);
  }
});
