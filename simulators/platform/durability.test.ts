/** A database file: whatever was answered is there after SIGKILL, and after a restart. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NEWEST_VERSION } from '../../harness/contract/versions.ts';
import { startPlatform } from './testing/client.ts';
import { createDevice, createKit, deploy } from './testing/kit.ts';

const KEY = 'durable';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-durability-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function startProcess(db: string): Promise<{ child: ChildProcess; url: string }> {
  const script = `
    const { simulatePlatform } = await import(${JSON.stringify(new URL('index.ts', import.meta.url).href)});
    const platform = await simulatePlatform({ db: ${JSON.stringify(db)}, mqtt: false, keys: [{ key: '${KEY}', scopes: 'all' }] });
    process.stdout.write(platform.url + '\\n');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, url };
}

describe('a database file', () => {
  it('loses nothing that was answered before SIGKILL', async () => {
    const db = join(folder, 'platform.db');
    const answered: string[] = [];
    for (let round = 0; round < 3; round++) {
      const { child, url } = await startProcess(db);
      const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION, 'content-type': 'application/json' };
      const ended = once(child, 'exit');
      const writer = async (lane: number) => {
        for (let number = 0; ; number++) {
          const body = JSON.stringify({ name: `robot-${round}-${lane}-${number}` });
          const response = await fetch(`${url}/devices`, { method: 'POST', headers, body });
          answered.push(((await response.json()) as { id: string }).id);
          if (answered.length === (round + 1) * 40) child.kill('SIGKILL');
        }
      };
      await Promise.allSettled([0, 1, 2, 3].map(writer));
      await ended;
      await using platform = await startPlatform({ db });
      const ids = new Set<string>();
      for (let more = true; more; ) {
        const { body } = await platform.get(`/devices?limit=100&offset=${ids.size}`);
        for (const { id } of body['data'] as { id: string }[]) ids.add(id);
        more = body['has_more'] as boolean;
      }
      expect(answered.length).toBeGreaterThanOrEqual((round + 1) * 40);
      expect(answered.filter((id) => !ids.has(id))).toEqual([]);
    }
  });

  it('is taken up again: lists, deployments, and devices that are no longer connected', async () => {
    const db = join(folder, 'platform.db');
    const robot = await (async () => {
      await using platform = await startPlatform({ db, seed: 1 });
      const kit = await createKit(platform);
      const id = await createDevice(platform);
      const token = (await platform.create('/provisioning_tokens'))['token'] as string;
      const { name } = platform.port.deviceById(id) ?? { name: '' };
      platform.port.provision(token, { name, agent_version: 'v1', public_key_pem: 'pem', fingerprint: 'f' });
      platform.port.setConnected(id, true);
      platform.port.report(id, await deploy(platform, kit, id), { activity_status: 'deployed' });
      return id;
    })();
    await using platform = await startPlatform({ db, seed: 1, devices: 50 });
    const shown = (await platform.get(`/devices/${robot}?expand=current_deployment`)).body;
    expect(shown).toMatchObject({ status: 'offline', current_deployment: { status: 'deployed' } });
    // It is no empty workspace: nothing is seeded into it.
    expect((await platform.get('/devices?expand=total_count')).body).toMatchObject({ total_count: 1 });
    expect((await createDevice(platform)).startsWith('dvc_')).toBe(true);
    expect(platform.port.deviceByFingerprint('f')?.id).toBe(robot);
  });
});
