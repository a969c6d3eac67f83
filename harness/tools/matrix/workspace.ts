/** A simulated platform with a seeded workspace, and a simulated device enrolled in it. */
import { join } from 'node:path';
import { type DeviceBehaviour, simulateDevice } from '../../../simulators/device/index.ts';
import { createUplink } from '../../../simulators/device/uplink/index.ts';
import {
  type PlatformBehaviour,
  type SimulatedPlatform,
  simulatePlatform,
} from '../../../simulators/platform/index.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { TcpProxy } from '../../targets/control/tcp-proxy.ts';
import { scratch } from './scratch.ts';

export const KEY = 'key_full_0123456789abcdefghij';
/** May read releases and nothing else. */
export const LIMITED_KEY = 'key_limited_0123456789abcdef';
const KEY_BITS = 1024;
const SEED = 11;
const DEVICES = 24;

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

/** Resolves once the device is online. Either side is right when no behaviour is given. */
export async function startWorkspace(behaviour: {
  platform?: PlatformBehaviour;
  device?: DeviceBehaviour;
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
      ...(behaviour.platform === undefined ? {} : { behaviour: behaviour.platform }),
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
  const device = starting.use(
    await simulateDevice({
      dir: join(path, 'robot'),
      socket,
      control: { path: control },
      seed: SEED,
      uplink: createUplink({
        kind: 'agent',
        platform: agentLink.url,
        mqtt: mqttLink.url,
        keyBits: KEY_BITS,
        token: async () => (await create('/provisioning_tokens', {}))['token'] ?? '',
      }),
      ...(behaviour.device === undefined ? {} : { behaviour: behaviour.device }),
    }),
  );
  await device.uplink?.start();
  const deviceId = device.uplink?.deviceId;
  if (deviceId === undefined) throw new Error('the device did not enrol');
  const all = starting.move();
  const links = [agentLink, mqttLink];
  return { platform, deviceId, socket, control, links, create, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
