/** The reference platform passes the suite empty, unchanged, and beside other clients. */
import { request as send } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { serve } from '../../harness/targets/testing/places.ts';
import { resultsWith, runPlatformSuite } from '../../harness/tools/subjects/run.ts';
import { KEY_HEADERS, startWorkspace, type Workspace } from '../../harness/tools/subjects/simulators.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { COLLECTIONS } from './support/lists.ts';

/** Checks that could take the write of another client for a fault. */
const OBSERVING = ['has-more', 'walk-once', 'stable', 'past-end', 'total-count', 'defaults'].map(
  (id) => `platform.list.${id}`,
);

describe('the reference platform', () => {
  it('is sent nothing but GET by a run that may only read', async () => {
    await using workspace = await startWorkspace();
    const place = await workspace.place();
    const before = await counts(place.url);
    const methods = new Set<string>();
    const relay = await serve((request, response) => {
      const { method = '', headers, url = '' } = request;
      methods.add(method);
      const onwards = send(`${new URL(place.url).origin}${url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
      });
      onwards.on('error', () => response.destroy());
      request.pipe(onwards);
    });
    const url = `${relay}${new URL(place.url).pathname}`;
    const report = await runPlatformSuite({ ...place, url }, { readOnly: true });
    expect([...methods]).toEqual(['GET']);
    expect(await counts(place.url)).toEqual(before);
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
    expect(report.summary.pass).toBeGreaterThan(30);
  });

  it('passes when it starts empty', async () => {
    await using platform = await simulatePlatform({ seed: 1, mqtt: false });
    const report = await runPlatformSuite({ url: platform.url, apiKey: platform.apiKey });
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  });

  it('passes while other clients write to it', async () => {
    await using workspace = await startWorkspace();
    const place = await workspace.place();
    const writing = new AbortController();
    const writes = Promise.all([
      disturb(workspace, '/config_types', writing.signal),
      disturb(workspace, '/devices', writing.signal),
    ]);
    const report = await runPlatformSuite(place, { only: OBSERVING, runs: 0.3 });
    writing.abort();
    expect(Math.min(...(await writes))).toBeGreaterThan(10);
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  });
});

/** Creates dozens of resources a second until `signal` aborts. Resolves with how many. */
async function disturb({ create }: Workspace, path: string, signal: AbortSignal): Promise<number> {
  for (let count = 0; ; count += 1) {
    if (signal.aborted) return count;
    const name = `foreign-${count}`;
    await create(path, path === '/config_types' ? { name, slug: name } : { name });
    // Without a pause the list would double while it is read.
    await sleep(15);
  }
}

async function counts(url: string): Promise<unknown[]> {
  return await Promise.all(
    COLLECTIONS.map(async (collection) => {
      const response = await fetch(`${url}/${collection}?limit=1&expand=total_count`, { headers: KEY_HEADERS });
      return ((await response.json()) as { total_count: number }).total_count;
    }),
  );
}
