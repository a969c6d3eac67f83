import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { HttpClient } from '../../client/http.ts';
import { defined } from '../../common/defined.ts';
import { poll } from '../../common/waiting.ts';
import type { Deployment } from '../../contract/device-api.ts';
import { FilesUnreadable, hostFiles } from '../files/target-files.ts';
import { temporaryFolder } from '../testing/places.ts';
import { type ControlAnswer, type ControlCall, ControlError } from './control.ts';
import type { ControlledAgent } from './controlled-agent.ts';
import { Drives, findFalseClaim, wrongIds } from './drive-confirmation.ts';
import { FakeDevice, fakeControl } from './testing/fakes.ts';

const folder = temporaryFolder();
const asking =
  (http: HttpClient): ControlledAgent['ask'] =>
  (_, question) =>
    question(http);

const deployed = (id: string): Deployment => ({ id, activity_status: 'deployed' }) as Deployment;
const publish: ControlCall = { name: 'publish', count: 2 };
const deploy: ControlCall = { name: 'deploy', request: {} };
const remove: ControlCall = { name: 'remove', deploymentId: 'd1' };
const ids = (first_id: number | bigint, last_id: number | bigint) => ({ first_id, last_id });

type Shown = Partial<Pick<FakeDevice, 'current' | 'retained' | 'eventsStatus' | 'tells'>>;

interface Effect {
  answer?: ControlAnswer;
  shows?: Shown;
  sends?: string;
  afterMs?: number;
  logs?: string;
}

interface Case {
  said: readonly [ControlCall, ControlAnswer][];
  compacted?: bigint;
  shows?: Shown;
  again?: { readonly [Name in 'publish' | 'deploy']?: Effect };
  refuses?: true;
  log?: readonly string[];
  files?: Readonly<Record<string, string>>;
  losesEvents?: boolean;
  losesThen?: boolean;
  traceMs?: number;
  untrue?: readonly [string, string];
  doneAgain?: true;
  asked?: readonly string[];
}

const PUBLISHED: Case['said'] = [[publish, ids(3, 4)]];
const DEPLOYED: Case['said'] = [[deploy, deployed('d1')]];
const config_instances = [{ filepath: '/etc/a.json', content: '{"a":1}' }];
const DEPLOYED_FILE: Case['said'] = [[{ name: 'deploy', request: { config_instances } }, deployed('d1')]];
const REMOVED: Case['said'] = [[remove, deployed('d1')]];
const ARCHIVED = { id: 'd1', activity_status: 'archived' };
const LIES = { publish: ids(100, 102), deploy: deployed('again') };
const SOON_MS = 1000;
const LONG_MS = 30_000;

const D2: Effect = { answer: deployed('d2'), shows: { current: deployed('d2') } };
const REPLAYED: Effect = { answer: ids(5, 2n ** 60n + 1n), shows: { retained: [2n ** 60n + 1n] } };
const SENT: Case = { said: PUBLISHED, traceMs: SOON_MS };
const LOGGED: Case = { said: PUBLISHED, log: ['', 'x'] };
const FILED: Case = { said: DEPLOYED_FILE, log: ['', 'x'], asked: [] };
const COMPACTED: Case = { said: [], compacted: 10n, traceMs: LONG_MS };
const LOST = ['publish', '3 to 4'] as const;
const framed = (id: number | bigint): string => `id: ${id}\ndata: {"id":"${id}"}`;

