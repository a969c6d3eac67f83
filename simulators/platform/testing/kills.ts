/** Kills platforms while clients write to them, and compares the database with what they answered. For tests only. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { scratch } from '../../common/testing/scratch.ts';
import { createKit, deploymentBody, type Item, type Kit, startPlatform } from './kit.ts';

const KEY = 'durable';
/** Answers until the process is killed. */
const ANSWERS = 60;

async function startProcess(db: string): Promise<{ child: ChildProcess; url: string }> {
  const script = `
    const { simulatePlatform } = await import(${JSON.stringify(new URL('../index.ts', import.meta.url).href)});
    const keys = [{ key: '${KEY}', scopes: 'all' }];
    const platform = await simulatePlatform({ db: ${JSON.stringify(db)}, mqtt: false, keys });
    process.stdout.write(platform.url + '\\n');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, url };
}

/** Writes to a process, kills it, and reads everything back from its database. */
export async function killWhileWriting(): Promise<void> {
  using folder = scratch();
  const db = join(folder.path, 'platform.db');
  const kit = await (async () => {
    await using platform = await startPlatform({ db });
    return await createKit(platform);
  })();
  /** Path → the last answer. A request without an answer may have been applied or not. */
  const answered = new Map<string, object>();
  await writeUntilKilled(db, kit, answered);
  await using platform = await startPlatform({ db });
  for (const [path, answer] of answered) expect((await platform.get(path)).body).toEqual(answer);
}

async function writeUntilKilled(db: string, kit: Kit, answered: Map<string, object>): Promise<void> {
  const { child, url } = await startProcess(db);
  const ended = once(child, 'exit');
  let answers = 0;
  const send = async (method: string, path: string, body?: object): Promise<Item> => {
    const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const answer = (await response.json()) as Item;
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
      const name = `robot-${lane}-${number}`;
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
}
