/** What tests asked a simulated platform for. */
import type { Variant } from '../../../simulators/defects/define.ts';
import { type PlatformBehaviour, referenceBehaviour } from '../../../simulators/platform/index.ts';
import type { Operation, ResourceKind } from '../../contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../contract/platform/operations.ts';
import type { Subject, Traffic } from '../../mutate/subject.ts';
import { type Place, Tally, undecided, unseenIn, watched } from './traffic.ts';

/** What a request had. */
type Feature = 'no valid key' | 'no valid version' | 'a scope that the key lacks' | 'limit' | 'offset';

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
const keyless: Omit<Place<Seen>, 'ids'> = { shows: sends('no valid key'), never: 'send a key that is refused' };

const PLACES: readonly Place<Seen>[] = [
  { ids: 'platform.auth.key-', ...keyless },
  {
    ids: 'platform.auth.scope',
    shows: sends('a scope that the key lacks'),
    never: 'use a key with fewer scopes',
  },
  ...['end-of-life', 'malformed', 'omitted', 'unknown'].map((each) => ({
    ids: `platform.version.${each}`,
    ...withheld,
  })),
  { ids: 'platform.list.clamp.offset', shows: sends('offset'), never: 'send an offset' },
  { ids: 'platform.list.clamp.', shows: sends('limit'), never: 'send a limit' },
  { ids: 'platform.list.past-end', shows: sends('offset'), never: 'send an offset' },
  { ids: 'platform.list.', shows: uses(({ list }) => list === true), never: 'list anything' },
  { ids: 'platform.ping.', shows: uses(({ path }) => path.endsWith('/ping')), never: 'ping a device' },
  ...['created', 'same', 'parent'].map((each) => writing(`deployment.${each}`, '/deployments')),
  writing('group.tree', '/groups'),
  writing('provisioning-token', '/provisioning_tokens'),
  about('deployment', 'deployment'),
  about('config-instance', 'config_instance'),
  writing('config-type.slug', '/config_types'),
  about('schema', 'config_schema'),
  about('device', 'device'),
  {
    ids: 'platform.robust.names',
    shows: uses(({ method, path }) => method !== 'GET' && !path.endsWith('/ping')),
    never: 'write anything',
  },
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
    return watched<PlatformBehaviour>(
      {
        ...behaviour,
        authenticate: (found, presented, all, id) => {
          const operation = OPERATIONS.find((each) => each.id === id);
          if (operation !== undefined) this.#operations.add(operation);
          this.#requests.add(operation === undefined ? id : `${operation.method} ${operation.path}`);
          note('no valid key', found === undefined);
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
          note('limit', values.length > 0);
          return behaviour.clampLimit(values);
        },
        clampOffset: (values) => {
          note('offset', values.length > 0);
          return behaviour.clampOffset(values);
        },
      },
      this.#decisions,
    );
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
