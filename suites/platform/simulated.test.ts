/** The suite against Muster's own platform: the reference passes in every version, defects are caught, variants pass. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { platformDefects, platformVariants } from '../../simulators/defects/platform/index.ts';
import { simulateDevice } from '../../simulators/device/index.ts';
import { createUplink } from '../../simulators/device/uplink/index.ts';
import { type PlatformBehaviour, referenceBehaviour, simulatePlatform } from '../../simulators/platform/index.ts';
import { COLLECTIONS } from './support/lists.ts';
import { EVERYTHING, lines, runPlatformSuite, type TestTarget } from './testing/run.ts';

const KEY = 'key_full_0123456789abcdefghij';
const LIMITED = 'key_limited_0123456789abcdef';
const KEY_BITS = 1024;
const NEWEST = SUPPORTED_VERSIONS[2];
const HEADERS = { 'x-api-key': KEY, 'service-version': NEWEST, 'content-type': 'application/json' };
/** Checks that could take the write of another client for a fault. */
const OBSERVING = ['has-more', 'walk', 'stable', 'beyond-end', 'total-count', 'defaults'].map(
  (id) => `platform.list.${id}`,
);
/** `npm run matrix` has every row; here every so many of them are enough. */
const EVERY_DEFECT = 8;
const EVERY_VARIANT = 14;

interface Simulated extends AsyncDisposable {
  target: TestTarget;
}

const post = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) });

/** A platform with a seeded workspace, an online device, one that never was online, and a key that may only read releases. */
async function simulated(behaviour: PlatformBehaviour = referenceBehaviour): Promise<Simulated> {
  await using making = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'muster-platform-suite-'));
  making.defer(() => rmSync(dir, { recursive: true, force: true }));
  const platform = making.use(
    await simulatePlatform({
      seed: 1,
      devices: 24,
      behaviour,
      minKeyBits: KEY_BITS,
      keys: [
        { key: KEY, name: 'full', scopes: 'all' },
        { key: LIMITED, name: 'limited', scopes: ['releases:read'] },
      ],
    }),
  );
  const device = making.use(
    await simulateDevice({
      dir,
      socket: join(dir, 'robot.sock'),
      seed: 1,
      uplink: createUplink({
        kind: 'agent',
        platform: platform.agentUrl,
        ...(platform.mqttUrl === undefined ? {} : { mqtt: platform.mqttUrl }),
        keyBits: KEY_BITS,
        token: async () =>
          ((await (await post(`${platform.url}/provisioning_tokens`, {})).json()) as { token: string }).token,
      }),
    }),
  );
  await device.uplink?.start();
  const onlineDevice = device.uplink?.deviceId;
  if (onlineDevice === undefined) throw new Error('the device did not enrol');
  const never = (await (await post(`${platform.url}/devices`, { name: 'never-online' })).json()) as { id: string };
  const all = making.move();
  return {
    target: { url: platform.url, apiKey: KEY, limitedKey: LIMITED, onlineDevice, offlineDevice: never.id },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

describe('the reference platform', () => {
  it.for(SUPPORTED_VERSIONS)('passes everything in %s', async (apiVersion) => {
    await using platform = await simulated();
    const report = await runPlatformSuite({ ...platform.target, apiVersion });
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
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

  it('is not changed by a run that may only read', async () => {
    await using platform = await simulated();
    const before = await counts(platform.target.url);
    const capabilities = EVERYTHING.filter((name) => name !== 'write');
    const report = await runPlatformSuite({ ...platform.target, capabilities }, { readOnly: true });
    expect(await counts(platform.target.url)).toEqual(before);
    expect(lines(report, ['fail', 'warn', 'blocked'])).toEqual([]);
    expect(report.summary.pass).toBeGreaterThan(30);
  });
});

const every = <T>(items: readonly T[], nth: number): T[] => items.filter((_, index) => index % nth === 0);

describe('a platform that', () => {
  it.for(every(platformDefects, EVERY_DEFECT))('has the defect $name is caught by what it breaks', async (defect) => {
    await using platform = await simulated(defect.behaviour(referenceBehaviour));
    const report = await runPlatformSuite(platform.target, { only: defect.breaks });
    expect(lines(report, ['fail', 'warn'])).not.toEqual([]);
  });

  it.for(every(platformVariants, EVERY_VARIANT))('has the variant $name fails nothing', async (variant) => {
    await using platform = await simulated(variant.behaviour(referenceBehaviour));
    const report = await runPlatformSuite(platform.target);
    expect(lines(report, ['fail', 'blocked'])).toEqual([]);
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
