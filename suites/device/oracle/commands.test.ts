import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/device-api.ts';
import { ControlRefused } from '../../../harness/targets/control/control.ts';
import type { OpenDeviceTarget } from '../../../harness/targets/opened.ts';
import { startRobot } from '../../../harness/tools/subjects/simulators.ts';
import { answered, onRequest, onSome, rewritten } from '../../../simulators/defects/define-device.ts';
import { deviceDefect, deviceVariant } from '../../../simulators/defects/device/index.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../../../simulators/device/behaviour.ts';
import type { SimulatedDevice } from '../../../simulators/device/index.ts';
import type { StoredEvent } from '../../../simulators/device/log/line.ts';
import { publish } from '../support/drive.ts';
import { behaviourWith, runNamed, runOn, targetOf } from '../support/testing/device.ts';
import {
  burstIntoReplay,
  type Command,
  compactIntoBurst,
  cutAndComeBack,
  deploy,
  openStream,
  PLAIN,
  publishSome,
  readCurrent,
  removeCurrent,
} from './commands.ts';
import { Life } from './explore.ts';
import { Reality } from './reality.ts';
import { compactAway, restartAgent } from './survival.ts';

type Driven = (device: SimulatedDevice, request: ControlDeployment) => Promise<Deployment>;

async function stopOnceIdle(device: SimulatedDevice): Promise<undefined> {
  while (device.stats().subscribers > 0) await sleep(20);
  await device.stop();
}

/** `before`: events that the device has published. */
interface Given {
  behaviour?: DeviceBehaviour;
  driven?: Driven;
  published?(device: SimulatedDevice, count: number): ReturnType<SimulatedDevice['publish']>;
  before?: number;
}

function drivenTarget(device: SimulatedDevice, { driven, published }: Given): Promise<OpenDeviceTarget> {
  return targetOf(device, { capabilities: ['drive', 'compact'] }, (call) => {
    if (call.name === 'compact') return device.compact();
    if (call.name === 'stop') return stopOnceIdle(device);
    if (call.name === 'start') return device.start().then(() => undefined);
    if (call.name === 'publish') return published?.(device, call.count) ?? device.publish(call.count);
    if (call.name === 'remove') return device.remove(call.deploymentId);
    if (call.name === 'deploy') return driven?.(device, call.request) ?? device.deploy(call.request);
    return undefined;
  });
}

type Run = (real: Reality, device: SimulatedDevice) => Promise<unknown>;

async function departureIn(run: Run | readonly Command[], given: Given = {}): Promise<unknown> {
  const { behaviour = referenceBehaviour, before = 0 } = given;
  await using robot = await startRobot({ fresh: true, behaviour });
  if (before > 0) await robot.device.publish(before);
  await using target = await drivenTarget(robot.device, given);
  const inTurn = async (commands: readonly Command[], real: Reality) => {
    for (const command of commands) await command.run(real);
  };
  let found: unknown;
  const result = await runOn(target, async (t, streams) => {
    const { last } = await publish(t, 1);
    const real = new Reality(t, streams, last);
    await real.openStaying(last);
    const running = typeof run === 'function' ? run(real, robot.device) : inTurn(run, real);
    found = await running.catch((error: unknown) => error);
  });
  expect(result).toMatchObject({ outcome: 'pass' });
  return found;
}

const everyState = deviceDefect('deployed-for-every-state').behaviour(referenceBehaviour);
const deployThenRemove = (device: SimulatedDevice) => device.deploy().then(({ id }) => device.remove(id));

it.for([
  ['after it was deployed', { driven: deployThenRemove }, undefined],
  ['at once', { behaviour: everyState }, { id: 'device.events.deployed-only' }],
] as const)('a deployment that is archived %s is judged by its event', async ([, given, finding]) => {
  const found = await departureIn([deploy({ activity_status: 'archived' })], given);
  expect(found).toEqual(finding && expect.objectContaining(finding));
});

const MADE = '2026-01-02T03:04:05Z';
const madeByPlatform = behaviourWith({ http: { deploymentBody: (made) => ({ ...made, created_at: MADE }) } });

it.for([
  [MADE, undefined],
  ['2026-01-02T03:04:06Z', { id: 'device.deployment.current' }],
] as const)('a time of another clock is right if control answers the same: %s', async ([created_at, finding]) => {
  const driven = async (device: SimulatedDevice, request: ControlDeployment) => {
    return { ...(await device.deploy(request)), created_at };
  };
  const found = await departureIn([deploy({})], { behaviour: madeByPlatform, driven });
  expect(found).toEqual(finding && expect.objectContaining(finding));
});

