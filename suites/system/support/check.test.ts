import { mkdirSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { poll } from '../../../harness/common/waiting.ts';
import { Blocked, Violation } from '../../../harness/runner/violation.ts';
import { hostFiles } from '../../../harness/targets/files/target-files.ts';
import { temporaryFolder } from '../../../harness/targets/testing/places.ts';
import { platformThat, tools } from '../../platform/testing/platform.ts';
import {
  EventFollower,
  mustHaveConfigFiles,
  type RollOut,
  readDeployment,
  type System,
  whileOffline,
} from './check.ts';

const folder = temporaryFolder();

const violation = new Violation({ expected: 'queued', actual: 'deployed' });

function systemThat(online: () => Promise<void>) {
  const calls: string[] = [];
  const t = {
    offline: async () => void calls.push('offline'),
    online: () => {
      calls.push('online');
      return online();
    },
  } as unknown as System;
  return { t, calls };
}
const refusing = () => Promise.reject(new Blocked('control refused'));

describe('after a check of an offline device', () => {
  it('the device is reconnected, even if the check failed', async () => {
    const { t, calls } = systemThat(async () => {});
    await whileOffline(t, async () => void calls.push('check'));
    await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
    expect(calls).toEqual(['offline', 'check', 'online', 'offline', 'online']);
  });

  it('a refusing control keeps a violation, and blocks a check without one', async () => {
    const { t } = systemThat(refusing);
    await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
    await expect(whileOffline(t, async () => {})).rejects.toThrow('control refused');
  });
});

async function systemServing(answer: (url: string, response: ServerResponse) => void) {
  const { t, asked } = await platformThat(({ url = '' }, response) => answer(url, response));
  const device = { http: t.http, patienceMs: 10_000 };
  return { asked, t: { ...t, online: async () => {}, device, platform: { patienceMs: 10_000 } } as unknown as System };
}
const opens = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const told = (id: number, deploymentId: string): string =>
  `data: {"id":${id},"type":"deployment.deployed","data":{"deployment_id":"${deploymentId}"}}\n\n`;

it('an event that a stream repeats is counted once', async () => {
  const { t } = await systemServing((_, response) =>
    opens(response).write(told(1, 'dpl_1').repeat(2) + told(2, 'dpl_2')),
  );
  await using events = await EventFollower.open(t);
  await events.until('deployment.deployed', 'dpl_2');
  expect(events.count('deployment.deployed', 'dpl_1')).toBe(1);
});

it('a device that goes on refusing its stream blocks the check', async () => {
  const { t, asked } = await systemServing((_, response) =>
    asked.length === 1 ? opens(response).end() : response.writeHead(503).end(),
  );
  await using events = await EventFollower.open(t);
  await poll('a refusal to be read', () => asked.length >= 3 || undefined, { timeoutMs: 30_000 });
  for (const side of [t.device, t.platform]) Object.assign(side, { patienceMs: 1 });
  await expect(events.until('deployment.deployed', 'dpl_1')).rejects.toThrow('the device answered 503 to GET /events');
});

it('a config file counts wherever it lies below the config root', async () => {
  const at = join(folder, 'releases/7/srv');
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'x.json'), '{ "a": 1 }');
  const rolledOut = { fixture: { files: [{ filepath: '/srv/x.json', content: '{"a":1}' }] } } as unknown as RollOut;
  const device = { info: { config_root: folder }, files: hostFiles };
  await expect(mustHaveConfigFiles({ ...tools(), device } as unknown as System, rolledOut)).resolves.toBeUndefined();
});

it('a missing config file blocks the check if its root is missing, too', async () => {
  const rolledOut = { fixture: { files: [{ filepath: '/a.json', content: '{}' }] } } as unknown as RollOut;
  const lookBelow = (config_root: string) => {
    const device = { info: { config_root }, files: hostFiles };
    return mustHaveConfigFiles({ ...tools(), device } as unknown as System, rolledOut);
  };
  await expect(lookBelow(folder)).rejects.toThrow('actual: /a.json is not there');
  const nothing = 'control names /nonexistent/root as its config_root, and nothing is there';
  await expect(lookBelow('/nonexistent/root')).rejects.toThrow(nothing);
});

it('a deployment is on its device only with each of its files', async () => {
  const files = ['/a.json', '/b.json'].map((filepath) => ({ filepath, content: '{}' }));
  const read = async (path: string) => (path.endsWith('/a.json') ? Buffer.from('{}') : undefined);
  const device = { info: { config_root: folder }, files: { ...hostFiles, read } };
  const looking = mustHaveConfigFiles(
    { ...tools(), device } as unknown as System,
    { fixture: { files } } as unknown as RollOut,
  );
  await expect(looking).rejects.toThrow('actual: /b.json is not there');
});

it.each([
  ['none', 'retrying', 'deployed'],
  ['retrying', 'deployed', 'deployed'],
])('a deployment with error %s and status %s breaks the merge rule', async (error_status, status, activity_status) => {
  const { t } = await systemServing((url, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: url.split('/').at(-1), error_status, status, activity_status }));
  });
  const platform = { ...t.platform, http: t.device.http };
  await expect(readDeployment({ ...t, platform } as System, { id: 'dpl_1' })).rejects.toThrow('in dpl_1');
});
