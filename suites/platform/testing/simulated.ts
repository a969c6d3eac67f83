/** A simulated platform with everything that the suite needs: data, keys, a device that is online and one that never was. For tests. */
import { versionNamed } from '../../../harness/contract/versions.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { type PlatformBehaviour, referenceBehaviour, simulatePlatform } from '../../../simulators/platform/index.ts';
import { enrolDevice, KEY_BITS } from '../../../simulators/platform/testing/pair.ts';
import type { TestTarget } from './run.ts';

const KEY = 'key_full_0123456789abcdefghij';
const LIMITED = 'key_limited_0123456789abcdef';

/** Headers of requests that a test itself sends. */
export const HEADERS = {
  'x-api-key': KEY,
  'service-version': versionNamed('everglades'),
  'content-type': 'application/json',
};

export const post = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) });

export interface SimulatedTarget extends AsyncDisposable {
  target: TestTarget;
}

/** Resolves when the device is online. The limited key may only read releases. */
export async function simulated(behaviour: PlatformBehaviour = referenceBehaviour): Promise<SimulatedTarget> {
  await using making = new AsyncDisposableStack();
  const directory = making.use(scratch()).path;
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
  const created = async <T>(path: string, body: object): Promise<T> =>
    (await (await post(`${platform.url}${path}`, body)).json()) as T;
  const token = async () => (await created<{ token: string }>('/provisioning_tokens', {})).token;
  const device = making.use(
    await enrolDevice(directory, { platform: platform.agentUrl, mqtt: platform.mqttUrl, token }, { seed: 1 }),
  );
  const { id: offlineDevice } = await created<{ id: string }>('/devices', { name: 'never-online' });
  const all = making.move();
  return {
    target: { url: platform.url, apiKey: KEY, limitedKey: LIMITED, onlineDevice: device.deviceId, offlineDevice },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
