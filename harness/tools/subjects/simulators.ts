/** Starts simulated targets: a device, or a platform with a seeded workspace and an enrolled device. */
import { join } from 'node:path';
import type { ClientBehaviour } from '../../../simulators/client/behaviour.ts';
import { referenceBehaviour as referenceClient } from '../../../simulators/client/reference.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { combined, type Variant } from '../../../simulators/defects/define.ts';
import {
  type DeviceBehaviour,
  type DeviceOptions,
  referenceBehaviour as referenceDevice,
  type SimulatedDevice,
  simulateDevice,
} from '../../../simulators/device/index.ts';
import { type TransportName, transportInFolder } from '../../../simulators/device/transport.ts';
import { type AgentHabits, type AgentUplinkOptions, createUplink } from '../../../simulators/device/uplink/index.ts';
import {
  type PlatformBehaviour,
  referenceBehaviour as referencePlatform,
  simulatePlatform,
} from '../../../simulators/platform/index.ts';
import { defined } from '../../common/defined.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { TcpProxy } from '../../targets/control/controlled-agent.ts';

const KEY = 'key_full_0123456789abcdefghij';
const LIMITED_KEY = 'key_limited_0123456789abcdef';
const KEY_HEADERS = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION, 'content-type': 'application/json' };
/** Small, because large keys take long to generate. */
export const KEY_BITS = 1024;
const SEED = 11;

export interface DevicePlace {
  socket?: string;
  discovery?: string;
  control?: string;
}

export interface PlatformPlace {
  url: string;
  apiKey: string;
  limitedKey?: string;
  onlineDevice?: string;
  offlineDevice?: string;
  apiVersion?: string;
}

export interface Changes {
  device?: readonly Variant<DeviceBehaviour>[];
  platform?: readonly Variant<PlatformBehaviour>[];
  agent?: readonly Variant<AgentHabits>[];
  client?: readonly Variant<ClientBehaviour>[];
  transport?: TransportName;
}

/** Throws `ConflictError` for incompatible changes. */
export const behavioursWith = ({ device = [], platform = [], agent = [], client = [] }: Changes) => ({
  device: combined(device, referenceDevice),
  platform: combined(platform, referencePlatform),
  habits: combined(agent, {}),
  client: combined(client, referenceClient),
});

export async function startRobot(
  options: {
    transport?: TransportName | undefined;
    behaviour?: DeviceBehaviour;
    fresh?: boolean;
    past?: number;
    retain?: number;
    heartbeatMs?: number;
  } = {},
) {
  // Short heartbeats, because checks wait for them; past events are for checks that cannot publish any.
  const { transport = 'unix', fresh = false, past = 30, heartbeatMs = 2000 } = options;
  const { behaviour, retain } = options;
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(scratch());
  const control = join(path, 'control.sock');
  const device = starting.use(
    await simulateDevice({
      dir: join(path, 'robot'),
      ...transportInFolder(transport, path),
      control: { path: control },
      heartbeatMs,
      seed: SEED,
      ...defined({ behaviour, retain }),
    }),
  );
  if (!fresh) {
    await device.publish(past);
    await device.compact();
    await device.deploy();
    // Deploys again, so that checks see how the device merges activity and error status.
    await device.deploy({ activity_status: 'queued', error_status: 'retrying' });
  }
  const place: DevicePlace = { ...device.address, control };
  const all = starting.move();
  return { device, place, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Rejects if the enrolment fails. `directory`: folder of the device's files. */
export async function enrolDevice(
  directory: string,
  { mqtt, ...uplink }: Omit<AgentUplinkOptions, 'kind' | 'mqtt'> & { mqtt: string | undefined },
  options: Partial<DeviceOptions> = {},
): Promise<SimulatedDevice & { deviceId: string }> {
  await using making = new AsyncDisposableStack();
  const device = making.use(
    await simulateDevice({
      dir: join(directory, 'robot'),
      socket: join(directory, 'robot.sock'),
      ...options,
      uplink: createUplink({ kind: 'agent', keyBits: KEY_BITS, ...defined({ mqtt }), ...uplink }),
    }),
  );
  await device.uplink?.start();
  const deviceId = device.uplink?.deviceId;
  if (deviceId === undefined) throw new Error('the device did not enrol');
  making.move();
  return Object.assign(device, { deviceId });
}

export type Workspace = Awaited<ReturnType<typeof startWorkspace>>;

export async function startWorkspace(
  behaviour: { platform?: PlatformBehaviour; device?: DeviceBehaviour; habits?: AgentHabits } = {},
) {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(scratch());
  const platform = starting.use(
    await simulatePlatform({
      seed: SEED,
      devices: 24,
      minKeyBits: KEY_BITS,
      keys: [
        { key: KEY, name: 'full', scopes: 'all' },
        { key: LIMITED_KEY, name: 'limited', scopes: ['releases:read'] },
      ],
      ...defined({ behaviour: behaviour.platform }),
    }),
  );
  const create = async (to: string, body: object): Promise<Record<string, string>> => {
    const sent = { method: 'POST', headers: KEY_HEADERS, body: JSON.stringify(body) };
    const response = await fetch(platform.url + to, sent);
    return (await response.json()) as Record<string, string>;
  };
  const agentLink = starting.use(await TcpProxy.to(platform.agentUrl));
  const mqttLink = starting.use(await TcpProxy.to(platform.mqttUrl ?? ''));
  const device = { socket: join(path, 'robot.sock'), control: join(path, 'control.sock') };
  const token = async () => (await create('/provisioning_tokens', {}))['token'] ?? '';
  const { deviceId } = starting.use(
    await enrolDevice(
      path,
      { platform: agentLink.url, mqtt: mqttLink.url, token, ...defined({ habits: behaviour.habits }) },
      {
        socket: device.socket,
        control: { path: device.control },
        seed: SEED,
        ...defined({ behaviour: behaviour.device }),
      },
    ),
  );
  const keys = { apiKey: KEY, limitedKey: LIMITED_KEY };
  const all = starting.move();
  return {
    platform,
    deviceId,
    device,
    keys,
    links: [agentLink, mqttLink],
    create,
    place: async (): Promise<PlatformPlace> => {
      const { id: offlineDevice } = await create('/devices', { name: 'never-online' });
      return { url: platform.url, ...keys, onlineDevice: deviceId, ...defined({ offlineDevice }) };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export const optionsFor = (place: DevicePlace | PlatformPlace): string[] =>
  Object.entries(place).flatMap(([name, value]) => [
    `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    value,
  ]);
