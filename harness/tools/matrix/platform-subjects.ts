/** Subjects of the platform suite: the reference platform in every version, and the platform with every defect, and with every variant. */

import { type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import { platformDefects, platformVariants } from '../../../simulators/defects/platform/index.ts';
import { variants as slowVariants } from '../../../simulators/defects/platform/slowness.ts';
import { type PlatformBehaviour, referenceBehaviour } from '../../../simulators/platform/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { Redactor } from '../../client/redact.ts';
import { defined } from '../../common/defined.ts';
import { SUPPORTED_CODENAMES, SUPPORTED_VERSIONS, type SupportedVersion } from '../../contract/versions.ts';
import type { Report } from '../../runner/types.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import { behavioursWith, KEY, LIMITED_KEY, startWorkspace } from './simulated.ts';
import {
  bundled,
  type Narrowed,
  NULL_PATIENCE_MS,
  namesOf,
  PATIENCE_MS,
  runOn,
  type Subject,
  subjectsOf,
} from './subjects.ts';

interface Platform {
  behaviour?: PlatformBehaviour;
  apiVersion?: SupportedVersion;
}

async function runOnPlatform({ behaviour, apiVersion }: Platform, narrowed: Narrowed): Promise<Report> {
  await using workspace = await startWorkspace(defined({ platform: behaviour }));
  const { id: offlineDevice } = await workspace.create('/devices', { name: 'never-online' });
  const devices = { onlineDevice: workspace.deviceId, ...defined({ offlineDevice }) };
  const spoken = apiVersion === undefined ? {} : { apiVersion };
  return await runAt({ url: workspace.platform.url, ...devices, ...spoken }, PATIENCE_MS, narrowed);
}

async function runAt(
  place: { url: string; apiVersion?: string; onlineDevice: string; offlineDevice?: string },
  patienceMs: number,
  narrowed: Narrowed,
): Promise<Report> {
  const redactor = new Redactor();
  const keys = { apiKey: KEY, limitedKey: LIMITED_KEY };
  await using target = await openPlatformTarget({ ...place, ...keys, env: {}, redactor, patienceMs });
  // A defect may hide these from detection; the checks that need them run all the same.
  const hidden = ['write', 'seed-data', ...SUPPORTED_CODENAMES] as const;
  const capabilities = new Set([...target.capabilities, ...hidden]);
  const context: typeof target.context = (recorder, signal) => ({ ...target.context(recorder, signal), capabilities });
  const { description, unreachable } = target;
  return await runOn(platformSuite, { description, unreachable, context }, { redactor, capabilities, narrowed });
}

async function runNull(name: NullServerName, narrowed: Narrowed): Promise<Report> {
  await using server = await nullServer(name, { port: 0 });
  const devices = { onlineDevice: 'dvc_online', offlineDevice: 'dvc_offline' };
  return await runAt({ url: `${server.address}/beta`, ...devices }, NULL_PATIENCE_MS, narrowed);
}

const SLOW = namesOf(slowVariants);

export const platformSubjects = (): Subject[] =>
  subjectsOf('platform', {
    references: SUPPORTED_VERSIONS.map((apiVersion) => ({
      name: apiVersion,
      summary: 'The simulated platform.',
      run: (narrowed) => runOnPlatform({ apiVersion }, narrowed),
    })),
    defects: platformDefects.map(({ name, summary, breaks, file, behaviour }) => ({
      ...{ name, summary, breaks, file },
      run: (narrowed) => runOnPlatform({ behaviour: behaviour(referenceBehaviour) }, narrowed),
    })),
    variants: platformVariants.map((variant) => ({
      ...bundled(variant, { platform: [variant] }, (changes, narrowed) =>
        runOnPlatform({ behaviour: behavioursWith(changes).platform }, narrowed),
      ),
      slow: SLOW.has(variant.name),
    })),
    runNull,
    // An empty list is an honest answer of a platform that holds nothing.
    withoutNull: ['empty-list'],
  });
