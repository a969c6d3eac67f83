/** Subjects of the system suite: a simulated platform with a device enrolled in it, either of them with a defect or a variant. */

import { agentDefects, agentVariants } from '../../../simulators/defects/agents.ts';
import { deviceVariants } from '../../../simulators/defects/device/index.ts';
import { type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import { platformVariants, systemDefects } from '../../../simulators/defects/platform/index.ts';
import type { DeviceBehaviour } from '../../../simulators/device/index.ts';
import type { AgentHabits } from '../../../simulators/device/uplink/index.ts';
import { type PlatformBehaviour, referenceBehaviour as referencePlatform } from '../../../simulators/platform/index.ts';
import { systemSuite } from '../../../suites/system/index.ts';
import { Redactor } from '../../client/redact.ts';
import { defined } from '../../common/defined.ts';
import { SUPPORTED_VERSIONS, type SupportedVersion } from '../../contract/versions.ts';
import type { Report } from '../../runner/types.ts';
import { openDeviceTarget } from '../../targets/open-device.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import type { SystemContext } from '../../targets/opened.ts';
import { behavioursWith, type Changes, KEY, startWorkspace } from './simulated.ts';
import { bundled, type Narrowed, PATIENCE_MS, runOn, type Subject, subjectsOf } from './subjects.ts';

/** The suite waits four times as long for an effect, which many defects suppress. */
const DEFECT_PATIENCE_MS = 1000;

interface System {
  platform?: PlatformBehaviour;
  device?: DeviceBehaviour;
  habits?: AgentHabits;
  version?: SupportedVersion;
  /** A null server takes the place of the platform that the device is enrolled in. */
  instead?: NullServerName;
  patienceMs?: number;
}

async function runOnSystem(choice: System, narrowed: Narrowed): Promise<Report> {
  const { platform: behaviour, device: robot, habits, version, instead, patienceMs = PATIENCE_MS } = choice;
  await using stack = new AsyncDisposableStack();
  const workspace = stack.use(await startWorkspace(defined({ platform: behaviour, device: robot, habits })));
  const server = instead === undefined ? undefined : stack.use(await nullServer(instead, { port: 0 }));
  const { socket, control, deviceId, links } = workspace;
  const redactor = new Redactor();
  const common = { env: {}, redactor, patienceMs };
  const device = stack.use(await openDeviceTarget({ ...common, socket, control }));
  const platform = stack.use(
    await openPlatformTarget({
      ...common,
      url: server === undefined ? workspace.platform.url : `${server.address}/beta`,
      apiKey: KEY,
      onlineDevice: deviceId,
      ...defined({ apiVersion: version }),
    }),
  );
  const capabilities = new Set([...device.capabilities, ...platform.capabilities, 'write'] as const);
  const target = {
    description: { ...device.description, kind: 'system', capabilities: [...capabilities] },
    unreachable: undefined,
    context: (...[recorder, signal]: Parameters<typeof device.context>): SystemContext => {
      const ofDevice = device.context(recorder, signal);
      const online = async (): Promise<void> => {
        for (const link of links) link.restore();
      };
      return {
        device: ofDevice,
        platform: platform.context(recorder, signal),
        deviceId,
        offline: async () => {
          for (const link of links) link.cut();
        },
        online,
        prepare: async (requirement) => {
          await online();
          await ofDevice.prepare?.(requirement);
        },
        reconsider: async (error) => (ofDevice.reconsider === undefined ? error : await ofDevice.reconsider(error)),
      };
    },
  };
  return await runOn(systemSuite, target, { redactor, capabilities, narrowed });
}

/** Variants that could disturb the way from the platform to an event and back. */
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

const on = (side: string, { name, summary }: { name: string; summary: string }) => ({
  name: `${side} ${name}`,
  summary,
});

const runWith = (changes: Changes, narrowed: Narrowed): Promise<Report> =>
  runOnSystem(behavioursWith(changes), narrowed);

export const systemSubjects = (): Subject[] =>
  subjectsOf('system', {
    references: SUPPORTED_VERSIONS.map((version) => ({
      name: version,
      summary: 'The simulated platform with a simulated device.',
      run: (narrowed) => runOnSystem({ version }, narrowed),
    })),
    defects: [
      ...systemDefects.map(({ name, summary, breaks, file, behaviour }) => ({
        ...{ name, summary, breaks, file },
        run: (narrowed: Narrowed) =>
          runOnSystem({ platform: behaviour(referencePlatform), patienceMs: DEFECT_PATIENCE_MS }, narrowed),
      })),
      ...agentDefects.map(({ name, summary, breaks, behaviour }) => ({
        ...{ name: `agent ${name}`, summary, breaks, file: 'simulators/defects/agents.ts' },
        run: (narrowed: Narrowed) => runOnSystem({ habits: behaviour({}), patienceMs: DEFECT_PATIENCE_MS }, narrowed),
      })),
    ],
    variants: [
      ...agentVariants.map((variant) => bundled(on('agent', variant), { agent: [variant] }, runWith)),
      ...platformVariants
        .filter(({ name }) => PLATFORM_VARIANTS.includes(name))
        .map((variant) => bundled(on('platform', variant), { platform: [variant] }, runWith)),
      ...deviceVariants
        .filter(({ name }) => DEVICE_VARIANTS.includes(name))
        .map((variant) => bundled(on('device', variant), { device: [variant] }, runWith)),
    ],
    runNull: (instead, narrowed) => runOnSystem({ instead, patienceMs: DEFECT_PATIENCE_MS }, narrowed),
  });
