/** Tries the platform's routes before a run, and finds substitutes for missing routes. */

import { randomBytes } from 'node:crypto';
import { defined } from '../../../harness/common/defined.ts';
import { wrongBaseUrl } from '../../../harness/common/usage.ts';
import { isPassing } from '../../../harness/common/waiting.ts';
import { AGENT_BASE_PATH } from '../../../harness/contract/agent.ts';
import { LIST_LIMITS } from '../../../harness/contract/lists.ts';
import { objectShape, shape, Type } from '../../../harness/contract/shape.ts';
import { deploymentFilter, listedDeployments } from '../../device/uplink/polling.ts';
import { allPages } from '../../device/uplink/sync.ts';
import { PreflightError, UnreachableError } from '../run/errors.ts';
import { robotName, type Scenario, TRAFFIC_NAMES, uplinksIn } from '../scenario/scenario.ts';
import {
  type PlatformAddress,
  PlatformClient,
  PlatformFailure,
  type ReleaseFixture,
  resource,
  sendUntilTaken,
  token,
  UNANSWERED,
} from './client.ts';
import { type Part, type RouteName, routesFor } from './routes.ts';

export interface Offer {
  /** Ids of existing devices, by index of the robot; robots with the uplink `calls` can share devices. */
  devices?: string[];
  readsPages?: true;
  expand?: string;
  releaseId?: string;
  plain?: true;
  staged?: true;
  /** Set if robots must apply staged deployments, because the platform cannot deploy them. */
  takesStaged?: true;
}

export interface SurveyOptions {
  address: PlatformAddress;
  scenario: Pick<Scenario, 'uplink' | 'classes' | 'phases'>;
  robots: number;
  namePrefix: string;
  first: number;
  devices?: readonly string[] | undefined;
  signal: AbortSignal;
}

/** Maximum milliseconds of retries of the first and of set-up requests; the platform may be restarting. */
const REACH_MS = 3000;
const PAGE = LIST_LIMITS.limitMaximum;

const anything = shape('JSON document', Type.Unknown());
const deviceList = objectShape('list of devices', {
  has_more: Type.Boolean(),
  data: Type.Array(Type.Object({ id: Type.String(), name: Type.Optional(Type.Unknown()) })),
});
const expandedList = objectShape('list of devices with their deployments', {
  data: Type.Array(Type.Object({ current_deployment: Type.Unknown() })),
});
const releaseList = objectShape('list of releases', { data: Type.Array(Type.Object({ id: Type.String() })) });

const NOT_SERVED = 'was answered 404';

/**
 * May create a release and a provisioning token on the platform, a device for a polling robot, and a deployment.
 * Rejects with UnreachableError or PreflightError.
 */
export async function surveyPlatform(options: SurveyOptions) {
  const { signal, scenario } = options;
  const uplinks = uplinksIn(scenario);
  const surveyor = new Surveyor(options);
  const close = (): Promise<void> => surveyor.client.close();
  signal.addEventListener('abort', close, { once: true });
  const { notes } = surveyor;
  const lacking: string[] = [];
  try {
    await surveyor.reach();
    for (const [name, { route, instead, own }] of routesFor(uplinks, surveyor.parts)) {
      const why = await surveyor.asks[name]();
      signal.throwIfAborted();
      if (why === undefined) continue;
      const line = `${route} ${why}; instead: ${instead}`.replaceAll('`', '');
      if (own === true) notes.push(line);
      else lacking.push(line);
    }
    lacking.push(...surveyor.shortages());
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PlatformFailure) throw new UnreachableError(`the platform cannot be asked: ${error.message}`);
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
    await close();
  }
  if (lacking.length === 0) return { offer: surveyor.offer, notes };
  if (surveyor.unlisted?.status === 404 && lacking.every((line) => line.includes(NOT_SERVED)))
    lacking.push(`every route ${NOT_SERVED}: ${wrongBaseUrl('--platform')}`);
  const needed = `what robots with uplink ${uplinks.join(' or ')} and this scenario need`;
  throw new PreflightError([`--platform: the platform lacks ${needed}:`, ...lacking].join('\n  '));
}

class Surveyor {
  readonly #options: SurveyOptions;
  readonly client: PlatformClient;
  readonly parts: ReadonlySet<Part>;
  readonly offer: Offer = {};
  readonly notes: string[] = [];
  /** Failure of `GET /devices`. */
  unlisted: PlatformFailure | undefined;
  #some: string | undefined;
  #own: string | undefined;
  #fixture: ReleaseFixture | undefined;
  #noRelease = false;
  #stagedId: string | undefined;

