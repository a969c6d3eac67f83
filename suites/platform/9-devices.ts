/**
 * Section 9: what devices show when `current_release` and `current_deployment` are expanded, and their status
 * `archived`.
 */
import {
  codenamesBefore,
  codenamesFrom,
  SUPPORTED_CODENAMES,
  type SupportedCodename,
} from '../../harness/contract/versions.ts';
import { type Platform, section } from './support/check.ts';
import { createDevice, LISTED_AT_MOST, mayWrite } from './support/create.ts';
import { getList, getPage, type Item, pageFrom, readItem, servedCollections, walk } from './support/lists.ts';
import { inVersion, refused } from './support/requests.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '9', since: '2026-11-21' });

const expand = requirement({
  id: 'platform.device.expand',
  clause: 'devices can expand `current_release` and `current_deployment` via `expand`',
  text:
    'From 2026-05-06.rainier on, devices carry current_release and current_deployment if these are expanded, ' +
    'and only then.',
});
const EXPANSIONS = { current_release: 'release', current_deployment: 'deployment' } as const;
const FIELDS = Object.keys(EXPANSIONS) as (keyof typeof EXPANSIONS)[];

for (const codename of codenamesFrom('rainier'))
  check(
    expand,
    {
      needs: [codename],
      sharing: 'exclusive',
      aspect: codename,
      premises: ['platform.list.items', `platform.version.supported.${codename}`],
    },
    async (t: Platform) => {
      const versioned = inVersion(t, codename);
      await requireDevice(versioned);
      const { data: plain } = await getPage(versioned, 'devices', { limit: 100 });
      for (const field of FIELDS) mustNotBeExpanded(t, plain, field);
      const deployed = await devicesWithDeployment(versioned);
      let seen = 0;
      for (const field of FIELDS) seen += await mustExpand(versioned, plain, field, deployed);
      if (seen === 0) t.undecided('no listed device has a current release or deployment');
      for (const device of await expandedDevices(versioned, plain, ...FIELDS)) shouldBeConsistent(t, device);
    },
  );

async function requireDevice(t: Platform): Promise<void> {
  if (!(await servedCollections(t)).includes('devices')) t.undecided('the platform lists no devices');
  const { data } = await getPage(t, 'devices', { limit: 1 });
  if (data.length > 0) return;
  if (!mayWrite(t)) t.undecided('the platform has no device, and the run may create none');
  await createDevice(t);
}

const isResource = (value: unknown): boolean => typeof value === 'object' && value !== null;

function mustNotBeExpanded(t: Platform, plain: readonly Item[], field: string): void {
  const expanded = plain.find((device) => isResource(device[field]));
  t.must(expanded === undefined, {
    expected: `no ${field} in devices without expand=${field}`,
    actual: JSON.stringify(expanded),
    counterexample: 'GET /devices?limit=100',
  });
  const empty = plain.find((device) => field in device);
  t.should(empty === undefined, { expected: `${field} to be omitted, not empty`, actual: JSON.stringify(empty) });
}

/**
 * The ids of devices that certainly have a current deployment: one of theirs is deployed, has that target and no error.
 */
async function devicesWithDeployment(t: Platform): Promise<Set<unknown>> {
  if (!(await servedCollections(t)).includes('deployments')) return new Set();
  const { items } = await walk(t, 'deployments', LISTED_AT_MOST);
  const isCurrent = (item: Item): boolean =>
    item['activity_status'] === 'deployed' && item['target_status'] === 'deployed' && item['error_status'] === 'none';
  return new Set(items.filter(isCurrent).map((item) => item['device_id']));
}

/** Returns how many devices show the resource. */
async function mustExpand(
  t: Platform,
  plain: readonly Item[],
  field: keyof typeof EXPANSIONS,
  deployed: ReadonlySet<unknown>,
): Promise<number> {
  const devices = await expandedDevices(t, plain, field);
  for (const device of devices) {
    if (isResource(device[field]) || !deployed.has(device.id)) {
      mustBeResource(t, { device, field, hasDeployment: deployed.has(device.id) });
      continue;
    }
    // Its deployment may have been replaced since the deployments were read, so both are read again.
    const hasDeployment = (await devicesWithDeployment(t)).has(device.id);
    mustBeResource(t, { device: await readItem(t, 'devices', device.id, [field]), field, hasDeployment });
  }
  const [other] = FIELDS.filter((name) => name !== field);
  const unasked = devices.find((device) => isResource(device[other ?? '']));
  t.must(unasked === undefined, {
    expected: `no ${other} with expand=${field}`,
    actual: JSON.stringify(unasked),
    counterexample: `GET /devices?limit=100&expand=${field}`,
  });
  const seen = devices.filter((device) => isResource(device[field])).length;
  if (seen === 0) t.note(`no listed device has a ${field}`);
  return seen;
}

/**
 * The specification does not show that lists expand. If a list does not, or refuses to, single devices are read
 * instead.
 */
