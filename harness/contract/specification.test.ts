/** Compares the contract with the tables of the specification, because suites and simulators trust the contract. */
import { describe, expect, it } from 'vitest';
import { CAPABILITIES, CAPABILITY_MEANINGS } from './capabilities.ts';
import { deployedPayload, deployment, discoveryFile, eventEnvelope } from './device-api.ts';
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  DEPLOYMENT_ERROR_STATUSES,
  DEPLOYMENT_STATUSES,
  DEPLOYMENT_TARGET_STATUSES,
} from './enums.ts';
import { LIST_LIMITS, listEnvelope, PING_TIMEOUT_MAXIMUM_NANOS, pingRequest, pingResponse } from './lists.ts';
import { sectionTitle } from './sentences.ts';
import type { Shape } from './shape.ts';

const statuses = { status: 'deployed', activity_status: 'deployed', error_status: 'none', target_status: 'deployed' };
const moment = '2026-05-06T10:00:00Z';

const shown = { object: 'deployment', id: 'dpl_1', description: '', device_id: 'dvc_1', release_id: 'rls_1' };
const happened = { object: 'event', id: 7, type: 'deployment.deployed', occurred_at: moment, data: { any: 'thing' } };

const examples: [string, Shape, Record<string, unknown>][] = [
  ['2.1 deployment', deployment, { ...shown, ...statuses, created_at: moment }],
  ['2.3 event', eventEnvelope, happened],
  ['2.4 payload', deployedPayload, { deployment_id: 'dpl_1', release_id: 'rls_1', ...statuses, deployed_at: moment }],
  ['2.5 ping request', pingRequest, { timeout_nanos: 1 }],
  ['2.6 list', listEnvelope, { object: 'list', limit: 10, offset: 0, has_more: false, data: [] }],
  ['5 discovery file', discoveryFile, { port: 4711, token: 'secret' }],
];

describe.each(examples)('section %s', (_section, shape, example) => {
  it('is accepted as the specification shows it', () => {
    expect(shape.problems(example)).toEqual([]);
  });

  it.each(Object.keys(example))('requires %s', (field) => {
    const { [field]: _left, ...rest } = example;
    expect(shape.is(rest)).toBe(false);
    expect(shape.problems(rest)[0]?.message).toContain(field);
  });

  it.each(Object.keys(example))('refuses null as %s', (field) => {
    expect(shape.is({ ...example, [field]: null })).toBe(false);
  });
});

it('section 2.2 lists the values of the four enumerations', () => {
  const activities = ['drifted', 'staged', 'queued', 'deployed', 'removing', 'archived'];
  expect(DEPLOYMENT_STATUSES).toEqual([...activities, 'failed', 'retrying']);
  expect(DEPLOYMENT_ACTIVITY_STATUSES).toEqual(activities);
  expect(DEPLOYMENT_ERROR_STATUSES).toEqual(['none', 'failed', 'retrying']);
  expect(DEPLOYMENT_TARGET_STATUSES).toEqual(['staged', 'deployed', 'archived']);
});

it.each(['id', 'device_id', 'release_id'])('section 2.1 requires a prefix of %s', (field) => {
  expect(deployment.is({ ...shown, ...statuses, created_at: moment, [field]: 'xyz_1' })).toBe(false);
});

it.each(['deployment', 'deployment_deployed', '.deployed', 'deployment.', 'a.b.c', 'deployment deployed.x'])(
  'section 6.1 refuses %j as an event type',
  (type) => expect(eventEnvelope.is({ ...happened, type })).toBe(false),
);

it('section 2.5 requires a code and a whole number of nanoseconds in a ping answer', () => {
  expect(pingResponse.is({ code: 'success', round_trip_nanos: 0 })).toBe(true);
  expect(pingResponse.is({ code: 'success', round_trip_nanos: 1.5 })).toBe(false);
  expect(pingResponse.is({ code: 'success', round_trip_nanos: -1 })).toBe(false);
  expect(pingResponse.is({ round_trip_nanos: 1 })).toBe(false);
});

it('section 8 states the limits of lists and pings', () => {
  expect(LIST_LIMITS).toMatchObject({ limitDefault: 10, limitMaximum: 100, offsetDefault: 0, offsetMinimum: 0 });
  expect(PING_TIMEOUT_MAXIMUM_NANOS).toBe(10 * 1e9);
});

it.each([
  ['6.2', 'Rules of the event stream'],
  ['6.2.1', 'Rules of the event stream'],
  ['6.9', 'Events'],
  ['42', ''],
])('section %s is headed %j', (section, title) => expect(sectionTitle(section)).toBe(title));

it('capabilities are named once and explained', () => {
  expect(new Set(CAPABILITIES).size).toBe(CAPABILITIES.length);
  expect(Object.keys(CAPABILITY_MEANINGS).toSorted()).toEqual([...CAPABILITIES].toSorted());
});