it('a deployment has the description and the release that control answers', async () => {
  const driven: Driven = (device, { description = '' }) => device.deploy({ description: description.trim() });
  const asked = { description: ' new ', release_id: 'rls_asked' };
  expect(await departureIn([deploy(asked)], { driven })).toBeUndefined();
});

it.for(['identity', 'Identity'])('a stream in the coding %s is read', async (coding) => {
  const http = { 'Content-Encoding': coding };
  const behaviour = behaviourWith({ stream: ({ headers }) => ({ headers: { ...headers, ...http } }) });
  expect(await departureIn([publishSome(1)], { behaviour })).toBeUndefined();
});

it('a deployment that control refuses may have begun', async () => {
  let asked = 0;
  const driven: Driven = async (device, request) => {
    const made = await device.deploy(request);
    asked += 1;
    if (asked > 1) throw new ControlRefused('control: it did not become deployed in time');
    return made;
  };
  const both = ['first', 'second'].map((description) => deploy({ description }));
  expect(await departureIn(both, { driven })).toBeUndefined();
});

it.for([0, 99])('a stream that is cut waits for no event after the newest one (%i back)', async (back) => {
  let late: number | undefined;
  const found = await departureIn(async (real) => {
    await publishSome(2).run(real);
    await cutAndComeBack(back, 400).run(real);
    late = real.t.session.waits.device.inVain('replay');
  });
  expect({ found, late }).toEqual({ found: undefined, late: 0 });
});

it('a client is cut off from a log that was compacted just before', async () => {
  const counted: string[] = [];
  const found = await departureIn(async (real) => {
    await compactAway().run(real);
    vi.spyOn(real.t, 'saw').mockImplementation((what) => void counted.push(what));
    await cutAndComeBack(real.ledger.events.length - 1, 400).run(real);
  });
  expect({ found, counted }).toEqual({
    found: undefined,
    counted: expect.arrayContaining(['clients that were cut off']),
  });
});

const AT_EARLIEST = 'cursors at the earliest event left';

it.for([
  ['departs', 1, { id: 'device.events.expired.boundary' }],
  ['is not judged', 9, undefined],
] as const)('a device that refuses its earliest event %s with up to %i events of its own', async ([, own, finding]) => {
  const behaviour = deviceDefect('boundary-off-by-one').behaviour(referenceBehaviour);
  const counted: string[] = [];
  const run: Run = (real, device) => {
    const open = real.open.bind(real);
    vi.spyOn(real.t, 'saw').mockImplementation((what) => void counted.push(what));
    let refused = 0;
    vi.spyOn(real, 'open').mockImplementation((...asked) =>
      open(...asked).catch(async (error: unknown) => {
        refused += 1;
        if (refused <= own) await device.publish(1);
        throw error;
      }),
    );
    return compactAway().run(real);
  };
  const found = await departureIn(run, { behaviour });
  expect(found).toEqual(finding && expect.objectContaining(finding));
  expect(counted).not.toContain(AT_EARLIEST);
});

it.for([
  [0n, false, 'served'],
  [1n, true, 'open'],
  [2n, true, 'expired'],
] as const)('without the first %s events, the earliest counts as asked for: %s', async ([gone, isCounted, fate]) => {
  const counted: string[] = [];
  const first = await departureIn(async (real) => {
    const { ledger, t } = real;
    const { from } = ledger;
    const after = from + gone;
    await publishSome(3).run(real);
    ledger.earliest = after;
    vi.spyOn(t, 'saw').mockImplementation((what) => void counted.push(what));
    await real.open({ way: 'after', options: { after }, after });
    return ledger.fate(from);
  });
  expect([counted.includes(AT_EARLIEST), first]).toEqual([isCounted, fate]);
});

const losing = (lost: number): DeviceBehaviour =>
  behaviourWith({
    stream: { session: () => ({ replay: (events) => events.filter(({ id }) => id % 100 !== lost) }) },
  });

it.for([
  [101, undefined],
  [99, { id: 'device.log.compaction' }],
] as const)(
  'events that no stream has brought are due after a compaction: without each %ith',
  async ([lost, finding]) => {
    const found = await departureIn([compactAway()], { behaviour: losing(lost) });
    expect(found).toEqual(finding && expect.objectContaining(finding));
  },
);