const CASES: Record<string, Case> = {
  'nothing was driven': { said: [] },
  'events that are published again come': {
    said: PUBLISHED,
    again: { publish: { answer: ids(5, 7), sends: '{"id":5}' } },
    traceMs: LONG_MS,
    asked: ['publish'],
  },
  'events that are published again are only replayed, with an id beyond 2^53': {
    ...SENT,
    again: { publish: REPLAYED },
    asked: ['publish'],
  },
  'the device deploys, and loses events': {
    ...SENT,
    again: { deploy: D2 },
    losesThen: true,
    asked: ['publish', 'deploy'],
  },
  'the log holds neither the events nor a deployment that becomes current': {
    ...LOGGED,
    again: { deploy: D2 },
    losesThen: true,
    asked: ['deploy'],
  },
  'the log holds a deployment that becomes current, and not the events': {
    ...LOGGED,
    again: { deploy: { ...D2, logs: '{"of":"d2"}' } },
    untrue: LOST,
    asked: ['deploy', 'publish'],
  },
  'the log holds what control publishes once more, and not the events before': {
    ...LOGGED,
    again: { publish: { answer: ids(5, 5), logs: '{"id":5}' } },
    untrue: LOST,
    doneAgain: true,
    asked: ['deploy', 'publish'],
  },
  'neither log nor device shows the deployment, and its file is there': {
    ...FILED,
    files: { '/etc/a.json': '{"a":1}' },
  },
  'neither log nor device shows the deployment, and another file is at its path': {
    ...FILED,
    files: { '/etc/a.json': '{"a":2}' },
    untrue: ['deploy', 'deployed d1'],
  },
  'the event of a deployment comes, and not those that were published': {
    ...SENT,
    again: { deploy: { ...D2, sends: '{"id":8}' } },
    untrue: ['publish', 'no trace'],
  },
  'the device is known to lose events': { said: PUBLISHED, losesEvents: true, asked: [] },
  'control cannot do it again': { said: PUBLISHED, refuses: true, untrue: ['publish', 'no trace'] },
  'no stream can be opened': { said: PUBLISHED, shows: { eventsStatus: 404 }, asked: [] },
  'the deployment is current': { said: DEPLOYED, shows: { current: deployed('d1') }, asked: [] },
  'the next deployment becomes current': { said: DEPLOYED, again: { deploy: D2 }, traceMs: LONG_MS },
  'a deployment that was replaced is not looked for': {
    said: [...DEPLOYED, [deploy, deployed('d2')]],
    shows: { current: deployed('d2') },
    asked: [],
  },
  'a deployment is looked for, though an event was published after it': {
    said: [...DEPLOYED, ...PUBLISHED],
    untrue: ['deploy', 'deployed d1'],
  },
  'what was removed is shown as archived': { said: REMOVED, shows: { current: ARCHIVED }, asked: [] },
  'nothing is current after a removal': { said: REMOVED, shows: { current: null }, asked: [] },
  'the log tells, and lacks the deployment': { said: DEPLOYED, log: ['', 'd2'], untrue: ['deploy', 'd1'], asked: [] },
  'the log holds the deployment': { said: DEPLOYED, log: ['', '{"of":"d1"}'], asked: [] },
  'the log holds the last event': { said: PUBLISHED, log: ['', '{"id":4}'], asked: ['publish'] },
  'control answers before the log and a stream have an event': {
    said: PUBLISHED,
    log: ['', '{"id":4}'],
    again: { publish: { answer: ids(5, 5), sends: '{"id":5}', afterMs: SOON_MS } },
    traceMs: LONG_MS,
    untrue: ['publish', 'answered before'],
  },
  'the log has others': { said: PUBLISHED, log: ['', '[44, 14, 4.5, -4, "a4"]'], untrue: LOST },
  'the log held the number before': { said: PUBLISHED, log: ['4 ', 'x'], untrue: LOST },
  'compacted events are not looked for': { said: PUBLISHED, compacted: 5n, shows: { eventsStatus: 410 }, asked: [] },
  'an event that a compaction left is looked for': { said: PUBLISHED, compacted: 4n, untrue: LOST },
  'the log begins where control said': { ...COMPACTED, shows: { retained: [10] } },
  'the frames alone tell that an event is left': {
    ...COMPACTED,
    shows: { retained: [9], tells: framed },
    untrue: ['compact', 'still has event 9'],
  },
  'nothing tells where the log begins': { ...COMPACTED, shows: { retained: [9], tells: () => 'data: {}' } },
  'what was published first is left': {
    said: [3, 6, 20].map((id): Case['said'][number] => [publish, ids(id, id)]),
    compacted: 10n,
    shows: { retained: [4] },
    traceMs: SOON_MS,
    untrue: ['compact', 'still has event 4'],
  },
  'there is no event before the first': { said: [], compacted: 1n, shows: { retained: [0] } },
};

