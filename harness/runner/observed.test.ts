import { expect, it } from 'vitest';
import { distinct, inWords } from './observed.ts';

const choices = [
  { name: '?limit=abc', value: 'limit 10, offset 0' },
  { name: '?limit=', value: '400' },
  { name: '?limit=null', value: 'limit 10, offset 0' },
  { name: '?limit=abc', value: 'limit 10, offset 0' },
  { name: '?limit=', value: '422' },
];

it('keeps each choice once, and two choices of one name', () => {
  expect(distinct(choices).map(({ name, value }) => [name, value])).toEqual([
    ['?limit=abc', 'limit 10, offset 0'],
    ['?limit=', '400'],
    ['?limit=null', 'limit 10, offset 0'],
    ['?limit=', '422'],
  ]);
});

it('puts the choices with one value in one line', () => {
  expect(inWords(choices)).toEqual(['?limit=abc, ?limit=null → limit 10, offset 0', '?limit= → 400', '?limit= → 422']);
});
