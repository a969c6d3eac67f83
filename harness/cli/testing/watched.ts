/** Watches the traffic of a simulated server in the process of the test. For tests. */
import { join } from 'node:path';
import { referenceBehaviour as clientReference } from '../../../simulators/client/reference.ts';
import { runClient } from '../../../simulators/client/run.ts';
import { eventually, scratch } from '../../../simulators/common/testing/scratch.ts';
import { clientDefects } from '../../../simulators/defects/client/index.ts';
import { findByName, type Variant } from '../../../simulators/defects/define.ts';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import { platformDefects, platformVariants } from '../../../simulators/defects/platform/index.ts';
import {
  referenceBehaviour as deviceReference,
  type SimulatedDevice,
  simulateDevice,
} from '../../../simulators/device/index.ts';
import type { PlatformBehaviour } from '../../../simulators/platform/behaviour.ts';
import { simulatePlatform } from '../../../simulators/platform/index.ts';
import { referenceBehaviour as platformReference } from '../../../simulators/platform/reference.ts';
import { type ClientValues, clientVariables } from '../../contract/client.ts';
import { NEWEST_VERSION } from '../../contract/versions.ts';
import { Readers } from '../../watch/judge-thread.ts';
import { type PlainJudged, TrafficJudge } from '../../watch/judging.ts';
import { type Place, Relay, type Tap } from '../../watch/relay.ts';
import type { ServerAddress, Traffic } from '../../watch/traffic.ts';
import { type TransportKind, type WatchedApi, watchSuite } from '../watching/suite.ts';

const planted = <B>(all: readonly Variant<B>[], name: string | undefined, to: B): B =>
  name === undefined ? to : findByName('defect or variant', all, name).behaviour(to);

type Watched = Awaited<ReturnType<typeof watch>>;

async function watch(api: WatchedApi, way: TransportKind, place: ServerAddress, listen: Place, upstream: Place) {
  const { checks } = await watchSuite(api, way);
  const judge = new TrafficJudge({ checks, place, found: () => {} });
  const traffic: Traffic[] = [];
  const readers = new Readers((each) => {
    traffic.push(each);
    judge.take(each);
  });
  const at = (): number => performance.timeOrigin + performance.now();
  const tap: Tap = {
    opened: (connection) => readers.take({ what: 'opened', connection, at: at() }),
    bytes: (connection, from, piece) => readers.take({ what: 'bytes', connection, at: at(), from, piece }),
    ended: (connection, from, how) => readers.take({ what: 'ended', connection, at: at(), from, how }),
    refused: (connection, why) => readers.take({ what: 'refused', connection, at: at(), why }),
    fail(error) {
      throw error;
    },
  };
  const relay = await Relay.open({ listen, tap, upstream: () => ({ place: upstream }) });
  const ids = (is: (judged: PlainJudged) => boolean): string[] =>
    Object.entries(judge.judged()).flatMap(([id, judged]) => (is(judged) ? [id] : []));
  const device: ClientValues = {};
  return {
    ...{ judge, traffic, relay, device },
    get found(): string[] {
      return ids(({ broken }) => broken !== undefined);
    },
    get decided(): string[] {
      return ids(({ sightings }) => sightings > 0);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      readers.end();
      await relay[Symbol.asyncDispose]();
    },
  };
}

export interface DeviceDay {
  /** Defect or legal variant of the simulated server. */
  defect?: string;
  clientDefect?: string;
  faults?: readonly string[];
  retain?: number;
  /** Runs while a client follows the events; the watch ends when the promise resolves. */
  day(device: SimulatedDevice, watched: Watched): Promise<void>;
}

