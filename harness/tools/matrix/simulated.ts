/** What is checked: a simulated device, or a simulated platform with a seeded workspace and a device enrolled in it. */
import { join } from 'node:path';
import type { ClientBehaviour } from '../../../simulators/client/behaviour.ts';
import { referenceBehaviour as referenceClient } from '../../../simulators/client/reference.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { combined } from '../../../simulators/defects/combine.ts';
import type { Variant } from '../../../simulators/defects/define.ts';
import { type DeviceBehaviour, referenceBehaviour as referenceDevice } from '../../../simulators/device/index.ts';
import { deviceOver } from '../../../simulators/device/testing/robot.ts';
import type { TransportName } from '../../../simulators/device/transport/index.ts';
import type { AgentHabits } from '../../../simulators/device/uplink/index.ts';
import {
  type PlatformBehaviour,
  referenceBehaviour as referencePlatform,
  type SimulatedPlatform,
  simulatePlatform,
} from '../../../simulators/platform/index.ts';
import { enrolDevice, KEY_BITS } from '../../../simulators/platform/testing/pair.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { TcpProxy } from '../../targets/control/tcp-proxy.ts';

export const KEY = 'key_full_0123456789abcdefghij';
/** May read releases and nothing else. */
export const LIMITED_KEY = 'key_limited_0123456789abcdef';
const SEED = 11;
const DEVICES = 24;
/** Short, so that waits for heartbeats are; long enough that a busy machine keeps it. */
const HEARTBEAT_MS = 2000;
/** Events of a past that a compaction has cut off, so that checks that need no control have something to check. */
const PAST_EVENTS = 30;

/** What differs from the reference, by the simulator that differs. */
export interface Changes {
  device?: readonly Variant<DeviceBehaviour>[];
  platform?: readonly Variant<PlatformBehaviour>[];
  agent?: readonly Variant<AgentHabits>[];
  client?: readonly Variant<ClientBehaviour>[];
  /** The one that a device shows these changes over; any other will do when left out. */
  transport?: TransportName;
}

/** The reference with all the changes made to it. Throws ConflictError when some of them exclude each other. */
export const behavioursWith = ({ device = [], platform = [], agent = [], client = [] }: Changes) => ({
  device: combined(device, referenceDevice),
  platform: combined(platform, referencePlatform),
  habits: combined(agent, {}),
  client: combined(client, referenceClient),
});

export interface Robot extends AsyncDisposable {
  /** How it is reached: the field of its transport, and its control API. */
  place: { socket?: string; discovery?: string; control: string };
}

export async function startRobot(options: {
  transport: TransportName;
  /** The reference when left out. */
  behaviour?: DeviceBehaviour;
  /** Nothing has ever happened on it. */
  fresh?: boolean;
}): Promise<Robot> {
  const { transport, behaviour, fresh = false } = options;
  await using starting = new AsyncDisposableStack();
  const { device, address, control } = starting.use(
    await deviceOver(transport, { heartbeatMs: HEARTBEAT_MS, seed: SEED, ...(behaviour && { behaviour }) }),
  );
  if (!fresh) {
    await device.publish(PAST_EVENTS);
    await device.compact();
    await device.deploy();
    // Only where there is an error does it show how statuses are merged.
    await device.deploy({ activity_status: 'queued', error_status: 'retrying' });
  }
  const all = starting.move();
  return { place: { ...address, control }, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

export interface Workspace extends AsyncDisposable {
  platform: SimulatedPlatform;
  /** Of the enrolled device. */
  deviceId: string;
  socket: string;
  control: string;
  /** All that the device reaches the platform by. */
  links: readonly TcpProxy[];
  create(path: string, body: object): Promise<Record<string, string>>;
}

/** Resolves once the device is online. Either side is the reference when no behaviour is given. */
export async function startWorkspace(behaviour: {
  platform?: PlatformBehaviour;
  device?: DeviceBehaviour;
  habits?: AgentHabits;
}): Promise<Workspace> {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(scratch());
  const platform = starting.use(
    await simulatePlatform({
      seed: SEED,
      devices: DEVICES,
      minKeyBits: KEY_BITS,
      keys: [
        { key: KEY, name: 'full', scopes: 'all' },
        { key: LIMITED_KEY, name: 'limited', scopes: ['releases:read'] },
      ],
      ...(behaviour.platform && { behaviour: behaviour.platform }),
    }),
  );
  const headers = { 'x-api-key': KEY, 'service-version': NEWEST_VERSION, 'content-type': 'application/json' };
  const create: Workspace['create'] = async (to, body) => {
    const response = await fetch(platform.url + to, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, string>;
  };
  const agentLink = starting.use(await TcpProxy.to(platform.agentUrl));
  const mqttLink = starting.use(await TcpProxy.to(platform.mqttUrl ?? ''));
  const socket = join(path, 'robot.sock');
  const control = join(path, 'control.sock');
  const token = async () => (await create('/provisioning_tokens', {}))['token'] ?? '';
  const { deviceId } = starting.use(
    await enrolDevice(
      path,
      { platform: agentLink.url, mqtt: mqttLink.url, token, ...(behaviour.habits && { habits: behaviour.habits }) },
      { socket, control: { path: control }, seed: SEED, ...(behaviour.device && { behaviour: behaviour.device }) },
    ),
  );
  const all = starting.move();
  const links = [agentLink, mqttLink];
  return { platform, deviceId, socket, control, links, create, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
