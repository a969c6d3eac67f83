/** Starts robots for the tests of a user's platform, or a platform for the tests of a user's agent. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { agentDefects, agentVariants } from '../../../simulators/defects/agents.ts';
import { platformVariants, systemDefects } from '../../../simulators/defects/platform/index.ts';
import { dialectBehaviour } from '../../../simulators/device/dialect.ts';
import { type AgentHabits, createUplink } from '../../../simulators/device/uplink/index.ts';
import { type PlatformBehaviour, referenceBehaviour } from '../../../simulators/platform/index.ts';
import { defined } from '../../common/defined.ts';
import { readableDuration } from '../../common/units.ts';
import { quote } from '../../common/usage.ts';
import { CLIENT_VARIABLES } from '../../contract/client.ts';
import type { Dialect } from '../../contract/versions.ts';
import { CannotStart, type Server } from '../../mutate/plan.ts';
import { PlatformClient } from '../../targets/control/platform-control.ts';
import { platformHttp } from '../records.ts';
import { type DeviceSetting, openDevice } from './device.ts';
import { headersOf, openPlatform, serverOf } from './platform.ts';
import { deviatingServers, type Requirements, VARIABLES } from './subjects.ts';

export interface OwnPlatform {
  readonly url: string;
  readonly apiKey: string;
  readonly version: string;
  readonly agentUrl: string;
  readonly mqtt: string | undefined;
}

/** Milliseconds for a robot to come online; usually two seconds suffice. */
const START_LIMIT_MS = 30_000;

/** Enrols a new robot for each run of the tests; it stays in the platform, offline. */
export function agentSubjects(platform: OwnPlatform, setting: DeviceSetting, requirements: Requirements) {
  // `muster mutate` repeats the run, because `muster simulate device` lacks these defects.
  const byHand = `muster mutate system --api agent --url ${quote(platform.url)} --jobs 1 --command LINE --only`;
  return {
    secrets: [platform.apiKey],
    ...deviatingServers<AgentHabits>({
      all: [...agentDefects, ...agentVariants],
      requirements,
      reference: {},
      byHand: (_, name) => `${byHand} ${name}`,
      start: (habits, signal) => startRobot(platform, setting, habits, signal),
    }),
  };
}

async function startRobot(
  { url, apiKey, version, agentUrl, mqtt }: OwnPlatform,
  setting: DeviceSetting,
  habits: AgentHabits,
  signal: AbortSignal,
): Promise<Server> {
  await using starting = new AsyncDisposableStack();
  const { dialect } = setting;
  const http = platformHttp({ url, apiKey, dialect, version });
  starting.defer(() => http.close());
  const token = () => new PlatformClient(http).provisioningToken();
  const uplink = createUplink({ kind: 'agent', platform: agentUrl, token, habits, dialect, ...defined({ mqtt }) });
  // A new seed makes a new robot, because the platform may know the old one.
  const anew = { ...setting, seed: randomUUID() };
  const { device, server } = await openDevice(anew, { behaviour: dialectBehaviour(dialect), uplink });
  starting.use(server);
  try {
    await inTime(device.uplink?.start(), signal);
  } catch (error) {
    // Closes the HTTP client before the uplink, which may wait for an answer that never comes.
    await http.close();
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    throw new CannotStart(`a robot cannot enrol in the platform ${url}: ${why}`, { cause: error });
  }
  const deviceId = device.uplink?.deviceId;
  if (deviceId === undefined) throw new Error('the robot did not enrol');
  const all = starting.move();
  return {
    env: {
      ...server.env,
      [VARIABLES.url]: url,
      [CLIENT_VARIABLES.platformUrl]: url,
      [CLIENT_VARIABLES.platformKey]: apiKey,
      [CLIENT_VARIABLES.platformVersion]: version,
      [CLIENT_VARIABLES.device]: deviceId,
    },
    secrets: [...server.secrets, apiKey],
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function inTime(work: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const limit = AbortSignal.timeout(START_LIMIT_MS);
  const over = once(AbortSignal.any([signal, limit]), 'abort').then(() => {
    throw limit.aborted ? new Error(`it was not online within ${readableDuration(START_LIMIT_MS)}`) : signal.reason;
  });
  await Promise.race([work, over]);
}

export function platformForAgentSubjects(setting: { dialect: Dialect; seed: number }, requirements: Requirements) {
  const { dialect } = setting;
  const words = dialect === 'spec' ? '' : ` --dialect ${dialect}`;
  return deviatingServers<PlatformBehaviour>({
    all: [...systemDefects, ...platformVariants],
    requirements,
    reference: referenceBehaviour,
    byHand: (kind, name) =>
      `muster simulate platform --port 8080 --mqtt-port 1883 --api-key dev${words} --${kind} ${name}`,
    async start(behaviour) {
      await using starting = new AsyncDisposableStack();
      const platform = starting.use(await openPlatform(setting, behaviour));
      const headers = { ...headersOf(dialect), 'content-type': 'application/json' };
      const answer = await fetch(`${platform.url}/provisioning_tokens`, { method: 'POST', headers, body: '{}' });
      const { token = '' } = (await answer.json()) as { token?: string };
      starting.move();
      return serverOf(platform, { [CLIENT_VARIABLES.platformUrl]: platform.agentUrl, [VARIABLES.token]: token });
    },
  });
}