  constructor(options: SurveyOptions) {
    this.#options = options;
    this.client = new PlatformClient({ ...options.address, connections: 2, setUpMs: REACH_MS });
    const { phases } = options.scenario;
    this.parts = new Set([
      'always' as const,
      ...TRAFFIC_NAMES.filter((name) => phases.some((phase) => phase[name] !== undefined)),
      ...phases.flatMap((phase) => (phase.do === 'rollout' ? [phase.do] : [])),
    ]);
    if (options.devices === undefined) return;
    this.offer.devices = [...options.devices];
    this.#own = this.#some = options.devices[options.first] ?? options.devices[0];
  }

  async reach(): Promise<void> {
    const { address, signal } = this.#options;
    try {
      const { data } = await sendUntilTaken(() => this.#page(1, 0), { signal, limitMs: REACH_MS });
      this.#some ??= data[0]?.id;
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      if (error.status === 0)
        throw new UnreachableError(`the platform cannot be reached at ${address.url}: ${error.message}`);
      if (error.status === 401) throw new PreflightError(`--api-key: the platform rejects it: ${error.message}`);
      this.unlisted = error;
    }
  }

  shortages(): string[] {
    const { robots, scenario, devices } = this.#options;
    const found: string[] = [];
    const known = this.offer.devices?.length ?? robots;
    const text = known.toLocaleString('en');
    if (known < robots && uplinksIn(scenario).includes('polling') && this.unlisted === undefined) {
      const has = devices === undefined ? 'the platform has' : '--devices names';
      const some = `${has} ${text} devices, and robots that poll need one each`;
      found.push(`${some}; accepted: --robots ${known} or fewer, or --uplink calls, whose robots share`);
    }
    if (known < robots && scenario.uplink === 'calls')
      this.notes.push(`devices to stand for: ${text}, shared by ${robots.toLocaleString('en')} robots`);
    if (this.#noRelease) found.push('a roll-out needs a release: none can be created, and GET /releases shows none');
    return found;
  }

  /** Tries a route; resolves with the reason why it is missing, e.g. `was answered 404`, or with undefined. */
  readonly asks: Record<RouteName, () => Promise<string | undefined>> = {
    devices: async () => {
      const { uplink } = this.#options.scenario;
      const isNamed = this.offer.devices !== undefined;
      if (this.unlisted === undefined) {
        if (isNamed || uplink !== 'calls') return undefined;
        this.offer.devices = await this.#known();
        return this.offer.devices.length > 0 ? undefined : 'has no devices';
      }
      const asksMore = (['lists', 'reads', 'expands'] as const).some((part) => this.parts.has(part));
      if (isNamed && !asksMore) return undefined;
      // Ends the survey, because a busy platform does not show whether the route exists.
      if (isPassing(this.unlisted.status)) throw this.unlisted;
      const isOld = this.unlisted.status === 400;
      return isOld ? 'was answered 400 (--api-version names an older version)' : answered(this.unlisted);
    },
    read: async () => {
      if (this.#some === undefined) return undefined;
      const path = `/devices/${encodeURIComponent(this.#some)}`;
      const { why } = await look(this.client.ask({ method: 'GET', path }, resource));
      if (why !== undefined) this.offer.readsPages = true;
      return why;
    },
    expand: async () => {
      const path = '/devices?limit=1&expand=current_deployment';
      const { why } = await look(this.client.ask({ method: 'GET', path }, expandedList));
      if (why !== undefined) this.offer.expand = 'total_count';
      return why;
    },
    ping: async () => {
      if (this.#some === undefined) return undefined;
      return (await look(this.client.ping(this.#some, undefined, 100_000_000), ROUTE_EXISTS)).why;
    },
    name: async () => {
      if (this.#own !== undefined || this.unlisted !== undefined) return undefined;
      const name = robotName(this.#options.namePrefix, this.#options.first);
      const found = await look(this.#page(PAGE, 0, `&name=${encodeURIComponent(name)}`));
      const others = found.value?.data.some((device) => device.name !== name) === true;
      const why = found.why ?? (others ? 'lists others too' : undefined);
      if (why === undefined) this.#own = found.value?.data[0]?.id;
      else {
        const called = (names: ReadonlyMap<string, unknown>) => [...names].find(([, other]) => other === name)?.[0];
        this.#own = called(await this.#walk((names) => called(names) !== undefined));
      }
      return why;
    },
    create: async () => {
      if (this.#own !== undefined || this.unlisted !== undefined) return undefined;
      const { first, namePrefix } = this.#options;
      const request = { method: 'POST', path: '/devices', body: { name: robotName(namePrefix, first) } } as const;
      const { why, value } = await look(this.client.ask(request, resource));
      if (why === undefined) this.#own = value?.id;
      else {
        this.offer.devices = await this.#known();
        this.#own = this.offer.devices[first];
      }
      return why;
    },
    deployments: async () =>
      (await look(this.client.ask({ method: 'GET', path: '/deployments?limit=1' }, listedDeployments))).why,
    filter: async () => {
      if (this.#own === undefined) return undefined;
      const path = `/deployments?limit=${PAGE}&${deploymentFilter(this.#own)}&offset=0`;
      const { why, value } = await look(this.client.ask({ method: 'GET', path }, listedDeployments));
      if (why !== undefined) return why;
      const others = value?.data.some(({ device_id }) => device_id !== this.#own) === true;
      return others ? 'lists those of other devices too' : undefined;
    },
    release: async () => {
      // Adds random bytes, because several shards may create releases in the same millisecond.
      const label = `preflight ${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`;
      const { why, value } = await look(this.client.createReleaseFixture(label, '{}'));
      this.#fixture = value;
      if (why === undefined) return undefined;
      const list = await look(this.client.ask({ method: 'GET', path: '/releases?limit=1' }, releaseList));
      const releaseId = list.value?.data[0]?.id;
      if (releaseId === undefined) this.#noRelease = true;
      else {
        this.offer.releaseId = releaseId;
        this.#fixture = { releaseId, configInstanceIds: [] };
      }
      return why;
    },
    deploy: async () => {
      const [device, release] = [this.#own, this.#fixture];
      // Without a device, sends an invalid body, whose rejection proves that the route exists.
      if (device === undefined || release === undefined) {
        const request = { method: 'POST', path: '/deployments', body: {} } as const;
        return (await look(this.client.ask(request, anything), INVALID)).why;
      }
      const attempt = (plain: boolean) =>
        look(this.client.deploy(device, plain ? { ...release, plain: true } : release, 'Preflight'));
      const full = await attempt(false);
      const made = full.refused === true ? await attempt(true) : full;
      if (full.refused === true && made.value !== undefined) this.offer.plain = true;
      if (made.value?.target_status === 'staged') this.#stagedId = made.value.id;
      return made.why;
    },
    action: async () => {
      if (this.#stagedId === undefined) return undefined;
      const { why } = await look(this.client.act(this.#stagedId));
      if (why === undefined) this.offer.staged = true;
      else this.offer.takesStaged = true;
      return why;
    },
    token: async () =>
      (await look(this.client.ask({ method: 'POST', path: '/provisioning_tokens', body: {} }, token))).why,
    agent: async () => {
      const { url, agentUrl, apiKey, dialect, headers } = this.#options.address;
      // Sends the API key only to the host of the Platform API.
      const own = new URL(url).origin === new URL(agentUrl).origin ? apiKey : '';
      const more = defined({ dialect, headers });
      const client = new PlatformClient({ url: agentUrl, apiKey: own, connections: 1, ...more });
      try {
        const path = `${AGENT_BASE_PATH}/deployments?limit=1`;
        return (await look(client.ask({ method: 'GET', path }, anything), new Set([400, 401, 403]))).why;
      } finally {
        await client.close();
      }
    },
  };

  #page(limit: number, offset: number, query = '') {
    return this.client.ask({ method: 'GET', path: `/devices?limit=${limit}${query}&offset=${offset}` }, deviceList);
  }

  async #walk(enough: (devices: ReadonlyMap<string, unknown>) => boolean): Promise<Map<string, unknown>> {
    const { signal } = this.#options;
    const names = new Map<string, unknown>();
    await allPages(async (offset) => {
      const { data, has_more } = await sendUntilTaken(() => this.#page(PAGE, offset), { signal });
      for (const { id, name } of data) names.set(id, name);
      return { data, has_more: has_more && !enough(names) };
    });
    return names;
  }

  async #known(): Promise<string[]> {
    const { robots } = this.#options;
    const names = await this.#walk(({ size }) => size >= robots);
    return [...names.keys()].slice(0, robots);
  }
}

/** Error statuses with which a platform may refuse to ping an offline device. */
const ROUTE_EXISTS: ReadonlySet<number> = new Set([...UNANSWERED, 400, 410, 412, 422]);

const INVALID: ReadonlySet<number> = new Set([400, 409, 422]);

/**
 * `there`: error statuses that prove the route exists. `why`: reason that the route is missing. `refused`: the route
 * rejects the body.
 */
async function look<T>(
  request: Promise<T>,
  there?: ReadonlySet<number>,
): Promise<{ value?: T; why?: string; refused?: true }> {
  try {
    return { value: await request };
  } catch (error) {
    if (!(error instanceof PlatformFailure)) throw error;
    const { status } = error;
    if (isPassing(status) || there?.has(status) === true) return {};
    return { why: answered(error), ...(INVALID.has(status) && { refused: true }) };
  }
}

function answered({ status, message }: PlatformFailure): string {
  if (status === 200) return message.replace(/^\S+ \S+ /, '');
  return `was answered ${status}${status === 403 ? ' (the key lacks a scope)' : ''}`;
}
