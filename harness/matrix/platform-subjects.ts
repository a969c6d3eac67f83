/** The simulated platform, right in every version, wrong in every known way, differing in every legal one, each judged by the platform suite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { platformDefects } from '../../simulators/defects/platform/index.ts';
import { simulateDevice } from '../../simulators/device/index.ts';
import { createUplink } from '../../simulators/device/uplink/index.ts';
import { type PlatformBehaviour, rightBehaviour, simulatePlatform } from '../../simulators/platform/index.ts';
import { platformVariants } from '../../simulators/variants/platform/index.ts';
import { platformSuite } from '../../suites/platform/index.ts';
import { makePlan } from '../check/plan.ts';
import { runSuite } from '../check/run.ts';
import type { Report } from '../check/types.ts';
import { Redactor } from '../client/redact.ts';
import { judgedPlatform } from '../commands/check-platform.ts';
import { NEWEST_VERSION, SUPPORTED_VERSIONS, type SupportedVersion } from '../contract/versions.ts';
import { openPlatformTarget } from '../target/open-platform.ts';
import { NULL_SERVERS, startNullServer } from './null-server.ts';
import type { Subject } from './types.ts';

const KEY = 'key_full_0123456789abcdefghij';
const LIMITED = 'key_limited_0123456789abcdef';
const KEY_BITS = 1024;
const SEED = 11;
const DEVICES = 24;
const IMPATIENT_MS = 1000;
const PATIENCE_MS = 10_000;

type Make = (right: PlatformBehaviour) => PlatformBehaviour;

async function judgePlatform(
  make: Make | undefined,
  apiVersion: SupportedVersion = NEWEST_VERSION,
  only?: readonly string[],
): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-matrix-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const platform = stack.use(
    await simulatePlatform({
      seed: SEED,
      devices: DEVICES,
      minKeyBits: KEY_BITS,
      keys: [
        { key: KEY, name: 'full', scopes: 'all' },
        { key: LIMITED, name: 'limited', scopes: ['releases:read'] },
      ],
      ...(make === undefined ? {} : { behaviour: make(rightBehaviour) }),
    }),
  );
  const post = async (path: string, body: string): Promise<Record<string, string>> => {
    const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION, 'content-type': 'application/json' };
    return (await (await fetch(platform.url + path, { method: 'POST', headers, body })).json()) as Record<
      string,
      string
    >;
  };
  const device = stack.use(
    await simulateDevice({
      dir: join(folder, 'robot'),
      socket: join(folder, 'robot.sock'),
      seed: SEED,
      uplink: createUplink({
        kind: 'agent',
        platform: platform.agentUrl,
        ...(platform.mqttUrl === undefined ? {} : { mqtt: platform.mqttUrl }),
        keyBits: KEY_BITS,
        token: async () => (await post('/provisioning_tokens', '{}'))['token'] ?? '',
      }),
    }),
  );
  await device.uplink?.start();
  const offline = (await post('/devices', '{"name":"never-online"}'))['id'];
  return await judgeTarget(
    platform.url,
    {
      apiVersion,
      ...(device.uplink?.deviceId === undefined ? {} : { onlineDevice: device.uplink.deviceId }),
      ...(offline === undefined ? {} : { offlineDevice: offline }),
    },
    PATIENCE_MS,
    only,
  );
}

async function judgeTarget(
  url: string,
  options: { apiVersion?: string; onlineDevice?: string; offlineDevice?: string },
  patienceMs: number,
  only?: readonly string[],
): Promise<Report> {
  const redactor = new Redactor();
  const opened = await openPlatformTarget({ url, apiKey: KEY, limitedKey: LIMITED, ...options, env: {}, redactor });
  const target = judgedPlatform(opened, patienceMs);
  // What a defect hides from probing is still there to be judged.
  const capabilities = new Set([
    ...target.capabilities,
    'write',
    'seed-data',
    'tetons',
    'rainier',
    'everglades',
  ] as const);
  try {
    return await runSuite(platformSuite, {
      plan: makePlan(platformSuite, { capabilities, ...(only === undefined ? {} : { only }) }),
      target: target.description,
      context: (recorder, signal) => ({ ...target.context(recorder, signal), capabilities }),
      redactor,
      seed: SEED,
      version: 'matrix',
      ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
    });
  } finally {
    await target[Symbol.asyncDispose]();
  }
}

export function platformSubjects(): Subject[] {
  const common = { api: 'platform' as const };
  return [
    ...SUPPORTED_VERSIONS.map(
      (version): Subject => ({
        ...common,
        kind: 'right',
        name: version,
        summary: 'the simulated platform',
        judge: () => judgePlatform(undefined, version),
      }),
    ),
    ...platformDefects.map(
      (defect): Subject => ({
        ...common,
        kind: 'defect',
        name: defect.name,
        summary: defect.summary,
        breaks: defect.breaks,
        judge: (only) => judgePlatform((behaviour) => defect.behaviour(behaviour), NEWEST_VERSION, only),
      }),
    ),
    ...platformVariants.map(
      (variant): Subject => ({
        ...common,
        kind: 'variant',
        name: variant.name,
        summary: variant.summary,
        judge: () => judgePlatform((behaviour) => variant.behaviour(behaviour)),
      }),
    ),
    ...NULL_SERVERS.map(
      (kind): Subject => ({
        ...common,
        kind: 'null',
        name: kind,
        summary: 'a server that does nothing',
        judge: async () => {
          await using server = await startNullServer(kind);
          return await judgeTarget(
            `${server.address}/beta`,
            { onlineDevice: 'dvc_online', offlineDevice: 'dvc_offline' },
            IMPATIENT_MS,
          );
        },
      }),
    ),
  ];
}
