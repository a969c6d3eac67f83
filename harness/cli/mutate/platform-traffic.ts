/** What tests asked a simulated platform for. */
import type { Variant } from '../../../simulators/defects/define.ts';
import { type PlatformBehaviour, referenceBehaviour } from '../../../simulators/platform/index.ts';
import { LIST_LIMITS } from '../../contract/limits.ts';
import type { Operation, ResourceKind } from '../../contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../contract/platform/operations.ts';
import type { Subject, Traffic } from '../../mutate/subject.ts';
import { type Place, Tally, undecided, unseenIn, watched } from './traffic.ts';

/** What a request had. */
type Feature =
  | 'no key'
  | 'a wrong key'
  | 'no valid version'
  | 'a scope that the key lacks'
  | 'a limit above the largest'
  | 'a limit below 1'
  | 'an offset'
  | 'a negative offset'
  | 'a huge number'
  | 'no number'
  | 'a refused ping';

/** Beyond what 32 bits hold. */
const HUGE = 2 ** 31;

interface Seen {
  readonly operations: ReadonlySet<Operation>;
  readonly features: ReadonlySet<Feature>;
  /** Kinds of resources that were shown, by expansions too. */
  readonly kinds: ReadonlySet<ResourceKind>;
  readonly decisions: Tally;
}

const uses =
  (fits: (operation: Operation) => boolean) =>
  ({ operations }: Seen): boolean =>
    [...operations].some(fits);
const sends =
  (feature: Feature) =>
  ({ features }: Seen): boolean =>
    features.has(feature);

const about = (ids: string, kind: ResourceKind): Place<Seen> => ({
  ids: `platform.${ids}.`,
  shows: ({ kinds }) => kinds.has(kind),
  never: `look at ${RESOURCES[kind].collection.replace('_', ' ')}`,
});
const writing = (ids: string, path: string): Place<Seen> => ({
  ids: `platform.${ids}`,
  shows: uses((operation) => operation.method !== 'GET' && operation.path.startsWith(path)),
  never: `write to ${path}`,
});
const withheld: Omit<Place<Seen>, 'ids'> = {
  shows: sends('no valid version'),
  never: 'send a version that is refused',
};

const PLACES: readonly Place<Seen>[] = [
  { ids: 'platform.auth.key-required', shows: sends('no key'), never: 'leave out the key' },
  { ids: 'platform.auth.key-wrong', shows: sends('a wrong key'), never: 'send a wrong key' },
  {
    ids: 'platform.auth.scope',
    shows: sends('a scope that the key lacks'),
    never: 'use a key with fewer scopes',
  },
  ...['end-of-life', 'malformed', 'omitted', 'unknown'].map((each) => ({
    ids: `platform.version.${each}`,
    ...withheld,
  })),
  {
    ids: 'platform.list.clamp.high',
    shows: sends('a limit above the largest'),
    never: 'send a limit above the largest',
  },
  { ids: 'platform.list.clamp.low', shows: sends('a limit below 1'), never: 'send a limit below 1' },
  {
    ids: 'platform.list.clamp.nearest',
    shows: (seen) => sends('a limit below 1')(seen) || sends('a limit above the largest')(seen),
    never: 'send a limit out of range',
  },
  { ids: 'platform.list.clamp.huge', shows: sends('a huge number'), never: 'send a huge limit or offset' },
  { ids: 'platform.list.clamp.nonsense', shows: sends('no number'), never: 'send a limit that is no number' },
  { ids: 'platform.list.clamp.offset', shows: sends('a negative offset'), never: 'send a negative offset' },
  { ids: 'platform.list.past-end', shows: sends('an offset'), never: 'send an offset' },
  { ids: 'platform.ping.limit', shows: sends('a refused ping'), never: 'send a ping that is refused' },
  { ids: 'platform.list.', shows: uses(({ list }) => list === true), never: 'list anything' },
  { ids: 'platform.ping.', shows: uses(({ path }) => path.endsWith('/ping')), never: 'ping a device' },
  ...['created', 'parent'].map((each) => writing(`deployment.${each}`, '/deployments')),
  {
    ids: 'platform.group.tree',
    shows: uses(
      ({ method, path }) =>
        (method !== 'GET' && path.startsWith('/groups')) || (method === 'PATCH' && path.startsWith('/devices')),
    ),
    never: 'write to /groups, or change a device',
  },
  writing('provisioning-token', '/provisioning_tokens'),
  about('deployment', 'deployment'),
  about('config-instance', 'config_instance'),
  writing('config-type.slug', '/config_types'),
  about('schema', 'config_schema'),
  {
    ids: 'platform.device.expand',
    shows: ({ kinds }) => [...kinds].some((kind) => Object.keys(RESOURCES[kind].expansions).length > 0),
    never: 'look at anything that can be expanded',
  },
  about('device', 'device'),
  {
    ids: 'platform.robust.names',
    shows: uses(({ method, path }) => method !== 'GET' && !path.endsWith('/ping')),
    never: 'write anything',
  },
  { ids: 'platform.robust.fields', shows: uses(({ method }) => method !== 'GET'), never: 'write anything' },
  {
    ids: 'platform.robust.',
    shows: ({ decisions }) => decisions.of('error') > 0,
    never: 'send what is refused',
  },
];

