/** Simulated platforms for the tests of a client: the faithful one, its defects and its variants. */
import { platformDefects, platformVariants } from '../../../simulators/defects/platform/index.ts';
import {
  type PlatformBehaviour,
  referenceBehaviour,
  type SimulatedPlatform,
  simulatePlatform,
} from '../../../simulators/platform/index.ts';
import { defined } from '../../common/defined.ts';
import { CLIENT_VARIABLES } from '../../contract/client.ts';
import { DIALECT_NAMES, type Dialect, NEWEST_VERSION } from '../../contract/versions.ts';
import type { Server, SubjectSource } from '../../mutate/subject.ts';
import { recordingDecisions } from './decisions.ts';
import { type Requirements, subjectsOf } from './subjects.ts';
import { VARIABLES } from './variables.ts';

export interface PlatformSetting {
  readonly dialect: Dialect;
  readonly seed: number;
  /** Text of a seed file; without one there are `devices` devices. */
  readonly seedFile: string | undefined;
  readonly devices: number;
}

/** Key with every scope, the same for each platform, so that tests see the same ids and key. */
const KEY = 'key_mutate_0123456789abcdefghij';

/** Known content: the ids are the same on every platform with that seed. */
interface KnownContent {
  deviceId?: string;
  releaseId?: string;
  /** Whether the device has to be put online. */
  offline: boolean;
}

/** Platforms that a client's tests can meet. Rejects for a seed file with a mistake. */
export async function platformSubjects(
  setting: PlatformSetting,
  requirements: Requirements,
  seedPath: string | undefined,
): Promise<SubjectSource> {
  const known = await knownContent(setting);
  const world = seedPath === undefined ? `--devices ${setting.devices}` : `--seed-file ${seedPath}`;
  const dialect = setting.dialect === 'spec' ? '' : ` --dialect ${setting.dialect}`;
  const byHand = `muster simulate platform --port 8080 --api-key dev ${world} --seed ${setting.seed}${dialect}`;
  return {
    subjects: subjectsOf<PlatformBehaviour>({
      all: [...platformDefects, ...platformVariants],
      requirements,
      reference: referenceBehaviour,
      byHand: (kind, name) => `${byHand} --${kind} ${name}`,
      start: (behaviour) => startPlatform(setting, known, behaviour),
    }),
    async faithful() {
      const taken = new Set<string>();
      const server = await startPlatform(setting, known, recordingDecisions(referenceBehaviour, taken));
      return { ...server, taken };
    },
  };
}

const open = (
  { seed, seedFile, devices, dialect }: PlatformSetting,
  behaviour: PlatformBehaviour,
): Promise<SimulatedPlatform> =>
  simulatePlatform({
    dialect,
    seed,
    behaviour,
    keys: [{ key: KEY, name: 'tests', scopes: 'all' }],
    control: { port: 0 },
    ...(seedFile === undefined ? { devices } : { seedFile }),
  });

/** Reads the content from a faithful platform, since a wrong one might hide it. */
async function knownContent(setting: PlatformSetting): Promise<KnownContent> {
  await using platform = await open(setting, referenceBehaviour);
  const list = async (path: string): Promise<{ id: string; status?: string }[]> => {
    const headers = { 'x-api-key': KEY, [DIALECT_NAMES[setting.dialect].versionHeader]: NEWEST_VERSION };
    const answer = await fetch(`${platform.url}${path}`, { headers });
    return ((await answer.json()) as { data: { id: string; status?: string }[] }).data;
  };
  const devices = await list('/devices');
  const online = devices.find(({ status }) => status === 'online');
  const device = online ?? devices.find(({ status }) => status !== 'archived');
  const [release] = await list('/releases');
  return { offline: online === undefined, ...defined({ deviceId: device?.id, releaseId: release?.id }) };
}

async function startPlatform(
  setting: PlatformSetting,
  { deviceId, releaseId, offline }: KnownContent,
  behaviour: PlatformBehaviour,
): Promise<Server> {
  const platform = await open(setting, behaviour);
  const { url, agentUrl, mqttUrl, controlUrl = '', controlToken = '' } = platform;
  const stop = () => platform.stop();
  try {
    if (offline && deviceId !== undefined)
      await fetch(`${controlUrl}/devices/${deviceId}/online`, {
        method: 'POST',
        headers: { authorization: `Bearer ${controlToken}` },
      });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    env: defined({
      [VARIABLES.url]: url,
      [CLIENT_VARIABLES.platformUrl]: url,
      [CLIENT_VARIABLES.platformKey]: KEY,
      [CLIENT_VARIABLES.platformVersion]: NEWEST_VERSION,
      [CLIENT_VARIABLES.device]: deviceId,
      [CLIENT_VARIABLES.release]: releaseId,
      [VARIABLES.controlUrl]: controlUrl,
      [VARIABLES.controlToken]: controlToken,
      [VARIABLES.agentUrl]: agentUrl,
      [VARIABLES.mqttUrl]: mqttUrl,
    }) as Record<string, string>,
    secrets: [KEY, controlToken],
    [Symbol.asyncDispose]: stop,
  };
}
