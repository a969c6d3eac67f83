import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scratch } from '../../common/testing/scratch.ts';
import { type DeviceRow, type Filters, type OrderTerm, totalOrder, UNPROVISIONED } from './rows.ts';
import { openDatabase, Store } from './store.ts';

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
  group_id: groupOf(group),
  ...UNPROVISIONED,
});

const groupOf = (number: number): string | null => (number === 0 ? null : `grp_${number}`);

function plainSql(store: Store, filters: Filters, terms: readonly OrderTerm[], start: number, count: number): number[] {
  const conditions = Object.keys(filters).map((field) => `${field} IN (SELECT value FROM json_each(?))`);
  const order = terms.map(({ field, descending }) => `${field} ${descending ? 'DESC' : 'ASC'}`);
  const where = ['TRUE', ...conditions].join(' AND ');
  return store.database
    .prepare(`SELECT seq FROM devices WHERE ${where} ORDER BY ${order.join(', ')} LIMIT ? OFFSET ?`)
    .all(...Object.values(filters).map((values) => JSON.stringify(values)), count, start)
    .map((row) => Number(row['seq']));
}

const termOf = (...fields: string[]) => fc.record({ field: fc.constantFrom(...fields), descending: fc.boolean() });
const anyTerms = fc.array(termOf('id', 'created_at', 'status', 'name', 'updated_at'), { maxLength: 3 });
const keptTerms = fc.constant([{ field: 'created_at', descending: true }]);
const facetValues = {
  status: fc.subarray([...STATUSES, 'never'], { minLength: 1 }),
  group_id: fc.subarray(['grp_1', 'grp_2', 'grp_9'], { minLength: 1 }),
};
const seqs = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 });
const filterValues = {
  ...facetValues,
  id: seqs.map((all) => all.map((seq) => device(seq, 'online', 0, 0).id)),
  name: seqs.map((all) => all.map((seq) => `robot-${seq}`)),
};

it('a collection answers any page of any query as plain SQL does, between inserts and updates', () => {
  const values = { status: fc.constantFrom(...STATUSES), group: fc.nat(2) };
  const insert = fc.record({ insert: fc.nat(5), rows: fc.constantFrom(1, 1, 1, 30), ...values });
  const update = fc.record({ update: fc.nat(), ...values });
  const ask = fc.record({
    terms: fc.oneof(anyTerms, keptTerms),
    filters: fc.oneof(...[facetValues, filterValues].map((values) => fc.record(values, { requiredKeys: [] }))),
    // Mostly small offsets, because a test has only a few dozen rows.
    start: fc.oneof({ arbitrary: fc.nat(30), weight: 4 }, fc.nat(400)),
    count: fc.nat(40),
  });
  const steps = fc.array(fc.oneof(insert, update, { arbitrary: ask, weight: 2 }), { maxLength: 80, size: 'max' });
  fc.assert(
    fc.property(steps, (all) => {
      const store = new Store(':memory:');
      const { device: devices } = store.collections;
      const write = (change: () => DeviceRow) => {
        const row = store.write(change);
        expect(devices.bySeq(row.seq)).toEqual(row);
      };
      for (const step of all) {
        if ('insert' in step) {
          const build = (seq: number) => device(seq, step.status, step.insert, step.group);
          if (step.rows === 1) write(() => devices.insert(build));
          else store.write(() => devices.load(step.rows, build));
        } else if ('update' in step) {
          const row = devices.bySeq(1 + (step.update % Math.max(1, devices.size)));
          const changes = { status: step.status, group_id: groupOf(step.group) };
          if (row !== undefined) write(() => devices.update(row, changes));
        } else {
          const terms = totalOrder(step.terms);
          const query = devices.query(step.filters, terms);
          const expected = plainSql(store, step.filters, terms, step.start, step.count);
          expect(query.slice(step.start, step.count)).toEqual(expected);
          expect(query.count()).toBe(plainSql(store, step.filters, terms, 0, -1).length);
        }
      }
      store.close();
    }),
    { numRuns: 80 },
  );
});

it('a collection forgets a write that fails, and gives its row number to the next row', () => {
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

it('a database file is refused if another version wrote it', () => {
  using folder = scratch();
  const path = join(folder.path, 'platform.db');
  new Store(path).close();
  const other = openDatabase(path);
  other.exec('PRAGMA user_version = 99');
  other.close();
  expect(() => new Store(path)).toThrow(/platform\.db: written by another version/);
});
