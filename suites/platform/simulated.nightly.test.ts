import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { startWorkspace } from '../../harness/tools/subjects/simulators.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { createKit, startPlatform, walk } from '../../simulators/platform/testing/kit.ts';
import { COLLECTIONS } from './support/lists.ts';
import { relayTo } from './testing/relay.ts';

it('the reference platform passes a read-only run with only GET requests while other clients write', async () => {
  await using workspace = await startWorkspace();
  const place = await workspace.place();
  const writes: Promise<unknown>[] = [];
  const { url, asked } = await overheard(place.url, (request) => {
    // Writes once in ten requests, because no list in use doubles while it is read.
    if (request % 10 > 0) return;
    const name = `foreign-${request}`;
    writes.push(workspace.create('/config_types', { name, slug: name }), workspace.create('/devices', { name }));
  });
  const report = await runPlatformSuite({ ...place, url }, { readOnly: true, fast: true });
  await Promise.all(writes);
  expect(writes.length).toBeGreaterThan(20);
  expect([...asked].filter((each) => !each.startsWith('GET '))).toEqual([]);
  expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  expect(report.summary.pass).toBeGreaterThan(30);
});

it('the reference platform passes when it starts empty, with each method on new and used connections', async () => {
  await using platform = await simulatePlatform({ seed: 1, mqtt: false });
  const { url, asked } = await overheard(platform.url);
  const report = await runPlatformSuite({ url, apiKey: platform.apiKey }, { fast: true });
  expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  const due = ['GET', 'POST', 'PATCH'].flatMap((method) => [`${method} new`, `${method} used`]);
  expect([...asked]).toEqual(expect.arrayContaining(due));
});

it('the reference platform changes no record that was there before', async () => {
  await using platform = await startPlatform({ seed: 1, devices: 3 });
  await createKit(platform);
  const records = async () => (await Promise.all(COLLECTIONS.map((name) => walk(platform, `/${name}`)))).flat();
  const before = await records();
  const report = await runPlatformSuite({ url: platform.url, apiKey: platform.apiKey }, { fast: true });
  expect(report.summary.pass).toBeGreaterThan(30);
  const after = new Map((await records()).map((record) => [record.id, record]));
  expect(after.size).toBeGreaterThan(before.length);
  expect(before.map(({ id }) => after.get(id))).toEqual(before);
});

/** `onRequest`: called with the number of each request, from 1 on. */
async function overheard(platform: string, onRequest: (request: number) => void = () => {}) {
  const asked = new Set<string>();
  const used = new WeakSet<Socket>();
  let requests = 0;
  const url = await relayTo(platform, ({ method, socket }) => {
    requests += 1;
    onRequest(requests);
    asked.add(`${method} ${used.has(socket) ? 'used' : 'new'}`);
    used.add(socket);
    return true;
  });
  return { url, asked };
}
