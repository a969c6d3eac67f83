import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Recorder } from '../../client/recorder.ts';
import { Redactor } from '../../common/redact.ts';
import { poll } from '../../common/waiting.ts';
import type { ClientStart } from '../opened.ts';
import { openClientTarget } from './open-client.ts';

const IMAGE = 'robot/client:1';
const asked: string[] = [];
const created: object[] = [];
const USUAL = {
  host: '127.0.0.1',
  pull: async () => {},
  reaper: async () => ({ sessionId: 's1' }),
  create: async () => {},
  begin: async () => {},
  endless: false,
};
let docker = USUAL;
beforeEach(() => {
  docker = { ...USUAL };
  asked.length = 0;
  created.length = 0;
});

async function createContainer(options: object) {
  created.push(options);
  await docker.create();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const output = new PassThrough();
  const sinks: Writable[] = [];
  const ask =
    (what: string, then = () => {}) =>
    async (...given: object[]) => {
      asked.push(`${what} ${given.map((one) => JSON.stringify(one)).join('')}`.trim());
      if (what === 'start') await docker.begin();
      then();
    };
  return {
    attach: async () => output,
    modem: { demuxStream: (_: unknown, ...both: Writable[]) => void sinks.push(...both) },
    start: ask('start', () => {
      for (const piece of ['{"jobs":', '["list"]}\nla', 'st']) sinks[0]?.write(piece);
      sinks[1]?.write('oh\n');
      if (!docker.endless) end();
    }),
    wait: async () => {
      await over;
      output.destroy();
      return { StatusCode: 7 };
    },
    remove: ask('remove', end),
  };
}

vi.doMock('testcontainers', () => ({
  LABEL_TESTCONTAINERS_SESSION_ID: 'session',
  ImageName: { fromString: (name: string) => name },
  getReaper: () => docker.reaper(),
  getContainerRuntimeClient: async () => ({
    info: { containerRuntime: { host: docker.host } },
    image: {
      pull: () => docker.pull(),
      inspect: async (name: string) => ({ Id: `sha256:${name}`, RepoDigests: [`${name}@sha256:d`] }),
    },
    container: { dockerode: { createContainer } },
  }),
}));
afterAll(() => void vi.doUnmock('testcontainers'));

const listener = (lines: string[]) => ({
  line: (text: string) => void lines.push(text),
  complaint: (text: string) => void lines.push(`stderr: ${text}`),
});

async function open(more: object = {}) {
  const target = await openClientTarget({ image: IMAGE, redactor: new Redactor(), env: { no_proxy: 'here' }, ...more });
  onTestFinished(() => target[Symbol.asyncDispose]());
  const { start } = target.context(new Recorder(), AbortSignal.abort());
  const run = (situation: ClientStart) => {
    const lines: string[] = [];
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    return { lines, ended, ...{ run: start(situation, { ...listener(lines), ended: resolve }) } };
  };
  return { target, run };
}

const local = ['NO_PROXY=here,127.0.0.1,localhost', 'no_proxy=here,127.0.0.1,localhost'];
const usual = { Image: `sha256:${IMAGE}`, Labels: { session: 's1' }, AttachStdout: true, AttachStderr: true };
const host = { NetworkMode: 'host', LogConfig: { Type: 'none', Config: {} } };

test('a client in a container describes itself, and gets the folder of its situation', async () => {
  const { target, run } = await open();
  expect([...target.capabilities, target.unreachable]).toEqual(['list', undefined]);
  const measured = { digest: 'sha256:d', digest_of: 'image' };
  expect(target.description).toMatchObject({ kind: 'image', address: IMAGE, ...measured });

  const folder = mkdtempSync(join(tmpdir(), 'muster-image-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const first = run({ variables: { SOCKET: `${folder}/a.sock`, OTHER: `${folder}-b` }, folder });
  await first.ended;
  expect(first.lines).toEqual(['{"jobs":["list"]}', 'stderr: oh', 'last']);
  expect(first.run).toMatchObject({ how: 'ended with exit code 7; the last lines that it wrote:\noh', code: 7 });
  expect([first.run.diagnostics, await target.diagnostics()]).toEqual(['oh\n', 'oh\n']);
  expect(statSync(folder).mode & 0o777).toBe(0o755);
  expect(created).toEqual([
    { ...usual, Env: [...local, 'MUSTER_JOB=describe'], HostConfig: host },
    {
      ...usual,
      Env: [...local, 'SOCKET=/run/muster/a.sock', `OTHER=${folder}-b`],
      HostConfig: { ...host, Mounts: [{ Type: 'bind', Source: folder, Target: '/run/muster' }] },
    },
  ]);
  await first.run.stop();
  expect(asked).toEqual(['start', 'remove {"force":true,"v":true}', 'start', 'remove {"force":true,"v":true}']);
});

test('a stopped client is removed once, and counts as not ended by itself', async () => {
  const { run } = await open({ capability: ['list'] });
  docker.endless = true;
  const { run: endless, ended } = run({ variables: {} });
  await poll('its output', () => endless.diagnostics || undefined, { timeoutMs: 30_000, firstPauseMs: 1 });
  expect([endless.how, endless.code]).toEqual([undefined, undefined]);
  await Promise.all([endless.stop(), endless.stop(), ended]);
  expect([asked.length, endless.how]).toEqual([2, undefined]);
});

test('a client stopped while Docker starts it is removed once after its start', async () => {
  const { run } = await open({ capability: ['list'] });
  const begun = Promise.withResolvers<void>();
  docker.begin = () => begun.promise;
  const { run: early, ended } = run({ variables: {} });
  await poll('its start', () => asked.length > 0 || undefined, { timeoutMs: 30_000, firstPauseMs: 1 });
  const stopped = early.stop();
  await new Promise(setImmediate);
  expect(asked).toEqual(['start']);
  begun.resolve();
  await Promise.all([stopped, ended]);
  expect(asked).toHaveLength(2);
});

const fails = (why: string) => () => Promise.reject(new Error(why));
test.each<[string, Partial<typeof USUAL>, string]>([
  ['runs elsewhere', { host: '203.0.113.1' }, 'Docker runs on 203.0.113.1, and a client is served on loopback'],
  ['has no image', { pull: fails('no such') }, 'client:1: not on this machine, and it cannot be fetched (no such)'],
  ['makes no container', { create: fails('no space') }, 'in one line: could not be started (no space)'],
])('a Docker that %s is reported', async (_, change, words) => {
  Object.assign(docker, change);
  const { target, run } = await open();
  expect(target.unreachable).toContain(words);
  if (change.create === undefined) expect(() => run({ variables: {} })).toThrow(words);
});

test('an image target works without the reaper, and ends with its signal', async () => {
  docker.reaper = fails('not here');
  const said: string[] = [];
  const over = new AbortController();
  const { target } = await open({ notify: (text: string) => void said.push(text), signal: over.signal });
  expect(target.unreachable).toBeUndefined();
  expect(created).toMatchObject([{ Labels: {} }]);
  expect(said.filter((text) => text.includes('reaper'))).toHaveLength(1);
  docker.pull = () => new Promise(() => {});
  over.abort(new Error('over'));
  await expect(open({ signal: over.signal })).rejects.toThrow('over');
});
