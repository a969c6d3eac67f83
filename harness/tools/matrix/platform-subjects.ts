/** The simulated platform, right in every version, wrong in every known way, differing in every legal one, each judged by the platform suite. */

import { NULL_SERVERS, type NullServerName, nullServer } from '../../../simulators/defects/null.ts';
import { platformDefects, platformVariants } from '../../../simulators/defects/platform/index.ts';
import { type PlatformBehaviour, referenceBehaviour } from '../../../simulators/platform/index.ts';
import { platformSuite } from '../../../suites/platform/index.ts';
import { Redactor } from '../../client/redact.ts';
import { SUPPORTED_CODENAMES, SUPPORTED_VERSIONS, type SupportedVersion } from '../../contract/versions.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import type { Report } from '../../runner/types.ts';
import { openPlatformTarget } from '../../targets/open-platform.ts';
import type { Subject } from './types.ts';
import { KEY, LIMITED_KEY, startWorkspace } from './workspace.ts';

const SEED = 11;
const IMPATIENT_MS = 1000;
const PATIENCE_MS = 10_000;

interface Choice {
  make?(right: PlatformBehaviour): PlatformBehaviour;
  version?: SupportedVersion;
  only?: readonly string[] | undefined;
}

async function judgePlatform({ make, version, only }: Choice): Promise<Report> {
  await using workspace = await startWorkspace(make === undefined ? {} : { platform: make(referenceBehaviour) });
  const { id: offlineDevice } = await workspace.create('/devices', { name: 'never-online' });
  return await judgeTarget(
    workspace.platform.url,
    {
      onlineDevice: workspace.deviceId,
      ...(offlineDevice === undefined ? {} : { offlineDevice }),
      ...(version === undefined ? {} : { apiVersion: version }),
    },
    PATIENCE_MS,
    only,
  );
}

async function judgeTarget(
  url: string,
  options: { apiVersion?: string; onlineDevice: string; offlineDevice?: string },
  patienceMs: number,
  only?: readonly string[],
): Promise<Report> {
  const redactor = new Redactor();
  await using target = await openPlatformTarget({
    url,
    apiKey: KEY,
    limitedKey: LIMITED_KEY,
    ...options,
    env: {},
    redactor,
    patienceMs,
  });
  // What a defect hides from probing is still there to be judged.
  const hidden = ['write', 'seed-data', ...SUPPORTED_CODENAMES] as const;
  const capabilities = new Set([...target.capabilities, ...hidden]);
  return await runSuite(platformSuite, {
    plan: makePlan(platformSuite, { capabilities, ...(only === undefined ? {} : { only }) }),
    target: target.description,
    context: (recorder, signal) => ({ ...target.context(recorder, signal), capabilities }),
    redactor,
    seed: SEED,
    version: 'matrix',
    ...(target.unreachable === undefined ? {} : { unreachable: target.unreachable }),
  });
}

async function judgeNothing(name: NullServerName): Promise<Report> {
  await using server = await nullServer(name, { port: 0 });
  const devices = { onlineDevice: 'dvc_online', offlineDevice: 'dvc_offline' };
  return await judgeTarget(`${server.address}/beta`, devices, IMPATIENT_MS);
}

/** An empty list is an honest answer of a platform that holds nothing, so what it passes says little. */
const NOTHING = (Object.keys(NULL_SERVERS) as NullServerName[]).filter((name) => name !== 'empty-list');

export function platformSubjects(): Subject[] {
  const common = { api: 'platform' as const };
  return [
    ...SUPPORTED_VERSIONS.map(
      (version): Subject => ({
        ...common,
        ...{ kind: 'right', name: version, summary: 'The simulated platform.' },
        judge: (only) => judgePlatform({ version, only }),
      }),
    ),
    ...platformDefects.map(
      ({ name, summary, breaks, file, behaviour: make }): Subject => ({
        ...common,
        ...{ kind: 'defect', name, summary, breaks, file },
        judge: (only) => judgePlatform({ make, only }),
      }),
    ),
    ...platformVariants.map(
      ({ name, summary, behaviour: make }): Subject => ({
        ...common,
        ...{ kind: 'variant', name, summary },
        judge: (only) => judgePlatform({ make, only }),
      }),
    ),
    ...NOTHING.map(
      (name): Subject => ({
        ...common,
        ...{ kind: 'null', name, summary: NULL_SERVERS[name] },
        judge: () => judgeNothing(name),
      }),
    ),
  ];
}
