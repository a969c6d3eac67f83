/** The suite against Muster's own platform with one of its own devices. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SUPPORTED_VERSIONS } from '../../harness/contract/versions.ts';
import { systemDefects } from '../../simulators/defects/platform/index.ts';
import { simulateDevice } from '../../simulators/device/index.ts';
import { createUplink } from '../../simulators/device/uplink/index.ts';
import { type PlatformBehaviour, rightBehaviour, simulatePlatform } from '../../simulators/platform/index.ts';
import { nullServer } from '../platform/testing/null-servers.ts';
import { lines } from '../platform/testing/run.ts';
import { runSystemSuite, type TestSystem } from './testing/run.ts';

const KEY = 'key_full_0123456789abcdefghij';
const KEY_BITS = 1024;

interface Simulated extends AsyncDisposable {
  target: TestSystem;
}

async function simulated(behaviour: PlatformBehaviour = rightBehaviour): Promise<Simulated> {
  await using making = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'muster-system-suite-'));
  making.defer(() => rmSync(dir, { recursive: true, force: true }));
  const platform = making.use(
    await simulatePlatform({
      seed: 1,
      behaviour,
      minKeyBits: KEY_BITS,
      keys: [{ key: KEY, name: 'full', scopes: 'all' }],
    }),
  );
  const headers = { 'x-api-key': KEY, 'service-version': SUPPORTED_VERSIONS[2], 'content-type': 'application/json' };
  const token = async (): Promise<string> => {
    const response = await fetch(`${platform.url}/provisioning_tokens`, { method: 'POST', headers, body: '{}' });
    return ((await response.json()) as { token: string }).token;
  };
  const socket = join(dir, 'robot.sock');
  const control = join(dir, 'control.sock');
  const device = making.use(
    await simulateDevice({
      dir: join(dir, 'robot'),
      socket,
      control: { path: control },
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
  const online = async (): Promise<void> => {
    await device.start();
    await device.uplink?.start();
  };
  await online();
  const deviceId = device.uplink?.deviceId;
  if (deviceId === undefined) throw new Error('the device did not enrol');
  const all = making.move();
  return {
    target: { platformUrl: platform.url, apiKey: KEY, socket, control, deviceId, online, offline: () => device.stop() },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

describe('the right platform with a right device', () => {
  it.for(SUPPORTED_VERSIONS)('passes everything in %s', async (apiVersion) => {
    await using system = await simulated();
    const report = await runSystemSuite({ ...system.target, apiVersion });
    expect(lines(report, ['fail', 'warn', 'blocked', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(0);
  });
});

/** An effect that never comes is waited for four times as long. The complete matrix is a command of its own. */
const IMPATIENT_MS = 750;

describe('a platform that', () => {
  it.for(systemDefects.filter((_, index) => index % 2 === 0))(
    'has the defect $name is caught by what it breaks',
    async (defect) => {
      await using system = await simulated(defect.behaviour(rightBehaviour));
      const report = await runSystemSuite(system.target, {
        only: defect.breaks.slice(0, 1),
        patienceMs: IMPATIENT_MS,
      });
      expect(lines(report, ['fail', 'warn'])).not.toEqual([]);
    },
  );

  it('answers nothing but 404 passes no MUST, however good the device', async () => {
    await using system = await simulated();
    await using server = await nullServer('answers 404');
    const target = { ...system.target, platformUrl: server.url };
    const report = await runSystemSuite(target, { patienceMs: IMPATIENT_MS });
    expect(lines(report, ['pass', 'not_applicable'])).toEqual([]);
    expect(report.exit_code).toBe(1);
  });
});
