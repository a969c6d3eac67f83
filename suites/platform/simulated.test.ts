/** The suite against Muster's own platform: right in every version, every defect caught, no legal choice taken for a fault. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { simulateDevice } from '../../simulators/device/index.ts';
import { createUplink } from '../../simulators/device/uplink/index.ts';
import { type PlatformBehaviour, rightBehaviour, simulatePlatform } from '../../simulators/platform/index.ts';
import { lines, runPlatformSuite, type TestTarget } from './testing/run.ts';

const KEY = 'key_full_0123456789abcdefghij';
const LIMITED = 'key_limited_0123456789abcdef';
const KEY_BITS = 1024;

interface Simulated extends AsyncDisposable {
  target: TestTarget;
}

/** A platform with a seeded workspace, a device that is online, and a key that may read releases alone. */
async function simulated(behaviour: PlatformBehaviour = rightBehaviour): Promise<Simulated> {
  const stack = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'muster-platform-suite-'));
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
  const platform = stack.use(
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
  const headers = { 'x-api-key': KEY, 'service-version': SUPPORTED_VERSIONS[2], 'content-type': 'application/json' };
  const token = async (): Promise<string> => {
    const response = await fetch(`${platform.url}/provisioning_tokens`, { method: 'POST', headers, body: '{}' });
    return ((await response.json()) as { token: string }).token;
  };
  const device = stack.use(
    await simulateDevice({
      dir,
      socket: join(dir, 'robot.sock'),
      seed: 1,
      uplink: createUplink({
        kind: 'agent',
        platform: platform.agentUrl,
        ...(platform.mqttUrl === undefined ? {} : { mqtt: platform.mqttUrl }),
        keyBits: KEY_BITS,
        token,
      }),
    }),
  );
  await device.uplink?.start();
  const created = await fetch(`${platform.url}/devices`, { method: 'POST', headers, body: '{"name":"never-online"}' });
  const offline = (await created.json()) as { id: string };
  return {
    target: {
      url: platform.url,
      apiKey: KEY,
      limitedKey: LIMITED,
      offlineDevice: offline.id,
      ...(device.uplink?.deviceId === undefined ? {} : { onlineDevice: device.uplink.deviceId }),
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe('the right platform', () => {
  it.for(SUPPORTED_VERSIONS)('passes everything in %s', async (apiVersion) => {
    await using platform = await simulated();
    const report = await runPlatformSuite({ ...platform.target, apiVersion });
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
  });
});
