/** A new deployment for the device under test, and how each of the two sides shows it. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { eventually, type System } from './check.ts';
import {
  actOn,
  createdItem,
  createReleaseFixture,
  type Item,
  ok,
  platformSide,
  type ReleaseFixture,
  type ReleaseOptions,
  readItem,
  summary,
  tryDeployment,
} from './platform-side.ts';

/** A deployment that is the target of the device, and what it was made of. */
export interface RollOut {
  id: string;
  deployment: Item;
  fixture: ReleaseFixture;
}

/** Creates a deployment and makes it the target of the device. Blocks the check if the platform refuses. */
export async function rollOut(t: System, options: ReleaseOptions = {}): Promise<RollOut> {
  const platform = platformSide(t);
  const fixture = await createReleaseFixture(platform, options);
  const { deployment, answers } = await tryDeployment(platform, [fixture], t.deviceId);
  if (deployment === undefined) return t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
  const { id } = deployment;
  if (deployment['target_status'] === 'deployed') return { id, deployment, fixture };
  const response = await actOn(platform, id, 'deploy');
  if (!ok(response)) t.blocked(`set-up: POST /deployments/${id}/deploy answered ${summary(response)}`);
  return { id, deployment: createdItem(response) ?? deployment, fixture };
}

/** Waits until the platform shows the deployment with that activity. */
export function untilActivity(t: System, id: string, activity: string): Promise<Item> {
  return eventually(t, `${id} to be ${activity} on the platform`, async () => {
    const item = await readItem(platformSide(t), 'deployments', id);
    return item['activity_status'] === activity ? { found: item } : { seen: statuses(item) };
  });
}

/** Waits until the device shows the deployment as its current one, and deployed. */
export function untilCurrent(t: System, id: string): Promise<Item> {
  return eventually(t, `${id} to be the current deployment on the device, and deployed`, async () => {
    const response = await t.device.http.get('/deployments/current');
    const item = (response.json ?? {}) as Item;
    return item.id === id && item['activity_status'] === 'deployed' ? { found: item } : { seen: summary(response) };
  });
}

/** The four statuses of a deployment, for a finding. */
export const statuses = (item: Item): string =>
  `status ${item['status']}, activity ${item['activity_status']}, error ${item['error_status']}, target ${item['target_status']}`;

/** Whether the files of the device can be read. */
export const canReadFiles = (t: System): boolean =>
  t.device.capabilities.has('files') && t.device.info.config_root !== undefined;

/** The config file on the device; `undefined` if it is not there. Blocks the check if files cannot be read. */
export async function readConfigFile(t: System, { fixture }: RollOut): Promise<string | undefined> {
  const root = t.device.info.config_root;
  if (root === undefined || !canReadFiles(t)) t.blocked('the control API names no config_root');
  return (await t.device.files.read(join(root, fixture.filepath)))?.toString('utf8');
}

/** The file holds the same JSON as the config instance; the specification does not say how it is laid out. */
export async function mustHaveConfigFile(t: System, rolledOut: RollOut): Promise<void> {
  const { filepath, content } = rolledOut.fixture;
  const file = await readConfigFile(t, rolledOut);
  t.must(isDeepStrictEqual(parse(file), parse(content)), {
    expected: `${filepath} on the device with the content of the config instance: ${content}`,
    actual: file ?? 'no such file',
  });
}

function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
