/** The collections against plain arrays: every filter, order and page, while rows come and change. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareText } from './facets.ts';
import { type OrderTerm, totalOrder } from './order.ts';
import type { DeviceRow } from './rows.ts';
import { openDatabase } from './sqlite.ts';
import { Store } from './store.ts';

const STATUSES = ['inactive', 'online', 'offline', 'archived'] as const;

const device = (seq: number, status: DeviceRow['status'], moment: number, group: number): DeviceRow => ({
  seq,
  id: `dvc_${String((seq * 7919) % 10_007).padStart(5, '0')}`,
  name: `robot-${seq}`,
  description: null,
  status,
  agent_version: null,
  last_connected_at: null,
  last_disconnected_at: null,
  created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, moment)).toISOString(),
  updated_at: '2026-01-01T00:00:00.000Z',
  group_id: group === 0 ? null : `grp_${group}`,
  current_deployment_id: null,
  current_release_id: null,
  target_deployment_id: null,
  session_id: null,
  public_key_pem: null,
  key_fingerprint: null,
});

const sorted = (rows: DeviceRow[], terms: readonly OrderTerm[]): DeviceRow[] =>
  rows.toSorted((left, right) => {
    for (const { field, descending } of terms) {
      const order = compareText(left[field as 'id'], right[field as 'id']);
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  });

const term = fc.record({
  field: fc.constantFrom('id', 'created_at', 'status', 'name', 'updated_at'),
  descending: fc.boolean(),
});
const filterValues = {
  status: fc.subarray([...STATUSES, 'never'], { minLength: 1 }),
  group_id: fc.subarray(['grp_1', 'grp_2', 'grp_9'], { minLength: 1 }),
  id: fc.array(
    fc.integer({ min: 1, max: 200 }).map((seq) => device(seq, 'online', 0, 0).id),
    { minLength: 1, maxLength: 5 },
  ),
  name: fc.array(
    fc.integer({ min: 1, max: 200 }).map((seq) => `robot-${seq}`),
    { minLength: 1, maxLength: 5 },
  ),
};

describe('a collection', () => {
  it('answers any page of any query as an array would', () => {
    const insert = fc.record({ insert: fc.constantFrom(...STATUSES), moment: fc.nat(5), group: fc.nat(2) });
    const update = fc.record({ update: fc.nat(), status: fc.constantFrom(...STATUSES), group: fc.nat(2) });
    const ask = fc.record({
      terms: fc.array(term, { maxLength: 3 }),
      filters: fc.record(filterValues, { requiredKeys: [] }),
      start: fc.nat(150),
      count: fc.nat(40),
    });
    const steps = fc.array(fc.oneof(insert, update, { arbitrary: ask, weight: 2 }), { maxLength: 80 });
    fc.assert(
      fc.property(steps, (all) => {
        const store = new Store(':memory:');
        const collection = store.collections.device;
        const model: DeviceRow[] = [];
        for (const step of all) {
          if ('insert' in step) {
            const { insert: status, moment, group } = step;
            model.push(store.write(() => collection.insert((seq) => device(seq, status, moment, group))));
          } else if ('update' in step) {
            const at = step.update % Math.max(1, model.length);
            const row = model[at];
            if (row === undefined) continue;
            const group_id = step.group === 0 ? null : `grp_${step.group}`;
            model[at] = store.write(() => collection.update(row, { status: step.status, group_id }));
          } else {
            const terms = totalOrder(step.terms);
            const matching = model.filter((row) =>
              Object.entries(step.filters).every(([field, values]) => values.includes(row[field as 'id'])),
            );
            const expected = sorted(matching, terms).map(({ seq }) => seq);
            const query = collection.query(step.filters, terms);
            expect(query.slice(step.start, step.count)).toEqual(expected.slice(step.start, step.start + step.count));
            expect(query.count()).toBe(expected.length);
          }
        }
        store.close();
      }),
      { numRuns: 80 },
    );
  });

  it('gives nothing of a write that fails, and its number to the next', () => {
    const store = new Store(':memory:');
    const { device: devices } = store.collections;
    const failed = () =>
      store.write(() => {
        devices.insert((seq) => device(seq, 'online', 0, 0));
        throw new Error('planned');
      });
    expect(failed).toThrow('planned');
    expect(devices.size).toBe(0);
    const row = store.write(() => devices.insert((seq) => device(seq, 'online', 0, 0)));
    expect(row.seq).toBe(1);
    expect(devices.query({ status: ['online'] }, totalOrder([])).slice(0, 5)).toEqual([1]);
    store.close();
  });
});

describe('a database file', () => {
  it('is found again as it was left, and refused when another program version wrote it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-store-'));
    try {
      const path = join(folder, 'platform.db');
      const store = new Store(path);
      store.write(() => store.collections.device.insert((seq) => device(seq, 'offline', 3, 1)));
      store.close();
      const again = new Store(path);
      expect(again.collections.device.bySeq(1)).toMatchObject({ name: 'robot-1', status: 'offline' });
      expect(again.collections.device.query({ group_id: ['grp_1'] }, totalOrder([])).count()).toBe(1);
      again.close();
      const other = openDatabase(path);
      other.exec('PRAGMA user_version = 99');
      other.close();
      expect(() => new Store(path)).toThrow(/platform\.db: written by another version/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('is one process’s at a time', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-store-'));
    try {
      const path = join(folder, 'platform.db');
      const store = new Store(path);
      expect(() => new Store(path)).toThrow(`${path}: another process has it open`);
      store.write(() => store.collections.device.insert((seq) => device(seq, 'offline', 3, 1)));
      store.close();
      const next = new Store(path);
      expect(next.collections.device.size).toBe(1);
      next.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