export async function watchedDevice(options: DeviceDay): Promise<Watched> {
  const { defect, clientDefect, faults = [], retain = 2000, day } = options;
  using home = scratch();
  const [real, socket] = [join(home.path, 'a.sock'), join(home.path, 'w.sock')];
  await using device = await simulateDevice({
    dir: join(home.path, 'robot'),
    socket: real,
    heartbeatMs: 100,
    retain,
    seed: '1',
    faults,
    behaviour: planted([...deviceDefects, ...deviceVariants], defect, deviceReference),
  });
  const place = { base: '/v0.2', origin: 'http://localhost', socketPath: real, variable: 'MUSTER_TOKEN' };
  await using watched = await watch('device', 'unix', place, { path: socket }, { path: real });
  const ending = new AbortController();
  watched.device = { socket, deviceUrl: 'http://localhost/v0.2' };
  const client = called({ job: 'follow', ...watched.device }, clientDefect, ending.signal);
  await eventually(() => {
    if (!watched.traffic.some(({ kind }) => kind === 'response')) throw new Error('nobody follows');
  });
  try {
    await day(device, watched);
  } finally {
    ending.abort();
    await client;
  }
  return watched;
}

export const called = (values: ClientValues, defect?: string, signal = new AbortController().signal): Promise<number> =>
  runClient({
    variables: clientVariables(values),
    behaviour: planted(clientDefects, defect, clientReference),
    signal,
    print: () => {},
    complain: () => {},
  });

export const dayUntil =
  (holds: (watched: Watched) => boolean): DeviceDay['day'] =>
  async (device, watched) => {
    await device.deploy({});
    await called({ job: 'current', ...watched.device });
    await eventually(async () => {
      await device.publish(2);
      if (!holds(watched)) throw new Error(`found: ${watched.found.join(' ')}; decided: ${watched.decided.join(' ')}`);
    });
  };
export const untilFound = (id: string): DeviceDay['day'] => dayUntil(({ found }) => found.includes(id));
export const streams = ({ traffic }: Watched): number => traffic.filter(({ kind }) => kind === 'response').length;

/** Breaks each stream off after 900 to 2000 bytes, even within an event. */
export const BROKEN_LINK = ['reset=900..2000'];

export interface PlatformDay {
  defect?: string;
  clientDefect?: string;
  jobs?: readonly ClientValues[];
  asks?: readonly string[];
  version?: string;
  online?: boolean;
}

const STRANGE = ['?limit=500', '?limit=1000', '?limit=-5', '?limit=0', '?offset=-3', '?offset=-9'];
export const BY_HAND = ['?limit=20&offset=20', ...STRANGE].flatMap((query) => ['/devices', `/devices${query}`]);
export const DEPLOYMENTS = ['/deployments?limit=100', '/deployments?limit=100&offset=100'];

const REACHED: PlatformBehaviour['ping'] = async () => ({ code: 'success', round_trip_nanos: 1_000_000 });
const KEY = 'mk_watched_0123456789';

export async function watchedPlatform(day: PlatformDay): Promise<Watched> {
  const { defect, clientDefect, jobs = [], asks = [], version = NEWEST_VERSION, online = false } = day;
  const reference = online ? { ...platformReference, ping: REACHED } : platformReference;
  await using platform = await simulatePlatform({
    devices: 230,
    seed: 7,
    mqtt: false,
    keys: [{ key: KEY, scopes: 'all' }],
    behaviour: planted([...platformDefects, ...platformVariants], defect, reference),
  });
  const { origin, port, pathname: base } = new URL(platform.url);
  const place = { base, origin, variable: 'MUSTER_API_KEY' };
  const upstream = { host: '127.0.0.1', port: Number(port) };
  await using watched = await watch('platform', 'url', place, { host: '127.0.0.1', port: 0 }, upstream);
  const platformUrl = `http://127.0.0.1:${watched.relay.port}${base}`;
  const ask = (at: string, named: string): Promise<Response> =>
    fetch(at, { headers: { 'x-api-key': KEY, 'service-version': named } });
  const shown = await ask(`${platform.url}/devices?limit=1`, NEWEST_VERSION);
  const { data } = (await shown.json()) as { data: { id: string }[] };
  const usual = { platformUrl, platformKey: KEY, platformVersion: version, device: data[0]?.id };
  for (const job of jobs) await called({ ...usual, ...job }, clientDefect);
  for (const path of asks) await (await ask(`${platformUrl}${path}`, version)).text();
  return watched;
}
