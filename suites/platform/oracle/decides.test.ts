/** Every difference belongs to a check, or it would be lost. */
import { expect, it } from 'vitest';
import { platformSuite } from '../index.ts';
import { EXPLORED_IDS } from './decided.ts';
import { DECIDED } from './decides.ts';

it('the table names the requirements of explorations, and each of them', () => {
  expect(platformSuite.checks.length).toBeGreaterThan(DECIDED.length);
  expect(DECIDED.toSorted()).toEqual([...EXPLORED_IDS].toSorted());
});
