/** The polling uplink against Muster's own platform, over real sockets, with keys that may do no more than they must. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../common/testing/eventually.ts';
import { startPlatform, type TestPlatform } from '../../platform/testing/client.ts';
import { createKit, deploy, unique } from '../../platform/testing/kit.ts';
import { robot as startRobot } from '../testing/robot.ts';
import { createUplink } from './index.ts';

/** What the documentation of the uplink asks for. */
const NEEDED = ['deployments:read', 'config_instances:read', 'devices:read', 'devices:write'];
const LIMITED = 'key-of-the-robots';

let stack: AsyncDisposableStack;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

const platformFor = async (scopes: string[]): Promise<TestPlatform> =>
  stack.use(
    await startPlatform({
      mqtt: false,
      keys: [
        { key: 'owner', scopes: 'all' },
        { key: LIMITED, scopes },
      ],
    }),
  );

const robotOf = async (platform: TestPlatform, apiKey = LIMITED) => {
  const uplink = createUplink({ kind: 'polling', platform: platform.url, apiKey, intervalMs: 50 });
  return stack.use(await startRobot({ name: unique('polling'), uplink }));
};

describe('a polling uplink with the scopes that it needs', () => {
  it('enrols, and applies a deployment and its replacement', async () => {
    const platform = await platformFor(NEEDED);
    const kit = await createKit(platform);
    const robot = await robotOf(platform);
    await robot.device.uplink?.start();
    const stream = await robot.listen();
    const seen = (type: string): string[] =>
      stream.events
        .filter((event) => event.type === type)
        .map(({ envelope }) => (envelope.data as { deployment_id: string }).deployment_id);

    const id = robot.device.uplink?.deviceId ?? '';
    const first = await deploy(platform, kit, id);
    await eventually(() => expect(seen('deployment.deployed')).toEqual([first]));
    const slots = (await platform.get(`/config_schemas/${kit.schema}`)).body['instance_slots'];
    const [{ filepath }] = slots as [{ filepath: string }];
    expect(readFileSync(join(robot.dir, 'root', filepath), 'utf8')).toBe('{"speed":1}');

    const second = await deploy(platform, kit, id);
    await eventually(() => expect(seen('deployment.deployed')).toEqual([first, second]));
    expect(seen('deployment.removed')).toEqual([first]);
    expect((await robot.ask('/deployments/current')).json).toMatchObject({ id: second, status: 'deployed' });
  });
});

describe('a platform that refuses', () => {
  it.each([
    ['deployments:read', 'GET /deployments'],
    ['devices:read', 'GET /devices'],
    ['devices:write', 'POST /devices'],
  ])('a key without %s: start says which request', async (missing, request) => {
    const robot = await robotOf(await platformFor(NEEDED.filter((scope) => scope !== missing)));
    const failure = await robot.device.uplink?.start().catch((error: Error) => error);
    expect(String(failure)).toMatch(/HTTP 403 /);
    expect(String(failure)).toContain(`(${request})`);
    expect(String(failure)).not.toContain(LIMITED);
    expect(robot.device.uplink?.status).not.toBe('online');
  });

  it('a key that it does not know', async () => {
    const robot = await robotOf(await platformFor(NEEDED), 'another key');
    await expect(robot.device.uplink?.start()).rejects.toThrow(/HTTP 401 .*\(GET \/devices\)/);
  });
});
