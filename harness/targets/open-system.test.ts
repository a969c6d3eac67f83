import { expect, test } from 'vitest';
import { Recorder } from '../client/recorder.ts';
import { fakeControl } from './control/testing/fakes.ts';
import { openSystemTarget, type SystemParts } from './open-system.ts';

function system(deviceCan: string[], more: Partial<SystemParts> = {}) {
  const done: string[] = [];
  const note = (what: string) => () => void done.push(what);
  const side = (name: string, can: string[], context: object) => ({
    description: { kind: name, address: `${name}.sock`, capabilities: can, api_version: `v of ${name}`, name },
    capabilities: new Set(can),
    unreachable: undefined as string | undefined,
    conclude: () => void Object.assign(device.description, { digest: 'd', digest_of: 'executable' }),
    diagnostics: async () => `stderr of ${name}`,
    context: (...given: unknown[]) => ({ given, ...context }),
  });
  const { control, calls } = fakeControl({ stop: note('stop'), start: note('start') });
  const prepare = async (...of: string[]) => note(`prepare ${of}`)();
  const context = { control, capabilities: new Set(deviceCan), prepare };
  const device = side('device', deviceCan, context);
  const platform = side('platform', ['limited-key'], {});
  const links = [1, 2].map((n) => ({ cut: note(`cut ${n}`), restore: note(`restore ${n}`) }));
  const parts = { device, platform, deviceId: 'dvc_1', links, close: async () => note('close')(), ...more };
  const given = [new Recorder(), AbortSignal.abort()] as const;
  const target = openSystemTarget(parts as never);
  return { target, device, platform, done, calls, given, parts, context: target.context(...given) };
}

test('a system target describes the device in its platform, with capabilities of both', async () => {
  const { target, context, given, done } = system(['drive', 'restart']);
  const capabilities = ['drive', 'restart', 'limited-key'];
  const description = { kind: 'system', name: 'device', capabilities, api_version: 'v of platform' };
  expect(target.description).toEqual({ ...description, address: 'device.sock in platform.sock' });
  expect([...target.capabilities]).toEqual(capabilities);
  expect(await target.diagnostics()).toBe('stderr of device');
  target.conclude();
  expect(target.description).toMatchObject({ digest: 'd', digest_of: 'executable' });
  expect(context).toMatchObject({ deviceId: 'dvc_1', device: { given }, platform: { given } });
  await target[Symbol.asyncDispose]();
  expect(done).toEqual(['close']);
});

test.each([
  [{ device: 'no device', platform: 'no platform' }, 'no device'],
  [{ device: undefined, platform: 'no platform' }, 'no platform'],
])('a system target with %j is unreachable for the first reason', (why, expected) => {
  const { parts, device, platform } = system([]);
  device.unreachable = why.device;
  platform.unreachable = why.platform;
  const target = openSystemTarget({ ...parts, deviceId: undefined, platformName: 'its platform' } as never);
  expect([target.unreachable, target.description.address]).toEqual([expected, 'device.sock in its platform']);
  expect(target.context(new Recorder(), AbortSignal.abort()).deviceId).toBe('');
});

test.each([
  ['cut', {}, ['cut 1', 'cut 2', 'restore 1', 'restore 2', 'restore 1', 'restore 2', 'prepare r,id']],
  ['stopped where nothing can be cut', { links: undefined }, ['stop', 'start', 'prepare r,id']],
])('the agent is %s to go offline, and back before the next check', async (_, more, expected) => {
  const { context, done, calls } = system(['restart'], more);
  await context.offline();
  await context.online();
  await context.prepare?.('r' as never, 'id');
  expect(done).toEqual(expected);
  expect(calls).toEqual(expected[0] === 'stop' ? [{ name: 'stop', signal: 'SIGTERM' }, { name: 'start' }] : []);
});

test('an agent that a check left stopped is started by the next check, once', async () => {
  const { context, target, given, done } = system(['restart'], { links: undefined });
  await context.offline();
  const next = target.context(...given);
  await next.online();
  await next.online();
  expect(done).toEqual(['stop', 'start']);
});

test('an agent that can neither be cut off nor stopped stays online, and is not started', async () => {
  const { context, calls } = system(['drive'], { links: undefined });
  await expect(context.offline()).rejects.toThrow("in a platform that isn't Muster's needs --control with restart");
  await context.online();
  expect(calls).toEqual([]);
});

test.each([
  ['the same', undefined, 'error'],
  ['what the device knows', (error: unknown) => `${error} of the device`, 'error of the device'],
])('a system target reconsiders an error as %s', async (_, reconsider, expected) => {
  const { context } = system([]);
  Object.assign(context.device, { reconsider });
  expect(await context.reconsider?.('error')).toBe(expected);
});
