/** What tests asked a simulated device for. */
import type { IncomingMessage } from 'node:http';
import type { Variant } from '../../../simulators/defects/define.ts';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../../../simulators/device/index.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import type { Subject, Traffic } from '../../mutate/subject.ts';
import { overriding, type Place, Tally, undecided, unseenIn, watched } from './traffic.ts';

/** In a request for events: how it names its cursor, and whether it filters. In any: a path or method that is none. */
type Feature = 'after' | 'header' | 'both' | 'malformed' | 'types' | 'unknown';

interface Seen {
  /** By method and path. */
  readonly requests: Tally;
  readonly features: ReadonlySet<Feature>;
  /** Names of the transports. */
  readonly ways: ReadonlySet<string>;
  readonly decisions: Tally;
}

const asks =
  (...paths: readonly string[]) =>
  ({ requests }: Seen): boolean =>
    [...requests.counts.keys()].some((one) => paths.some((path) => one.startsWith(`GET ${path}`)));
const sends =
  (...features: readonly Feature[]) =>
  (seen: Seen): boolean =>
    features.some((feature) => seen.features.has(feature));
const decides =
  (decision: string, times = 1) =>
  ({ decisions }: Seen): boolean =>
    decisions.of(decision) >= times;
const over =
  (way: string) =>
  ({ ways }: Seen): boolean =>
    ways.has(way);

const anyhow = (): boolean => true;

/** Each start puts the socket in place. */
const restarts = decides('transport.permit', 2);

const PLACES: readonly Place<Seen>[] = [
  { ids: 'device.deployment.restart', shows: restarts, never: 'restart the device' },
  ...['current', 'shape', 'merge'].map((each) => ({
    ids: `device.deployment.${each}`,
    shows: asks('/deployments'),
    never: 'ask for a deployment',
  })),
  { ids: 'device.deployment.', shows: asks('/deployments', '/releases', '/events'), never: 'look at a deployment' },
  { ids: 'device.events.after-wins', shows: sends('both'), never: 'send after and Last-Event-ID together' },
  { ids: 'device.events.header-cursor', shows: sends('header', 'both'), never: 'send Last-Event-ID' },
  { ids: 'device.events.cursor.malformed', shows: sends('malformed'), never: 'send a malformed cursor' },
  { ids: 'device.events.types', shows: sends('types'), never: 'filter by types' },
  { ids: 'device.events.expired.only', shows: asks('/events'), never: 'ask for events' },
  { ids: 'device.events.expired', shows: decides('log.keepFrom'), never: 'ask after a compaction' },
  { ids: 'device.events.', shows: asks('/events'), never: 'ask for events' },
  // Comments stand in the file alone, and a client that reads it was told where it is.
  { ids: 'device.log.jsonl', shows: decides('log.tellsRetention'), never: 'ask the control API where the log is' },
  { ids: 'device.log.restart', shows: restarts, never: 'restart the device' },
  { ids: 'device.log.crash', shows: restarts, never: 'restart the device' },
  { ids: 'device.log.torn-tail', shows: restarts, never: 'restart the device' },
  // Nobody sees a client read a file, or the connection that it was refused.
  ...['loopback.discovery', 'loopback.only', 'socket.permissions'].map((each) => ({
    ids: `device.${each}`,
    shows: anyhow,
    never: '',
  })),
  { ids: 'device.loopback.', shows: over('loopback'), never: 'use the discovery file' },
  { ids: 'device.socket.', shows: over('unix'), never: 'use the socket' },
  // Of connections and of subscribers, not of requests.
  { ids: 'device.robust.requests.', shows: anyhow, never: '' },
  { ids: 'device.robust.', shows: sends('unknown'), never: 'send a path or a method that there is not' },
];

/** Refusals of requests that are none the less written as they should be. */
const OF_PLAIN_REQUESTS: readonly string[] = ['invalid_cursor', 'cursor_expired', 'unauthorized'];

export class DeviceTraffic implements Traffic {
  readonly #decisions = new Tally();
  readonly #requests = new Tally();
  readonly #features = new Set<Feature>();
  readonly #ways = new Set<string>();

  /** The same behaviour, which tells what is asked of it. */
  watching(behaviour: DeviceBehaviour): DeviceBehaviour {
    const groups = Object.entries(behaviour).map(([name, group]) => [
      name,
      watched(group as object, this.#decisions, `${name}.`),
    ]);
    const all = Object.fromEntries(groups) as unknown as DeviceBehaviour;
    return {
      ...all,
      transport: overriding(all.transport, {
        authorized: (header, token, way) => {
          this.#ways.add(way);
          return all.transport.authorized(header, token, way);
        },
      }),
      http: overriding(all.http, {
        intercept: (request, response) => {
          this.#note(request);
          return all.http.intercept(request, response);
        },
        refusal: (refusal, request) => {
          if (!OF_PLAIN_REQUESTS.includes(refusal.code)) this.#features.add('unknown');
          return all.http.refusal(refusal, request);
        },
      }),
    };
  }

  get asked(): ReadonlyMap<string, number> {
    return this.#requests.counts;
  }

  unseen(subject: Subject): string | undefined {
    if (this.asked.size === 0) return 'the tests asked the device nothing';
    const seen = { requests: this.#requests, features: this.#features, ways: this.#ways, decisions: this.#decisions };
    return unseenIn(PLACES, subject, seen) ?? undecided(ALL.get(subject.name), referenceBehaviour, this.#decisions);
  }

  #note({ method = '', url = '', headers }: IncomingMessage): void {
    const { pathname, searchParams } = new URL(url, 'http://device');
    const path = pathname.startsWith(`${DEVICE_API_PREFIX}/`) ? pathname.slice(DEVICE_API_PREFIX.length) : pathname;
    this.#requests.add(`${method === 'HEAD' ? 'GET' : method} ${path}`);
    if (path !== '/events') return;
    const [after, header] = [searchParams.get('after'), headers['last-event-id']];
    if (after !== null) this.#features.add('after');
    if (header !== undefined) this.#features.add('header');
    if (after !== null && header !== undefined) this.#features.add('both');
    if ([after, header].some((cursor) => typeof cursor === 'string' && !/^\d+$/.test(cursor)))
      this.#features.add('malformed');
    if (searchParams.has('types')) this.#features.add('types');
  }
}

const ALL: ReadonlyMap<string, Variant<DeviceBehaviour>> = new Map(
  [...(deviceDefects as readonly Variant<DeviceBehaviour>[]), ...deviceVariants].map((each) => [each.name, each]),
);
