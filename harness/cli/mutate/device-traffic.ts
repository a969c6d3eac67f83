/** What tests asked a simulated device for. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Variant } from '../../../simulators/defects/define.ts';
import { deviceDefects, deviceVariants } from '../../../simulators/defects/device/index.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../../../simulators/device/index.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import type { Subject, Traffic } from '../../mutate/subject.ts';
import { overriding, type Place, Tally, undecided, unseenIn, watched } from './traffic.ts';

/**
 * In a request for events: how it names its cursor, what it filters, and whether another one is open. In any: a path or
 * method that is none, a parameter that nobody knows, a path without the version.
 */
type Feature =
  | 'after'
  | 'header'
  | 'both'
  | 'malformed'
  | 'zero'
  | 'huge'
  | 'types'
  | 'several types'
  | 'two streams'
  | 'unknown'
  | 'parameter'
  | 'no version';

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

/** The control API tells where log and files are. */
const looksOnDisk = decides('log.tellsRetention');
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
  { ids: 'device.events.concurrent', shows: sends('two streams'), never: 'follow twice at a time' },
  { ids: 'device.events.slow-reader', shows: sends('two streams'), never: 'follow twice at a time' },
  { ids: 'device.events.written-first', shows: looksOnDisk, never: 'ask the control API where the files are' },
  { ids: 'device.events.expired.only', shows: asks('/events'), never: 'ask for events' },
  { ids: 'device.events.expired', shows: decides('log.keepFrom'), never: 'ask after a compaction' },
  { ids: 'device.events.', shows: asks('/events'), never: 'ask for events' },
  // Comments stand in the file alone, and a client that reads it was told where it is.
  { ids: 'device.log.jsonl', shows: looksOnDisk, never: 'ask the control API where the log is' },
  { ids: 'device.log.restart', shows: restarts, never: 'restart the device' },
  { ids: 'device.log.crash', shows: restarts, never: 'restart the device' },
  { ids: 'device.log.torn-tail', shows: restarts, never: 'restart the device' },
  { ids: 'device.loopback.', shows: over('loopback'), never: 'use the discovery file' },
  { ids: 'device.socket.', shows: over('unix'), never: 'use the socket' },
  // Of connections and of subscribers, not of requests.
  { ids: 'device.robust.requests.', shows: anyhow, never: '' },
  { ids: 'device.robust.', shows: sends('unknown'), never: 'send a path or a method that there is not' },
];

const HEADER = { shows: sends('header', 'both'), never: 'send Last-Event-ID' };
const SEVERAL_TYPES = { shows: sends('several types'), never: 'filter by several types' };

/** Defects that show in fewer places than what they break. */
const OF_ONE: Readonly<Record<string, Omit<Place<Seen>, 'ids'>>> = {
  'header-ignored': HEADER,
  'types-lose-header': HEADER,
  'expired-by-query-only': HEADER,
  'types-first-only': SEVERAL_TYPES,
  'types-comma-undecoded': SEVERAL_TYPES,
  'expired-with-types-is-live': {
    shows: (seen) => sends('types')(seen) && decides('log.keepFrom')(seen),
    never: 'filter by types after a compaction',
  },
  'zero-is-no-cursor': { shows: sends('zero'), never: 'ask for events after 0' },
  'huge-cursor-wraps': { shows: sends('huge'), never: 'send a huge cursor' },
  'unknown-query-refused': { shows: sends('parameter'), never: 'send a parameter that there is not' },
  'version-prefix-optional': { shows: sends('no version'), never: 'ask below another version' },
  'removed-comes-back': { shows: restarts, never: 'restart the device' },
};

/** Digits of a cursor: 2^53 has 16. */
const LONGEST_USUAL = 16;

/** Refusals of requests that are none the less written as they should be. */
const OF_PLAIN_REQUESTS: readonly string[] = ['invalid_cursor', 'cursor_expired', 'unauthorized'];

export class DeviceTraffic implements Traffic {
  readonly #decisions = new Tally();
  readonly #requests = new Tally();
  readonly #features = new Set<Feature>();
  readonly #ways = new Set<string>();
  /** Streams. */
  #open = 0;

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
          this.#note(request, response);
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
    const own = OF_ONE[subject.name];
    if (own?.shows(seen) === false) return `the tests never ${own.never}`;
    return unseenIn(PLACES, subject, seen) ?? undecided(ALL.get(subject.name), referenceBehaviour, this.#decisions);
  }

  #note({ method = '', url = '', headers }: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, 'http://device');
    const isVersioned = pathname.startsWith(`${DEVICE_API_PREFIX}/`);
    const path = isVersioned ? pathname.slice(DEVICE_API_PREFIX.length) : pathname;
    this.#requests.add(`${method === 'HEAD' ? 'GET' : method} ${path}`);
    if (!isVersioned) this.#features.add('no version');
    if ([...searchParams.keys()].some((name) => name !== 'after' && name !== 'types')) this.#features.add('parameter');
    if (path !== '/events') return;
    this.#open += 1;
    response.once('close', () => {
      this.#open -= 1;
    });
    if (this.#open > 1) this.#features.add('two streams');
    this.#noteCursors(searchParams.get('after') ?? undefined, String(headers['last-event-id'] ?? '') || undefined);
    const types = searchParams.getAll('types');
    if (types.length > 0) this.#features.add('types');
    if (types.length > 1 || types.some((each) => each.includes(','))) this.#features.add('several types');
  }

  #noteCursors(after: string | undefined, header: string | undefined): void {
    if (after !== undefined) this.#features.add('after');
    if (header !== undefined) this.#features.add('header');
    if (after !== undefined && header !== undefined) this.#features.add('both');
    for (const cursor of [after, header]) {
      if (cursor === undefined) continue;
      if (!/^\d+$/.test(cursor)) this.#features.add('malformed');
      if (/^0+$/.test(cursor)) this.#features.add('zero');
      if (cursor.length > LONGEST_USUAL) this.#features.add('huge');
    }
  }
}

const ALL: ReadonlyMap<string, Variant<DeviceBehaviour>> = new Map(
  [...(deviceDefects as readonly Variant<DeviceBehaviour>[]), ...deviceVariants].map((each) => [each.name, each]),
);
