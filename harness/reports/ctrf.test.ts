import { validate } from 'ctrf';
import { expect, test } from 'vitest';
import { ctrfFormat } from './ctrf.ts';
import { sampleReport } from './samples.ts';

const document = () => JSON.parse(ctrfFormat.document(sampleReport()));

test('a report with every outcome is valid CTRF', () => {
  expect(validate(document())).toMatchObject({ valid: true });
});

test('the totals are those of the tests', () => {
  const { summary, tests } = document().results;
  expect(summary).toMatchObject({ tests: 11, passed: 5, failed: 1, skipped: 3, pending: 0, other: 2 });
  for (const status of ['passed', 'failed', 'skipped', 'other']) {
    expect(tests.filter((item: { status: string }) => item.status === status)).toHaveLength(summary[status]);
  }
});

test('a document that is none is refused', () => {
  expect(validate({ ...document(), results: { tool: {}, tests: [] } })).toMatchObject({ valid: false });
});
