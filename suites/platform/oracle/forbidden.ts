/** Writes that have to be refused: without a key, with a wrong one, in versions that are gone; and pings. */
import type { Operation } from '../../../harness/contract/platform/operation.ts';
import { operationsOf } from '../../../harness/contract/platform/operations.ts';
import { END_OF_LIFE_VERSIONS, NEWEST_VERSION, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { MILLISECOND_NANOS, pingCode } from '../support/ping.ts';
import { ok } from '../support/requests.ts';
import type { Ask } from './exchange.ts';
import { type Explorer, operation } from './explorer.ts';
import type { World } from './world.ts';

/** Every write, once in each version, as it would be carried out with the right key. */
export function forbiddenWrites(ex: Explorer, world: World): Ask[] {
  const [ended] = END_OF_LIFE_VERSIONS;
  const asks = (version: string, has: SupportedVersion, key: () => Ask['key']): Ask[] =>
    operationsOf(has).flatMap((each): Ask[] => {
      const write = each.method === 'GET' ? undefined : bodyOf(each, world);
      if (write === undefined || !isServed(ex, each)) return [];
      return [{ operation: each, version, key: key(), query: [], ...write }];
    });
  return [
    ...ex.versions.flatMap((version) => asks(version, version, () => ex.draw.one(['none', 'wrong'] as const))),
    ...asks(ex.newest, NEWEST_VERSION, () => 'none'),
    ...asks(ex.newest, NEWEST_VERSION, () => 'wrong'),
    ...(ended === undefined ? [] : asks(ended, NEWEST_VERSION, () => 'full')),
  ];
}

/** What the run could not do with the right key shows nothing. Tokens and pings are asked for elsewhere. */
const isServed = ({ model }: Explorer, { id, kind }: Operation): boolean =>
  kind === undefined || [...model.served].some((each) => each.startsWith(`${id} `));

/** The record and the body of a write; undefined where something that it needs is not there. */
function bodyOf({ id }: Operation, world: World): Pick<Ask, 'ids' | 'body'> | undefined {
  const {
    writes,
    types: [type],
    devices: [device],
    groups: [group],
    parts: [part],
  } = world;
  const [name, of] = [writes.names.next(), (record: { id: string } | undefined) => (record ? [record.id] : undefined)];
  const schema = part?.schema.id;
  const staged = world.deployments.find(({ members }) => members.get('target_status')?.value === 'staged');
  const [ids, body] = ((): [readonly string[] | undefined, object] => {
    switch (id) {
      case 'createDevice':
      case 'createGroup':
        return [[], { name }];
      case 'createConfigType':
        return [[], { name, slug: name }];
      case 'createRelease':
        return [schema && [], { version: `v1.${writes.names.number}.1`, config_schema_ids: [schema] }] as [[], object];
      case 'createConfigInstance':
        return [schema && [], { config_schema_id: schema, content: { format: 'json', data: '{}' } }] as [[], object];
      case 'updateDevice':
        return [of(device), { name }];
      case 'pingDevice':
        return [of(device), { timeout_nanos: MILLISECOND_NANOS }];
      case 'updateConfigType':
        return [of(type), { name }];
      case 'updateGroup':
        return [of(group), { name }];
      case 'moveGroup':
        return [of(group), { parent_id: null }];
      case 'archiveDeployment':
        return [of(staged), {}];
      case 'createProvisioningToken':
        return [[], {}];
      default:
        return [undefined, {}];
    }
  })();
  return ids && { ids, body };
}

const PINGS = 3;
const WAIT_NANOS = 5000 * MILLISECOND_NANOS;

/** A ping of a device that answers, and of one that does not, in every version and with each key. */
export async function pings(ex: Explorer, offline: string | undefined): Promise<void> {
  const { t } = ex;
  const ping = (device: string, key: Ask['key'], version: string, nanos: number) =>
    ex.look({
      operation: operation('pingDevice'),
      version,
      key,
      ids: [device],
      query: [],
      body: { timeout_nanos: nanos },
    });
  for (const version of ex.versions) {
    const device = t.onlineDevice ?? offline;
    if (device === undefined) return;
    await ping(device, 'none', version, MILLISECOND_NANOS);
    if (t.limitedKey !== undefined) await ping(device, 'limited', version, MILLISECOND_NANOS);
    if (offline !== undefined) await ping(offline, 'full', version, MILLISECOND_NANOS);
    if (t.onlineDevice === undefined) continue;
    let exchange = await ping(t.onlineDevice, 'full', version, WAIT_NANOS);
    // A message to a device can get lost without any fault of the platform.
    for (let times = 1; times < PINGS && pingCode(exchange) !== 'success'; times += 1)
      exchange = await ping(t.onlineDevice, 'full', version, WAIT_NANOS);
    if (!ok(exchange) || pingCode(exchange) === 'success') continue;
    return ex.hold(exchange, false, { what: 'shape', path: '/code' }, () => ({
      expected: 'code success from an online device',
      actual: pingCode(exchange),
    }));
  }
}
