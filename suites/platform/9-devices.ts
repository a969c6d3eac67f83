/** Section 9: expansions of a device, and its status `archived`. */
import { codenamesBefore, codenamesFrom, type SupportedCodename } from '../../harness/contract/versions.ts';
import { requirement } from '../../harness/runner/define.ts';
import { createDevice, mayWrite } from './support/create.ts';
import { asPage, getList, type Item, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { inVersion, refused } from './support/send.ts';
import { walk } from './support/walk.ts';

const EXPAND = requirement({
  id: 'platform.device.expand',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'From 2026-05-06.rainier on devices carry current_release and current_deployment when these are expanded, and only then.',
});
const FIELDS = { current_release: 'release', current_deployment: 'deployment' } as const;

async function devices(t: Platform): Promise<void> {
  if (!(await served(t)).includes('devices')) t.notApplicable('the platform lists no devices');
  const { data } = await page(t, 'devices', { limit: 1 });
  if (data.length > 0) return;
  if (!mayWrite(t)) t.notApplicable('the platform has no device, and the run may create none');
  await createDevice(t);
}

const expand = codenamesFrom('rainier').map((codename) =>
  check(EXPAND, { needs: [codename], sharing: 'exclusive', aspect: codename }, async (run: Platform) => {
    const t: Platform = inVersion(run, codename);
    await devices(t);
    const { data: plain } = await page(t, 'devices', { limit: 100 });
    for (const field of Object.keys(FIELDS)) {
      const carries = plain.find((device) => typeof device[field] === 'object' && device[field] !== null);
      t.must(carries === undefined, {
        expected: `no ${field} in devices without expand=${field}`,
        actual: JSON.stringify(carries),
        counterexample: 'GET /devices?limit=100',
      });
      const empty = plain.find((device) => field in device);
      t.should(empty === undefined, { expected: `${field} to be omitted, not empty`, actual: JSON.stringify(empty) });
    }
    const busy = await withDeployment(t);
    for (const [field, object] of Object.entries(FIELDS)) {
      const shown = await withExpansion(t, plain, field);
      for (const device of shown) {
        const wanted = { device, field, object, busy: busy.has(device.id) };
        if (!wanted.busy || isThere(device[field])) expanded(t, wanted);
        // What was deployed when the deployments were read need not be any more.
        else expanded(t, { ...wanted, busy: (await withDeployment(t)).has(device.id), ...(await again(t, wanted)) });
      }
      const [other = ''] = Object.keys(FIELDS).filter((name) => name !== field);
      const uninvited = shown.find((device) => isThere(device[other]));
      t.must(uninvited === undefined, {
        expected: `no ${other} with expand=${field}`,
        actual: JSON.stringify(uninvited),
        counterexample: `GET /devices?limit=100&expand=${field}`,
      });
      if (!shown.some((device) => isThere(device[field]))) t.note(`no device that is listed has a ${field}`);
    }
    for (const device of await withExpansion(t, plain, ...Object.keys(FIELDS))) consistent(t, device);
  }),
);

const isThere = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Devices that certainly have a current deployment: one of theirs is deployed, and meant to be. */
async function withDeployment(t: Platform): Promise<Set<unknown>> {
  if (!(await served(t)).includes('deployments')) return new Set();
  const { items } = await walk(t, 'deployments', { limit: 100, pages: 10 });
  const holds = (item: Item): boolean =>
    item['activity_status'] === 'deployed' && item['target_status'] === 'deployed' && item['error_status'] === 'none';
  return new Set(items.filter(holds).map((item) => item['device_id']));
}

/** That lists expand is not shown. Where they do not, or refuse to, a device by itself may. */
async function withExpansion(t: Platform, plain: readonly Item[], ...fields: string[]): Promise<Item[]> {
  const response = await getList(t, 'devices', { limit: 100, expand: fields });
  const listed = refused(response) ? undefined : asPage(t, 'devices', response).data;
  const has = (device: Item): boolean => fields.some((field) => field in device);
  if (listed?.some(has)) return listed;
  const some = await Promise.all((listed ?? plain).slice(0, 10).map(({ id }) => read(t, 'devices', id, fields)));
  if (listed !== undefined && !some.some(has)) return listed;
  t.note(`expand=${fields.join('&expand=')} takes effect on GET /devices/{device_id} alone`);
  return some;
}

async function again(t: Platform, { device, field }: Expanded): Promise<{ device: Item }> {
  return { device: await read(t, 'devices', device.id, [field]) };
}

interface Expanded {
  device: Item;
  field: string;
  object: string;
  /** Certainly has what is asked for. */
  busy: boolean;
}

function expanded(t: Platform, { device, field, object, busy }: Expanded): void {
  const value = device[field] as Item | null | undefined;
  const there = isThere(value);
  const finding = {
    expected: `${field} to be a ${object} with expand=${field}${busy ? ', as a deployment of that device is deployed' : ', or null or omitted where there is none'}`,
    actual: value === undefined ? `no ${field} in ${device.id}` : JSON.stringify(value),
    counterexample: `GET /devices?limit=100&expand=${field}`,
  };
  t.must(!there || (value?.object === object && typeof value.id === 'string'), finding);
  t.must(there || value === null || (value === undefined && !busy), finding);
  t.should(there || !busy, finding);
}

function consistent(t: Platform, device: Item): void {
  const deployment = device['current_deployment'] as Item | null | undefined;
  const release = device['current_release'] as Item | null | undefined;
  if (!deployment) return;
  t.should(deployment['device_id'] === device.id, {
    expected: `current_deployment of ${device.id} to be one of its own`,
    actual: `it belongs to ${deployment['device_id']}`,
  });
  t.should(!release || deployment['release_id'] === release.id, {
    expected: 'current_release to be that of current_deployment',
    actual: `${release?.id} and ${deployment['release_id']}`,
  });
}

const ARCHIVED = requirement({
  id: 'platform.device.archived',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'The device status archived, new in 2026-08-17.everglades, is never shown to a client of an older version.',
});
const archived = check(ARCHIVED, { needs: ['everglades', 'tetons', 'rainier'] }, async (t: Platform) => {
  const list = async (codename: SupportedCodename): Promise<Item[]> => {
    const versioned = inVersion(t, codename);
    if (!(await served(versioned)).includes('devices')) t.notApplicable('the platform lists no devices');
    return (await walk(versioned, 'devices', { limit: 100, pages: 10 })).items;
  };
  for (const codename of codenamesBefore('everglades')) {
    const shown = (await list(codename)).find((device) => device['status'] === 'archived');
    t.must(shown === undefined, {
      expected: `no device with status archived in ${codename}`,
      actual: JSON.stringify(shown),
    });
  }
  const newest = await list('everglades');
  if (!newest.some((device) => device['status'] === 'archived'))
    t.notApplicable('no device that is listed is archived');
});

export const deviceChecks = [...expand, archived];