test.concurrent.each(Object.entries(CASES))('drives are held against the device when %s', async (name, given) => {
  await using device = await FakeDevice.start();
  Object.assign(device, given.shows);
  const answered = (name: 'publish' | 'deploy') => () => {
    if (given.refuses) throw new ControlError('no');
    const { answer = LIES[name], shows, sends, afterMs = 0, logs } = given.again?.[name] ?? {};
    Object.assign(device, shows);
    if (logs !== undefined) appendFileSync(path, logs);
    if (sends !== undefined && afterMs === 0) device.send(sends);
    else if (sends !== undefined) setTimeout(() => device.send(sends), afterMs);
    return answer;
  };
  const { control, calls } = fakeControl({ publish: answered('publish'), deploy: answered('deploy') });
  const path = join(folder, name);
  if (given.log !== undefined) writeFileSync(path, given.log[0] ?? '');
  const drives = new Drives(given.log && { path, files: hostFiles });
  for (const [call, said] of given.said) expect(await drives.follow(call, async () => said)).toBe(said);
  if (given.log?.[1] !== undefined) appendFileSync(path, given.log[1]);
  drives.compacted = given.compacted;
  const { losesEvents = false, losesThen = losesEvents } = given;
  const config = { path: join(folder, `${name} files`), files: hostFiles };
  for (const [filepath, content] of Object.entries(given.files ?? {})) {
    mkdirSync(dirname(join(config.path, filepath)), { recursive: true });
    writeFileSync(join(config.path, filepath), content);
  }
  const agent = { ask: asking(device.http), logTells: given.log !== undefined, losesEvents, config };
  const { signal } = new AbortController();
  const untrue = await findFalseClaim(drives, { control, agent, signal, traceMs: given.traceMs ?? 150 });
  const [call, why] = given.untrue ?? [];
  const { doneAgain } = given;
  const said = { call, why: expect.stringContaining(why ?? ''), ...defined({ doneAgain }) };
  expect(untrue).toEqual(call === undefined ? undefined : said);
  if (given.asked !== undefined) expect(calls.map((one) => one.name)).toEqual(given.asked);
  expect(agent.losesEvents).toBe(losesThen);
  if (given.said.length === 0 && given.compacted === undefined) expect(device.requests).toEqual([]);
  await poll('all streams to be closed', () => device.streams === 0 || undefined, { timeoutMs: 30_000 });
});

test.concurrent.each<[string, logged: number[], retained: number[], wrong: boolean]>([
  ['are wrong if log and stream lack them', [10, 11], [10, 11], true],
  ['are right if the log has them', [12, 13], [10, 11], false],
  ['are right if the stream has them, and the log is late', [10, 11], [10, 11, 12, 13], false],
  ['may be right if the log lacks them, and the stream is silent', [10, 11], [], false],
])('the ids 12 to 13 that control named %s', async (name, logged, retained, wrong) => {
  await using device = await FakeDevice.start();
  device.retained = retained;
  const path = join(folder, `ids ${name}`);
  writeFileSync(path, '');
  const drives = new Drives({ path, files: hostFiles });
  await drives.follow(publish, async () => {
    appendFileSync(path, logged.map((id) => `{"id":${id}}\n`).join(''));
    return ids(12, 13);
  });
  const agent = { ask: asking(device.http), logTells: true, losesEvents: false, config: undefined };
  const { signal } = new AbortController();
  const why = await wrongIds(drives, 2, { control: fakeControl({}).control, agent, signal, traceMs: SOON_MS });
  expect(why).toBe(wrong ? 'control named the events 12 to 13, and the log has 10 to 11' : undefined);
});

