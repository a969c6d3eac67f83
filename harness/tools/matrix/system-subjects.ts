/** A simulated platform and a device enrolled in it, either of them wrong or differing, judged together by the system suite. */
import { deviceVariants } from '../../../simulators/defects/device/index.ts';
import { NULL_SERVERS, type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import { platformVariants } from '../../../simulators/defects/platform/index.ts';
import { systemDefects } from '../../../simulators/defects/system/index.ts';
import { type DeviceBehaviour, referenceBehaviour as rightDevice } from '../../../simulators/device/index.ts';
import { type PlatformBehaviour, referenceBehaviour } from '../../../simulators/platform/index.ts';
import { systemSuite } from '../../../suites/system/index.ts';
import { Redactor } from '../../client/redact.ts';
import { SUPPORTED_VERSIONS, type SupportedVersion } from '../../contract/versions.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { Report } from '../../runner/types.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import type { Subject } from './types.ts';
import { KEY, startWorkspace } from './workspace.ts';

const SEED = 11;
/** An effect that never comes is waited for four times as long. */
const IMPATIENT_MS = 1500;
const PATIENCE_MS = 10_000;

interface Choice {
  platform?(right: PlatformBehaviour): PlatformBehaviour;
  device?(right: DeviceBehaviour): DeviceBehaviour;
  version?: SupportedVersion;
  /** A platform that does nothing takes the place of the one that the device is enrolled in. */
  instead?: NullServerName;
  patienceMs?: number;
  only?: readonly string[] | undefined;
}

async function judgeSystem(choice: Choice): Promise<Report> {
  const { platform: makePlatform, device: makeDevice, version, instead, only, patienceMs = PATIENCE_MS } = choice;
  await using stack = new AsyncDisposableStack();
  const workspace = stack.use(
    await startWorkspace({
      ...(makePlatform === undefined ? {} : { platform: makePlatform(referenceBehaviour) }),
      ...(makeDevice === undefined ? {} : { device: makeDevice(rightDevice) }),
    }),
  );
  const nothing = instead === undefined ? undefined : stack.use(await nullServer(instead, { port: 0 }));
  const redactor = new Redactor();
  const { socket, control, deviceId, links } = workspace;
  const device = stack.use(await openDeviceTarget({ socket, control, env: {}, redactor, patienceMs }));
  const platform = stack.use(
    await openPlatformTarget({
      url: nothing === undefined ? workspace.platform.url : `${nothing.address}/beta`,
      apiKey: KEY,
      onlineDevice: deviceId,
      env: {},
      redactor,
      patienceMs,
      ...(version === undefined ? {} : { apiVersion: version }),
    }),
  );
  const capabilities = new Set([...device.capabilities, ...platform.capabilities, 'write'] as const);
  return await runSuite(systemSuite, {
    plan: makePlan(systemSuite, { capabilities, ...(only === undefined ? {} : { only }) }),
    target: { ...device.description, kind: 'system', capabilities: [...capabilities] },
    context: (recorder, signal) => ({
      device: device.context(recorder, signal),
      platform: platform.context(recorder, signal),
      deviceId,
      offline: async () => {
        for (const link of links) link.cut();
      },
      online: async () => {
        for (const link of links) link.restore();
      },
    }),
    redactor,
    seed: SEED,
    version: 'matrix',
  });
}

/** Those that the way from the platform to an event and back could be tripped by. */
const PLATFORM_VARIANTS = [
  'created-201',
  'fields-beyond-the-published',
  'drift-when-deployed',
  'timestamps-with-offset',
  'by-id',
  'ping-timeout-504',
  'parent-id-informational',
];
const DEVICE_VARIANTS = [
  'byte-by-byte',
  'extra-fields',
  'ids-with-gaps',
  'line-ends-cr',
  'replay-without-cursor',
  'silent-at-open',
  'times-with-offset',
];

function variants(): Subject[] {
  const variant = (name: string, summary: string, choice: Choice): Subject => ({
    ...{ api: 'system', kind: 'variant', name, summary },
    judge: (only) => judgeSystem({ ...choice, only }),
  });
  return [
    ...platformVariants
      .filter(({ name }) => PLATFORM_VARIANTS.includes(name))
      .map(({ name, summary, behaviour: platform }) => variant(`platform ${name}`, summary, { platform })),
    ...deviceVariants
      .filter(({ name }) => DEVICE_VARIANTS.includes(name))
      .map(({ name, summary, behaviour: device }) => variant(`device ${name}`, summary, { device })),
  ];
}

export function systemSubjects(): Subject[] {
  const common = { api: 'system' as const };
  return [
    ...SUPPORTED_VERSIONS.map(
      (version): Subject => ({
        ...common,
        ...{ kind: 'right', name: version, summary: 'The simulated platform with a simulated device.' },
        judge: (only) => judgeSystem({ version, only }),
      }),
    ),
    ...systemDefects.map(
      ({ name, summary, breaks, file, behaviour: platform }): Subject => ({
        ...common,
        ...{ kind: 'defect', name, summary, breaks, file },
        judge: (only) => judgeSystem({ platform, only, patienceMs: IMPATIENT_MS }),
      }),
    ),
    ...variants(),
    ...(Object.keys(NULL_SERVERS) as NullServerName[]).map(
      (name): Subject => ({
        ...common,
        ...{ kind: 'null', name, summary: NULL_SERVERS[name] },
        judge: () => judgeSystem({ instead: name, patienceMs: IMPATIENT_MS }),
      }),
    ),
  ];
}
