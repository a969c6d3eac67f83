/** Ranked lists against a sorted array, for any inserts, changes and queries. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Facet, type FacetFilter, RankedList } from './ranks.ts';

const VALUES = ['a', 'b', 'c'];

/** Keys of rows by row number; equal keys fall back on the number. */
function listOf(keys: number[], facets: Facet[]): { list: RankedList; compare: (l: number, r: number) => number } {
  const compare = (left: number, right: number) => (keys[left] as number) - (keys[right] as number) || left - right;
  return { list: new RankedList(compare, facets), compare };
}

const filters: FacetFilter[] = [
  [],
  [{ facet: 0, codes: [1] }],
  [{ facet: 0, codes: [1, 3] }],
  [
    { facet: 0, codes: [2] },
    { facet: 1, codes: [1, 2] },
  ],
];

describe('a ranked list', () => {
  it('agrees with a sorted array', () => {
    const step = fc.oneof(
      fc.record({ insert: fc.integer({ min: 0, max: 50 }), values: fc.tuple(fc.nat(2), fc.nat(2)) }),
      fc.record({ recode: fc.nat(), facet: fc.nat(1), value: fc.nat(2) }),
      fc.record({
        slice: fc.nat(3000),
        count: fc.integer({ min: 0, max: 120 }),
        filter: fc.nat(3),
        reversed: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(fc.nat(1500), fc.array(step, { maxLength: 60 }), (loaded, steps) => {
        const facets = [new Facet('x'), new Facet('y')];
        // Codes 1 to 3 in a fixed order, so that the filters above name them.
        for (const facet of facets) for (const value of VALUES) facet.intern(value);
        const keys: number[] = [];
        const { list, compare } = listOf(keys, facets);
        const rows: number[] = [];
        const add = (key: number, values: readonly number[]) => {
          const row = keys.length;
          keys.push(key);
          for (const [index, facet] of facets.entries()) facet.set(row, VALUES[values[index] ?? 0] ?? null);
          rows.push(row);
          return row;
        };
        for (let index = 0; index < loaded; index++) add(index % 37, [index % 3, (index >> 2) % 3]);
        list.load(Int32Array.from(rows.toSorted(compare)));
        for (const one of steps) {
          if ('insert' in one) list.insert(add(one.insert, one.values));
          else if ('recode' in one) {
            if (rows.length === 0) continue;
            const row = rows[one.recode % rows.length] as number;
            const facet = facets[one.facet] as Facet;
            const from = facet.codeOf(row);
            facet.set(row, VALUES[one.value] ?? null);
            list.recode(row, one.facet, from);
          } else {
            const filter = filters[one.filter] as FacetFilter;
            const passing = rows
              .filter((row) => filter.every(({ facet, codes }) => codes.includes((facets[facet] as Facet).codeOf(row))))
              .toSorted(compare);
            if (one.reversed) passing.reverse();
            expect(list.slice(one.slice, one.count, filter, one.reversed)).toEqual(
              passing.slice(one.slice, one.slice + one.count),
            );
            expect(list.count(filter)).toBe(passing.length);
          }
        }
        expect([...list.rows()]).toEqual(rows.toSorted(compare));
      }),
      { numRuns: 60 },
    );
  });

  it('stays sorted as its chunks grow and split at the head, the tail and in between', () => {
    const keys: number[] = [];
    const { list, compare } = listOf(keys, []);
    for (let row = 0; row < 4000; row++) {
      keys.push(row % 3 === 0 ? -row : row % 3 === 1 ? row : row % 7);
      list.insert(row);
    }
    const sorted = keys.map((_key, row) => row).sort(compare);
    expect([...list.rows()]).toEqual(sorted);
    expect(list.slice(3990, 20, [])).toEqual(sorted.slice(3990));
  });
});