async function expandedDevices(t: Platform, plain: readonly Item[], ...fields: string[]): Promise<Item[]> {
  const response = await getList(t, 'devices', { limit: 100, expand: fields });
  const listed = refused(response) ? undefined : pageFrom(t, 'devices', response).data;
  const isExpanded = (device: Item): boolean => fields.some((field) => field in device);
  if (listed?.some(isExpanded)) return listed;
  const single = await Promise.all((listed ?? plain).slice(0, 10).map(({ id }) => readItem(t, 'devices', id, fields)));
  if (listed !== undefined && !single.some(isExpanded)) return listed;
  t.observe('expand of devices', 'takes effect on GET /devices/{device_id} only');
  return single;
}

interface Expanded {
  device: Item;
  field: keyof typeof EXPANSIONS;
  /** The device certainly has a current deployment. */
  hasDeployment: boolean;
}

function mustBeResource(t: Platform, { device, field, hasDeployment }: Expanded): void {
  const object = EXPANSIONS[field];
  const value = device[field] as Item | null | undefined;
  const isThere = isResource(value);
  const condition = hasDeployment
    ? ', as a deployment of that device is deployed'
    : ', or null or omitted where there is none';
  const finding = {
    expected: `${field} to be a ${object} with expand=${field}${condition}`,
    actual: value === undefined ? `no ${field} in ${device.id}` : JSON.stringify(value),
    counterexample: `GET /devices?limit=100&expand=${field}`,
  };
  t.must(!isThere || (value?.object === object && typeof value.id === 'string'), finding);
  t.must(isThere || value === null || (value === undefined && !hasDeployment), finding);
  t.should(isThere || !hasDeployment, finding);
}

/** Section 2.2: kept for history, or only ready to be deployed. */
const INACTIVE: ReadonlySet<unknown> = new Set(['archived', 'staged']);

function shouldBeConsistent(t: Platform, device: Item): void {
  const deployment = device['current_deployment'] as Item | null | undefined;
  const release = device['current_release'] as Item | null | undefined;
  if (!deployment) return;
  t.should(!INACTIVE.has(deployment['activity_status']), {
    expected: `current_deployment of ${device.id} to be one that is active on the device`,
    actual: `${deployment.id}, which is ${deployment['activity_status']}`,
  });
  t.should(deployment['device_id'] === device.id, {
    expected: `current_deployment of ${device.id} to be one of its own`,
    actual: `it belongs to ${deployment['device_id']}`,
  });
  t.should(!release || deployment['release_id'] === release.id, {
    expected: 'current_release to be that of current_deployment',
    actual: `${release?.id} and ${deployment['release_id']}`,
  });
}

export const archived = requirement({
  id: 'platform.device.archived',
  clause: 'devices report an `archived` status',
  text: 'A client of an older version never sees the device status archived, which is new in 2026-08-17.everglades.',
});
check(
  archived,
  {
    needs: ['everglades', 'tetons', 'rainier'],
    premises: SUPPORTED_CODENAMES.map((codename) => `platform.version.supported.${codename}`),
  },
  async (t: Platform) => {
    const before = await statuses(t, 'everglades');
    const older: [SupportedCodename, Statuses][] = [];
    for (const codename of codenamesBefore('everglades')) {
      const shown = await statuses(t, codename);
      const device = archivedIn(shown);
      t.must(device === undefined, { expected: `no device with status archived in ${codename}`, actual: device });
      older.push([codename, shown]);
    }
    const after = await statuses(t, 'everglades');
    for (const [codename, shown] of older) shouldBeAlike(t, codename, shown, { before, after });
    if (archivedIn(after) === undefined) t.notApplicable('no listed device is archived');
  },
);

/** By the ids of devices. */
type Statuses = ReadonlyMap<string, unknown>;

async function statuses(t: Platform, codename: SupportedCodename): Promise<Statuses> {
  const versioned = inVersion(t, codename);
  if (!(await servedCollections(versioned)).includes('devices')) t.undecided('the platform lists no devices');
  const { items } = await walk(versioned, 'devices', LISTED_AT_MOST);
  return new Map(items.map((device) => [device.id, device['status']]));
}

const archivedIn = (shown: Statuses): string | undefined => [...shown].find(([, status]) => status === 'archived')?.[0];

/** A status that does not change while lists are read, and that older versions know. */
function shouldBeAlike(
  t: Platform,
  codename: SupportedCodename,
  shown: Statuses,
  { before, after }: Record<'before' | 'after', Statuses>,
): void {
  const other = [...shown].find(([id, status]) => {
    const now = after.get(id);
    return now !== 'archived' && now === before.get(id) && now !== status;
  });
  t.should(other === undefined, {
    expected: `device ${other?.[0]} to be ${after.get(other?.[0] ?? '')}, as in the newest version`,
    actual: `${other?.[1]} in ${codename}`,
  });
}
