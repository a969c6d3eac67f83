import { platformDefects, platformVariants } from '../../../simulators/defects/platform/index.ts';
import {
  type PlatformBehaviour,
  referenceBehaviour,
  type SimulatedPlatform,
  simulatePlatform,
} from '../../../simulators/platform/index.ts';
import { defined } from '../../common/defined.ts';
import { quote } from '../../common/usage.ts';
import { CLIENT_VARIABLES } from '../../contract/client.ts';
import { type Dialect, NAMES_BY_DIALECT, NEWEST_VERSION } from '../../contract/versions.ts';
import type { Server, SubjectSource } from '../../mutate/plan.ts';
import { deviatingServers, type Requirements, VARIABLES } from './subjects.ts';

export interface PlatformSetting {
  readonly dialect: Dialect;
  readonly seed: number;
  readonly seedFile: string | undefined;
  readonly devices: number;
}

/** Key with every scope, the same on each platform, so that tests need no other key. */
const KEY = 'key_mutate_0123456789abcdefghij';

/** Rejects if the seed file has a mistake. */
export async function platformSubjects(
  setting: PlatformSetting,
  requirements: Requirements,
  seedPath: string | undefined,
): Promise<SubjectSource> {
  const { offline, deviceId, releaseId } = await knownContent(setting);
  const world = seedPath === undefined ? `--devices ${setting.devices}` : `--seed-file ${quote(seedPath)}`;
  const dialect = setting.dialect === 'spec' ? '' : ` --dialect ${setting.dialect}`;
  const byHand = `muster simulate platform --port 8080 --api-key dev ${world} --seed ${setting.seed}${dialect}`;
  return deviatingServers<PlatformBehaviour>({
    all: [...platformDefects, ...platformVariants],
    requirements,
    reference: referenceBehaviour,
    byHand: (kind, name) => `${byHand} --${kind} ${name}`,
    async start(behaviour) {
      await using starting = new AsyncDisposableStack();
      const platform = starting.use(await openPlatform(setting, behaviour));
      const { url, agentUrl, controlUrl = '', controlToken = '' } = platform;
      if (offline && deviceId !== undefined)
        await fetch(`${controlUrl}/devices/${deviceId}/online`, {
          method: 'POST',
          headers: { authorization: `Bearer ${controlToken}` },
        });
      starting.move();
      return serverOf(platform, {
        [CLIENT_VARIABLES.platformUrl]: url,
        ...(deviceId !== undefined && { [CLIENT_VARIABLES.device]: deviceId }),
        ...(releaseId !== undefined && { [CLIENT_VARIABLES.release]: releaseId }),
        [VARIABLES.agentUrl]: agentUrl,
      });
    },
  });
}

export const openPlatform = (
  { seed, seedFile, devices, dialect }: Pick<PlatformSetting, 'seed' | 'dialect'> & Partial<PlatformSetting>,
  behaviour: PlatformBehaviour,
): Promise<SimulatedPlatform> =>
  simulatePlatform({
    dialect,
    seed,
    behaviour,
    keys: [{ key: KEY, name: 'tests', scopes: 'all' }],
    control: { port: 0 },
    ...(seedFile === undefined ? defined({ devices }) : { seedFile }),
  });

export function serverOf(platform: SimulatedPlatform, more: Readonly<Record<string, string>>): Server {
  const { url, mqttUrl = '', controlUrl = '', controlToken = '' } = platform;
  return {
    env: {
      [VARIABLES.url]: url,
      [CLIENT_VARIABLES.platformKey]: KEY,
      [CLIENT_VARIABLES.platformVersion]: NEWEST_VERSION,
      [VARIABLES.controlUrl]: controlUrl,
      [VARIABLES.controlToken]: controlToken,
      [VARIABLES.mqttUrl]: mqttUrl,
      ...more,
    },
    secrets: [KEY, controlToken, more[VARIABLES.token] ?? ''].filter((secret) => secret !== ''),
    [Symbol.asyncDispose]: () => platform.stop(),
  };
}

export const headersOf = (dialect: Dialect): Record<string, string> => ({
  'x-api-key': KEY,
  [NAMES_BY_DIALECT[dialect].versionHeader]: NEWEST_VERSION,
});

/** Reads ids from a correct platform, because a defect may hide records. */
async function knownContent(setting: PlatformSetting) {
  await using platform = await openPlatform(setting, referenceBehaviour);
  const list = async (path: string): Promise<{ id: string; status?: string }[]> => {
    const answer = await fetch(`${platform.url}${path}`, { headers: headersOf(setting.dialect) });
    return ((await answer.json()) as { data: { id: string; status?: string }[] }).data;
  };
  const devices = await list('/devices');
  const online = devices.find(({ status }) => status === 'online');
  const device = online ?? devices.find(({ status }) => status !== 'archived');
  const [release] = await list('/releases');
  return { offline: online === undefined, ...defined({ deviceId: device?.id, releaseId: release?.id }) };
}
