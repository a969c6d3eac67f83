import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Costs } from './costs.ts';
import { capacityPage } from './page.ts';

const read = (name: string): string =>
  readFileSync(new URL(`../../../fixtures/capacity/${name}`, import.meta.url), 'utf8');

it('is the page that its costs give', { timeout: 300_000 }, () => {
  expect(read('README.md')).toBe(capacityPage(JSON.parse(read('costs.json')) as Costs));
});
