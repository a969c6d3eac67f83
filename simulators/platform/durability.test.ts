/** A database file holds everything that was answered, after SIGKILL and after a restart. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NEWEST_VERSION } from '../../harness/contract/versions.ts';
import { type Json, startPlatform } from './testing/client.ts';
import { createDevice, createKit, deploy, deploymentBody } from './testing/kit.ts';

const KEY = 'durable';
const ROUNDS = 3;
/** Answers until the process is killed. */
const ANSWERS = 60;
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
    const kit = await (async () => {
      await using platform = await startPlatform({ db });
      return await createKit(platform);
    })();
    /** Path → the last answer. Requests under way may have been applied or not. */
    const answered = new Map<string, object>();
    for (let round = 0; round < ROUNDS; round++) {
      const { child, url } = await startProcess(db);
      const ended = once(child, 'exit');
      let answers = 0;
      const send = async (method: string, path: string, body?: object): Promise<Json & { id: string }> => {
        const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION, 'content-type': 'application/json' };
        const init = body === undefined ? {} : { body: JSON.stringify(body) };
        const response = await fetch(url + path, { method, headers, ...init });
        const answer = (await response.json()) as Json & { id: string };
        if (++answers === ANSWERS) child.kill('SIGKILL');
        if (response.status !== 200) throw new Error(`${method} ${path} answered ${JSON.stringify(answer)}`);
        return answer;
      };
      const change = async (path: string, method: string, at: string, body?: object): Promise<void> => {
        answered.delete(path);
        answered.set(path, await send(method, at, body));
      };
      const writer = async (lane: number) => {
        for (let number = 0; ; number++) {
          const name = `robot-${round}-${lane}-${number}`;
          const device = await send('POST', '/devices', { name });
          answered.set(`/devices/${device.id}`, device);
          const deployment = await send('POST', '/deployments', deploymentBody(kit, device.id, 'staged'));
          answered.set(`/deployments/${deployment.id}`, deployment);
          await change(`/devices/${device.id}`, 'PATCH', `/devices/${device.id}`, { name: `${name}-renamed` });
          const act = number % 2 === 0 ? 'archive' : 'deploy';
          await change(`/deployments/${deployment.id}`, 'POST', `/deployments/${deployment.id}/${act}`);
        }
      };
      const lanes = await Promise.allSettled([0, 1, 2, 3].map(writer));
      // Each lane ends with the process, not before.
      for (const lane of lanes) expect(String((lane as PromiseRejectedResult).reason)).not.toMatch(/answered/);
      await ended;
      expect(answers).toBeGreaterThanOrEqual(ANSWERS);
      await using platform = await startPlatform({ db });
      for (const [path, answer] of answered) expect((await platform.get(path)).body).toEqual(answer);
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
    // A database that holds devices is not seeded again.
    expect((await platform.get('/devices?expand=total_count')).body).toMatchObject({ total_count: 1 });
    expect((await createDevice(platform)).startsWith('dvc_')).toBe(true);
    expect(platform.port.deviceByFingerprint('f')?.id).toBe(robot);
  });
});
