/** Runs the suite, as `muster check system` does. For tests. */

import { HttpClient } from '../../../harness/client/http.ts';
import type { Recorder } from '../../../harness/client/recorder.ts';
import { Redactor } from '../../../harness/client/redact.ts';
import { DEVICE_API_PREFIX, DIALECT_NAMES, NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { makePlan } from '../../../harness/runner/plan.ts';
import { runSuite } from '../../../harness/runner/run.ts';
import type { Capability, Report } from '../../../harness/runner/types.ts';
import { HttpControl } from '../../../harness/targets/control/http-control.ts';
import { hostFiles } from '../../../harness/targets/files/target-files.ts';
import type { SystemContext } from '../../../harness/targets/opened.ts';
import { UnixConnection } from '../../../harness/targets/transports/unix.ts';
import { systemSuite } from '../index.ts';

export interface TestSystem {
  platformUrl: string;
  apiKey: string;
  apiVersion?: string;
  socket: string;
  /** Of the control API. */
  control: string;
  deviceId: string;
  offline(): Promise<void>;
  online(): Promise<void>;
}

export async function runSystemSuite(
  target: TestSystem,
  options: { only?: readonly string[]; seed?: number; patienceMs?: number } = {},
): Promise<Report> {
  const { versionHeader } = DIALECT_NAMES.spec;
  const apiVersion = target.apiVersion ?? NEWEST_VERSION;
  const patienceMs = options.patienceMs ?? 10_000;
  const url = new URL(target.platformUrl);
  await using stack = new AsyncDisposableStack();
  const platform = new HttpClient({
    endpoint: { origin: url.origin },
    basePath: url.pathname,
    headers: { 'x-api-key': target.apiKey, [versionHeader.toLowerCase()]: apiVersion },
  });
  stack.defer(() => platform.close());
  const device = new HttpClient({
    endpoint: { origin: 'http://localhost', socketPath: target.socket },
    basePath: DEVICE_API_PREFIX,
  });
  stack.defer(() => device.close());
  const control = new HttpControl(target.control);
  stack.defer(() => control.close());
  const info = await control.info();
  const capabilities = new Set<Capability>(['write', 'unix', ...(info.capabilities as Capability[])]);
  return await runSuite(systemSuite, {
    plan: makePlan(systemSuite, { capabilities, ...options }),
    target: { kind: 'test', address: target.platformUrl, capabilities: [...capabilities], control: control.kind },
    context: (recorder: Recorder, signal): SystemContext => ({
      platform: {
        http: platform.with({ recorder, signal }),
        versionHeader,
        apiVersion,
        apiKey: target.apiKey,
        limitedKey: undefined,
        capabilities,
        onlineDevice: target.deviceId,
        offlineDevice: undefined,
        readOnly: false,
        patienceMs,
      },
      device: {
        transport: new UnixConnection(target.socket),
        http: device.with({ recorder, signal }),
        capabilities,
        control,
        info,
        files: hostFiles,
        heartbeatSeconds: info.heartbeat_seconds ?? 30,
        patienceMs,
      },
      deviceId: target.deviceId,
      offline: () => target.offline(),
      online: () => target.online(),
    }),
    redactor: new Redactor(),
    seed: options.seed ?? 1,
    version: '0',
  });
}
