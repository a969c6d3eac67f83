/** The reference platform passes the suite in older versions, empty, unchanged, and beside other clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { COLLECTIONS } from './support/lists.ts';
import { EVERYTHING, lines, runPlatformSuite } from './testing/run.ts';
import { HEADERS, post, simulated } from './testing/simulated.ts';

/** Checks that could take the write of another client for a fault. */
const OBSERVING = ['has-more', 'walk', 'stable', 'beyond-end', 'total-count', 'defaults'].map(
  (id) => `platform.list.${id}`,
);
const OLDER = SUPPORTED_VERSIONS.filter((version) => version !== NEWEST_VERSION);

describe('the reference platform', () => {
  it.for(OLDER)('passes everything in %s', async (apiVersion) => {
    await using platform = await simulated();
    const report = await runPlatformSuite({ ...platform.target, apiVersion });
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
  });

  it('is not changed by a run that may only read', async () => {
    await using platform = await simulated();
    const before = await counts(platform.target.url);
    const capabilities = EVERYTHING.filter((name) => name !== 'write');
    const report = await runPlatformSuite({ ...platform.target, capabilities }, { readOnly: true });
    expect(await counts(platform.target.url)).toEqual(before);
    expect(lines(report, ['fail', 'warn', 'blocked'])).toEqual([]);
    expect(report.summary.pass).toBeGreaterThan(30);
  });

  it('passes when it starts empty', async () => {
    await using platform = await simulatePlatform({ seed: 1, mqtt: false });
    const report = await runPlatformSuite({ url: platform.url, apiKey: platform.apiKey });
    expect(lines(report, ['fail', 'warn', 'blocked'])).toEqual([]);
  });

  it('passes while other clients write to it', async () => {
    await using platform = await simulated();
    const writing = new AbortController();
    const writes = Promise.all([
      disturb(platform.target.url, '/config_types', writing.signal),
      disturb(platform.target.url, '/devices', writing.signal),
    ]);
    const report = await runPlatformSuite(platform.target, { only: OBSERVING, runs: 0.3 });
    writing.abort();
    expect(Math.min(...(await writes))).toBeGreaterThan(10);
    expect(lines(report, ['fail', 'warn', 'blocked'])).toEqual([]);
  });
});

/** Creates dozens of resources a second until `signal` aborts. Resolves with how many. */
async function disturb(url: string, path: string, signal: AbortSignal): Promise<number> {
  for (let count = 0; ; count += 1) {
    if (signal.aborted) return count;
    const name = `foreign-${count}`;
    await (await post(`${url}${path}`, path === '/config_types' ? { name, slug: name } : { name })).arrayBuffer();
    // Without a pause the list would double while it is read.
    await sleep(15);
  }
}

async function counts(url: string): Promise<unknown[]> {
  return await Promise.all(
    COLLECTIONS.map(async (collection) => {
      const response = await fetch(`${url}/${collection}?limit=1&expand=total_count`, { headers: HEADERS });
      return ((await response.json()) as { total_count: number }).total_count;
    }),
  );
}
