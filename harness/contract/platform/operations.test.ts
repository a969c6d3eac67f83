import { expect, it } from 'vitest';
import {
  END_OF_LIFE_VERSIONS,
  NEWEST_VERSION,
  PLATFORM_VERSIONS,
  SUPPORTED_VERSIONS,
  versionsFrom,
} from '../versions.ts';
import { OPERATIONS, operationsOf, RESOURCES } from './operations.ts';

const TETONS = '2026-03-09.tetons';

it('operations without a last version exist in the newest version', () => {
  const open = OPERATIONS.filter(({ last }) => last === undefined).map(({ id }) => id);
  expect(operationsOf(NEWEST_VERSION).map(({ id }) => id)).toEqual(open);
});

it('operations have a unique id, and a unique route in each version', () => {
  const ids = OPERATIONS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const version of SUPPORTED_VERSIONS) {
    const routes = operationsOf(version).map(({ method, path }) => `${method} ${path}`);
    expect(new Set(routes).size).toBe(routes.length);
  }
});

it.each(SUPPORTED_VERSIONS)('operations require a scope in %s, except for getSelf', (version) => {
  const free = operationsOf(version).filter(({ scopes }) => scopes.length === 0);
  expect(free.map(({ id }) => id)).toEqual(['getSelf']);
});

it('operations of a ping require devices:read (section 4.2)', () => {
  const ping = OPERATIONS.find(({ path }) => path === '/devices/{device_id}/ping');
  expect(ping).toMatchObject({ method: 'POST', scopes: ['devices:read'] });
});

it.each([
  ['createProvisioningToken', versionsFrom('rainier')],
  ['createDeviceActivationToken', [TETONS]],
  ['listGroups', versionsFrom('everglades')],
])('operations include %s only in the versions of section 9', (id, versions) => {
  const having = SUPPORTED_VERSIONS.filter((version) => operationsOf(version).some((one) => one.id === id));
  expect(having).toEqual(versions);
});

it('resources have an id prefix and a collection of their own', () => {
  const all = Object.values(RESOURCES);
  expect(new Set(all.map(({ prefix }) => prefix)).size).toBe(all.length);
  expect(new Set(all.map(({ collection }) => collection)).size).toBe(all.length);
});

it.each(Object.values(RESOURCES))('resources of kind $kind have an object and an id in every version', ({ fields }) => {
  for (const version of SUPPORTED_VERSIONS) expect(Object.keys(fields(version)).slice(0, 2)).toEqual(['object', 'id']);
});

it('the table of API versions holds the versions of section 9, oldest first', () => {
  const released = ['2025-10-21.zion', '2026-03-09.tetons', '2026-05-06.rainier', '2026-08-17.everglades'];
  expect(PLATFORM_VERSIONS.slice(0, released.length)).toEqual(released);
  expect(PLATFORM_VERSIONS.toSorted()).toEqual(PLATFORM_VERSIONS);
  expect(versionsFrom('rainier').slice(0, 2)).toEqual(released.slice(2));
  expect(END_OF_LIFE_VERSIONS).toEqual(['2025-10-21.zion']);
});