export class PlatformTraffic implements Traffic {
  readonly #decisions = new Tally();
  readonly #requests = new Tally();
  readonly #operations = new Set<Operation>();
  readonly #features = new Set<Feature>();
  readonly #kinds = new Set<ResourceKind>();
  readonly #known: ReadonlyMap<string, Variant<PlatformBehaviour>>;

  /** `known`: what can be planted, by name. */
  constructor(known: ReadonlyMap<string, Variant<PlatformBehaviour>>) {
    this.#known = known;
  }

  /** The same behaviour, which tells what is asked of it. */
  watching(behaviour: PlatformBehaviour): PlatformBehaviour {
    const note = (feature: Feature, is: boolean): void => void (is && this.#features.add(feature));
    const noteNumber = (value: number | undefined): void => {
      note('a huge number', Math.abs(value ?? 0) >= HUGE);
      note('no number', value !== undefined && !Number.isInteger(value));
    };
    return watched<PlatformBehaviour>(
      {
        ...behaviour,
        authenticate: (found, presented, all, id) => {
          const operation = OPERATIONS.find((each) => each.id === id);
          if (operation !== undefined) this.#operations.add(operation);
          this.#requests.add(operation === undefined ? id : `${operation.method} ${operation.path}`);
          note('no key', presented === undefined);
          note('a wrong key', presented !== undefined && found === undefined);
          return behaviour.authenticate(found, presented, all, id);
        },
        resource: (kind, resource, version) => {
          // What was shown before the first request was shown to Muster.
          if (this.asked.size > 0) this.#kinds.add(kind);
          return behaviour.resource?.(kind, resource, version) ?? resource;
        },
        version: (header, operation) => {
          const version = behaviour.version(header, operation);
          note('no valid version', version === undefined);
          return version;
        },
        permits: (key, scope) => {
          const permitted = behaviour.permits(key, scope);
          note('a scope that the key lacks', !permitted);
          return permitted;
        },
        clampLimit: (values) => {
          const [value] = values.map(Number);
          note('a limit above the largest', (value ?? 0) > LIST_LIMITS.limitMaximum);
          note('a limit below 1', (value ?? 1) < 1);
          noteNumber(value);
          return behaviour.clampLimit(values);
        },
        clampOffset: (values) => {
          const [value] = values.map(Number);
          note('an offset', value !== undefined);
          note('a negative offset', (value ?? 0) < 0);
          noteNumber(value);
          return behaviour.clampOffset(values);
        },
        pingTimeout: (asked) => {
          const timeout = behaviour.pingTimeout(asked);
          note('a refused ping', timeout === 'refuse');
          return timeout;
        },
      },
      this.#decisions,
    );
  }

  /** As if nothing had been asked. What it decided for that stays: it may have decided more, for itself. */
  forgetRequests(): void {
    this.#requests.counts.clear();
    for (const seen of [this.#operations, this.#features, this.#kinds]) seen.clear();
  }

  get asked(): ReadonlyMap<string, number> {
    return this.#requests.counts;
  }

  unseen(subject: Subject): string | undefined {
    if (this.asked.size === 0) return 'the tests asked the platform nothing';
    const seen = {
      operations: this.#operations,
      features: this.#features,
      kinds: this.#kinds,
      decisions: this.#decisions,
    };
    return (
      unseenIn(PLACES, subject, seen) ?? undecided(this.#known.get(subject.name), referenceBehaviour, this.#decisions)
    );
  }
}