it('events come on streams with types that open in a burst', async () => {
  const session: DeviceBehaviour['stream']['session'] = ({ filter }) => {
    const past = (events: readonly StoredEvent[]) =>
      filter === undefined ? events : events.filter(({ id }) => id <= 95);
    return { replay: past, live: past };
  };
  const behaviour = behaviourWith({ stream: { session } });
  const found = await departureIn([burstIntoReplay(30, 4, 4, 0)], { behaviour, before: 95 });
  expect(found).toMatchObject({ id: 'device.events.types' });
});

it('events that come while the log is compacted are there after a restart', async () => {
  const commands = [publishSome(12), compactIntoBurst(), restartAgent('SIGTERM')];
  expect(await departureIn(commands)).toBeUndefined();
});

it('a malformed header beside a valid after may be refused, and else counts for nothing', async () => {
  const commands = [publishSome(4), openStream({ ...PLAIN, way: 'both', other: 'abc' })];
  const withOdd = (cursor: 'malformed' | 'none') => {
    const stream: Parameters<typeof behaviourWith>[0]['stream'] = ({ chooseCursor }) => ({
      chooseCursor: (given) => (/^\d*$/.test(given.lastEventId ?? '') ? chooseCursor(given) : cursor),
    });
    return departureIn(commands, { behaviour: behaviourWith({ stream }) });
  };
  expect(await departureIn(commands)).toBeUndefined();
  expect(await withOdd('malformed')).toBeUndefined();
  expect(await withOdd('none')).toMatchObject({ id: 'device.events.after-wins' });
});

it('an event of the agent itself may displace the earliest one', async () => {
  const behaviour = deviceVariant('drops-one-by-one').behaviour(referenceBehaviour);
  const run: Run = (real, device) => {
    const open = real.open.bind(real);
    vi.spyOn(real, 'open').mockImplementation(async (asking, stays) => {
      if (asking.options.types !== undefined) await device.publish(1);
      return open(asking, stays);
    });
    return compactAway().run(real);
  };
  expect(await departureIn(run, { behaviour })).toBeUndefined();
});

it('events of staged deployments are not judged where control makes none', async () => {
  await using robot = await startRobot({ fresh: true });
  const driven: Driven = (device, { description = '', release_id = 'rls_1' }) =>
    device.deploy({ description, release_id });
  await using target = await drivenTarget(robot.device, { driven });
  expect(await runNamed(target, 'device.events.deployed-only')).toMatchObject({
    outcome: 'not_applicable',
    reason: 'control makes no deployments that are not deployed',
  });
});

it('an agent that ends only once its streams have ended is restarted', async () => {
  expect(await departureIn([restartAgent('SIGTERM')])).toBeUndefined();
});

it('one of 3 events may have an old time after a request for 2', async () => {
  const old = (event: StoredEvent): StoredEvent =>
    event.id % 3 === 0 ? rewritten(event, (envelope) => ({ ...envelope, occurred_at: MADE })) : event;
  const behaviour = behaviourWith({ stream: ({ frame }) => ({ frame: (event) => frame(old(event)) }) });
  const run: Run = async (real) => {
    const since = Date.now();
    await real.settle({ ...(await publish(real.t, 3)), count: 2 }, since);
  };
  expect(await departureIn(run, { behaviour })).toBeUndefined();
});

it('a stream without a cursor that replays more than Muster reads is left', async () => {
  const pad = 'x'.repeat(2 ** 20);
  const longer = (event: StoredEvent): StoredEvent =>
    event.id <= 30 ? rewritten(event, (envelope) => ({ ...envelope, pad })) : event;
  const behaviour = behaviourWith({
    stream: ({ frame, resolveCursor }) => ({
      frame: (event) => frame(longer(event)),
      resolveCursor: (cursor, retained) => resolveCursor(cursor === 'none' ? 0 : cursor, retained),
    }),
  });
  const left = async (real: Reality) => {
    await real.open({ way: 'none', options: {}, after: real.ledger.closed });
    // Owes events by now, however slow the events before it were.
    for (const client of real.clients) client.openedMs = 0;
    await publishSome(1).run(real);
    return real.clients.map(({ way }) => way);
  };
  expect(await departureIn(left, { behaviour, before: 30 })).toEqual(['after', 'header']);
});

