import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Recorder } from '../../../harness/client/recorder.ts';
import { Redactor } from '../../../harness/common/redact.ts';
import { served } from '../../../harness/common/testing/servers.ts';
import { poll } from '../../../harness/common/waiting.ts';
import { Blocked, Violation } from '../../../harness/runner/violation.ts';
import { hostFiles } from '../../../harness/targets/files/target-files.ts';
import { temporaryFolder } from '../../../harness/targets/testing/places.ts';
import { loopback } from '../../../harness/targets/transports/index.ts';
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

it('after a check of an offline device, the device is reconnected, even if the check failed', async () => {
  const { t, calls } = systemThat(async () => {});
  await whileOffline(t, async () => void calls.push('check'));
  await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
  expect(calls).toEqual(['offline', 'check', 'online', 'offline', 'online']);
});

it('a control that refuses to reconnect a device keeps a violation, and blocks a check without one', async () => {
  const { t } = systemThat(() => Promise.reject(new Blocked('control refused')));
  await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
  await expect(whileOffline(t, async () => {})).rejects.toThrow('control refused');
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

it('a device is followed to the port that its discovery file names after a restart', async () => {
  const address = join(folder, 'discovery.json');
  const serves = async (id: number): Promise<void> => {
    const { port } = await served(createServer((_, response) => opens(response).end(told(id, `dpl_${id}`))));
    writeFileSync(address, JSON.stringify({ port, token: `token-of-start-${id}` }));
  };
  await serves(1);
  const redactor = new Redactor();
  const http = loopback.open({ address, fields: {}, redactor }).client(new Recorder(redactor));
  const t = { ...tools(), online: async () => {}, device: { http, patienceMs: 10_000 }, platform: { patienceMs: 0 } };
  await using events = await EventFollower.open(t as unknown as System);
  await events.until('deployment.deployed', 'dpl_1');
  await serves(2);
  expect(await events.until('deployment.deployed', 'dpl_2')).toMatchObject({ id: 2 });
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

/** `files`: contents by path. */
function lookFor(files: Record<string, string>, { config_root = folder, read = hostFiles.read } = {}): Promise<void> {
  const device = { info: { config_root }, files: { ...hostFiles, read } };
  const fixture = { files: Object.entries(files).map(([filepath, content]) => ({ filepath, content })) };
  return mustHaveConfigFiles({ ...tools(), device } as unknown as System, { fixture } as unknown as RollOut);
}

it('a config file counts wherever it lies below the config root', async () => {
  const at = join(folder, 'releases/7/srv');
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'x.json'), '{ "a": 1 }');
  await expect(lookFor({ '/srv/x.json': '{"a":1}' })).resolves.toBeUndefined();
});

it('a missing config file blocks the check if its root is missing, too', async () => {
  await expect(lookFor({ '/a.json': '{}' })).rejects.toThrow('actual: /a.json is not there');
  const nothing = 'control names /nonexistent/root as its config_root, and nothing is there';
  await expect(lookFor({ '/a.json': '{}' }, { config_root: '/nonexistent/root' })).rejects.toThrow(nothing);
});

it('a deployment is on its device only with each of its files', async () => {
  const read = async (path: string) => (path.endsWith('/a.json') ? Buffer.from('{}') : undefined);
  await expect(lookFor({ '/a.json': '{}', '/b.json': '{}' }, { read })).rejects.toThrow('actual: /b.json is not there');
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
