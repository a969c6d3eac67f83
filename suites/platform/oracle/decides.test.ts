import { expect, it } from 'vitest';
import { platformSuite } from '../index.ts';
import { EXPLORED_IDS } from './checks.ts';
import { DECIDED } from './decides.ts';

it('the table names exactly the requirements that explorations decide', () => {
  expect(platformSuite.checks.length).toBeGreaterThan(DECIDED.length);
  expect(DECIDED.toSorted()).toEqual([...EXPLORED_IDS].toSorted());
});
