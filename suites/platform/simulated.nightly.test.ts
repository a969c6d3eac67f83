/** The reference platform passes the suite when empty, and while other clients write to it. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { startWorkspace, type Workspace } from '../../harness/tools/subjects/simulators.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { relayTo } from './testing/relay.ts';

describe('the reference platform', () => {
  it('passes a read-only run with only GET requests while other clients write', async () => {
    await using workspace = await startWorkspace();
    const place = await workspace.place();
    const { url, asked } = await overheard(place.url);
    const writing = new AbortController();
    const writes = Promise.all(['/config_types', '/devices'].map((path) => disturb(workspace, path, writing.signal)));
    const report = await runPlatformSuite({ ...place, url }, { readOnly: true, fast: true });
    writing.abort();
    expect(Math.min(...(await writes))).toBeGreaterThan(10);
    expect([...asked].filter((each) => !each.startsWith('GET '))).toEqual([]);
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
    expect(report.summary.pass).toBeGreaterThan(30);
  });

  it('passes when it starts empty, with each method on new and used connections', async () => {
    await using platform = await simulatePlatform({ seed: 1, mqtt: false });
    const { url, asked } = await overheard(platform.url);
    const report = await runPlatformSuite({ url, apiKey: platform.apiKey }, { fast: true });
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
    const due = ['GET', 'POST', 'PATCH'].flatMap((method) => [`${method} new`, `${method} used`]);
    expect([...asked]).toEqual(expect.arrayContaining(due));
  });
});

async function overheard(platform: string): Promise<{ url: string; asked: Set<string> }> {
  const asked = new Set<string>();
  const used = new WeakSet<Socket>();
  const url = await relayTo(platform, ({ method, socket }) => {
    asked.add(`${method} ${used.has(socket) ? 'used' : 'new'}`);
    used.add(socket);
    return true;
  });
  return { url, asked };
}

async function disturb({ create }: Workspace, path: string, signal: AbortSignal): Promise<number> {
  for (let count = 0; ; count += 1) {
    if (signal.aborted) return count;
    const name = `foreign-${count}`;
    await create(path, path === '/config_types' ? { name, slug: name } : { name });
    // Without a pause, the list doubles while the suite reads it.
    await sleep(100);
  }
}