test('a silent device contradicts no drive, and a fault in Muster is thrown', async () => {
  const drives = new Drives(undefined);
  await drives.follow(publish, async () => ids(3, 4));
  const gone = await FakeDevice.start();
  const { http } = gone;
  await gone[Symbol.asyncDispose]();
  const agent = { ask: asking(http), logTells: false, losesEvents: false, config: undefined };
  const { signal } = new AbortController();
  const confirm = () => findFalseClaim(drives, { control: fakeControl({}).control, agent, signal });
  expect(await confirm()).toBeUndefined();
  http.open = () => Promise.reject(new TypeError('a fault of ours'));
  await expect(confirm()).rejects.toThrow('a fault of ours');
  await using device = await FakeDevice.start();
  const { control } = fakeControl({ publish: () => Promise.reject(new TypeError('a fault of control')) });
  const asked = { control, agent: { ...agent, ask: asking(device.http) }, signal };
  await expect(findFalseClaim(drives, asked)).rejects.toThrow('a fault of control');
});

test('a log folder shows a drive in a file that grew or began anew', async () => {
  const path = join(folder, 'segments');
  const [old, now] = [join(path, '1'), join(path, '2')];
  mkdirSync(path);
  writeFileSync(old, '4 of the past');
  writeFileSync(now, '');
  const drives = new Drives({ path, files: hostFiles });
  await drives.follow(publish, async () => ids(3, 4));
  const [unseen = expect.unreachable()] = drives.unseen;
  expect([drives.logChanged, await drives.isInLog(unseen)]).toEqual([false, false]);
  writeFileSync(now, '3\n4');
  expect(await drives.isInLog(unseen)).toBe(true);
  writeFileSync(now, '');
  writeFileSync(old, '4');
  expect(await drives.isInLog(unseen)).toBe(true);
  await drives.follow(publish, async () => {
    writeFileSync(now, 'x');
    return ids(5, 6);
  });
  expect(drives.logChanged).toBe(true);
});

test('an unreadable log shows no drive, and a fault in Muster is thrown', async () => {
  const failing = (error: Error) => ({ path: '/log', files: { ...hostFiles, stat: () => Promise.reject(error) } });
  const drives = new Drives(failing(new FilesUnreadable('not by this user')));
  await drives.follow(publish, async () => ids(3, 4));
  const [unseen = expect.unreachable()] = drives.unseen;
  expect([unseen.mark, await drives.isInLog(unseen)]).toEqual([undefined, false]);
  const faulty = new Drives(failing(new TypeError('a fault of ours')));
  await expect(faulty.follow(publish, async () => ids(3, 4))).rejects.toThrow('a fault of ours');
});

test('a drive needs no confirmation after a log change, or before a stop', async () => {
  const path = join(folder, 'log');
  const drives = new Drives({ path, files: hostFiles });
  const written = async (text: string) => {
    appendFileSync(path, text);
    return ids(1, 2);
  };
  await drives.follow(publish, () => written('one'));
  expect([drives.logChanged, drives.unseen.length, drives.all.length]).toEqual([true, 0, 1]);
  await drives.follow(publish, () => written(''));
  await drives.follow({ name: 'compact' }, async () => undefined);
  expect([drives.unseen.length, drives.all.length]).toEqual([1, 2]);
  rmSync(path);
  await drives.follow(publish, async () => ids(5, 6));
  expect(drives.unseen.length).toBe(2);
  writeFileSync(path, '6');
  expect(await drives.isInLog(drives.unseen[1] ?? expect.unreachable())).toBe(true);
  drives.compacted = 3n;
  drives.clear();
  expect([drives.unseen, drives.all, drives.compacted]).toEqual([[], [], undefined]);
  for (let round = 0; round < 1500; round += 1) await drives.follow(publish, async () => ids(1, 2));
  expect([drives.unseen.length, drives.all.length]).toEqual([1000, 1000]);
});

test('a log with equal size but new content counts as changed', async () => {
  const path = join(folder, 'compacted.jsonl');
  writeFileSync(path, '{"id":1}\n{"id":2}\n');
  const drives = new Drives({ path, files: hostFiles });
  await drives.follow(publish, async () => {
    writeFileSync(`${path}.new`, '{"id":3}\n{"id":4}\n');
    renameSync(`${path}.new`, path);
    return ids(3, 4);
  });
  expect(drives.unseen).toEqual([]);
  await drives.follow(publish, async () => ids(5, 6));
  expect(drives.unseen).toHaveLength(1);
});