it('times may be of an hour ago from an agent whose answers are dated an hour ago', async () => {
  const http = onRequest((_, response) => {
    response.setHeader('Date', new Date(Date.now() - 3_600_000).toUTCString());
  });
  const behaviour = deviceDefect('envelope-time-an-hour-ago').behaviour(behaviourWith({ http }));
  expect(await departureIn([publishSome(1)], { behaviour })).toBeUndefined();
});

it('a wrong time that is known ends no sequence, and is found again when it is sought', async () => {
  const behaviour = deviceDefect('envelope-time-an-hour-ago').behaviour(referenceBehaviour);
  const found = new Map<string, NonNullable<Awaited<ReturnType<Life['departureIn']>>>>();
  const run = async (real: Reality) => {
    const life = new Life(real.t, real.streams, found);
    const first = (await life.departureIn([publishSome(1)])) ?? expect.unreachable();
    found.set(first.departure.id, first);
    const [again, sought] = [
      await life.departureIn([publishSome(2), readCurrent()]),
      await life.departureIn([publishSome(1)], first.departure),
    ];
    return [first, again, sought].map((one) => one?.departure.id);
  };
  const id = 'device.events.envelope';
  expect(await departureIn(run, { behaviour })).toEqual([id, undefined, id]);
});

it('staying streams are opened anew before they hold more than Muster reads', async () => {
  const pad = 'x'.repeat(2 ** 19);
  const longer = (event: StoredEvent): StoredEvent => rewritten(event, (envelope) => ({ ...envelope, pad }));
  const behaviour = behaviourWith({ stream: ({ frame }) => ({ frame: (event) => frame(longer(event)) }) });
  const run: Run = async (real) => {
    const life = new Life(real.t, real.streams, new Map());
    const departures: unknown[] = [];
    for (let sequence = 0; sequence < 4; sequence += 1) departures.push(await life.departureIn([publishSome(15)]));
    return departures;
  };
  expect(await departureIn(run, { behaviour })).toEqual(Array(4).fill(undefined));
});

it('a client that comes back is judged where fewer events are known than it goes back', async () => {
  const seen: string[] = [];
  const run = async (real: Reality) => {
    await publishSome(2).run(real);
    Object.assign(real.t, { saw: (what: string) => seen.push(what) });
    await cutAndComeBack(8, 0).run(real);
  };
  expect(await departureIn(run)).toBeUndefined();
  expect(seen).toContain('clients that were cut off');
});

it.each([
  ['stay away', false, undefined],
  ['come back', true, expect.objectContaining({ id: 'device.deployment.removed' })],
])('files of a removed deployment %s at a restart', async (_, isBack, found) => {
  const file = { filepath: '/etc/robot/a.json', content: '{"a":1}' };
  const run = async (real: Reality, device: SimulatedDevice) => {
    const { config_root: root = '' } = device.info();
    const capabilities = new Set([...real.t.capabilities, 'files']);
    Object.assign(real.t, { info: { ...real.t.info, config_root: root }, capabilities });
    await deploy({ config_instances: [file] }).run(real);
    await removeCurrent().run(real);
    const path = join(root, file.filepath);
    if (isBack) mkdirSync(dirname(path), { recursive: true });
    if (isBack) writeFileSync(path, file.content);
    await restartAgent('SIGTERM').run(real);
  };
  expect(await departureIn(run)).toEqual(found);
});

it('a deployment that control made to publish is still the current one after a restart', async () => {
  const behaviour = deviceDefect('deployments-forgotten').behaviour(referenceBehaviour);
  const published = async (device: SimulatedDevice, count: number) => {
    const { first_id } = await device.publish(1);
    await device.deploy();
    const { last_id } = await device.publish(count);
    return { first_id, last_id };
  };
  const commands = [readCurrent(), publishSome(1), restartAgent('SIGTERM')];
  const found = await departureIn(commands, { behaviour, published });
  expect(found).toMatchObject({ id: 'device.deployment.restart' });
});

it.for([
  [400, undefined],
  [503, undefined],
  [500, { id: 'device.events.types' }],
] as const)('a list with an unknown type may be answered %i: %j', async ([status, finding]) => {
  const http = onSome(({ url = '' }, response) => url.includes('robot.') && answered(response, status));
  const found = await departureIn([openStream({ ...PLAIN, types: 'unknown' })], { behaviour: behaviourWith({ http }) });
  expect(found).toEqual(finding && expect.objectContaining(finding));
});
