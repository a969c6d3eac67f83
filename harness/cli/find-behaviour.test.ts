import { expect, test } from 'vitest';
import { deviceDefects } from '../../simulators/defects/device/index.ts';
import { findByName } from './find-behaviour.ts';

test('a name that is known gives what it names', () => {
  expect(findByName('--defect', 'replay-inclusive', deviceDefects).name).toBe('replay-inclusive');
});

test.each([
  ['replay-inclusve', 'replay-inclusive'],
  ['inclusive-replay', 'replay-inclusive'],
])('%s is refused, with everything accepted and, last, what may have been meant', (wrong, right) => {
  const refused = () => findByName('--defect', wrong, deviceDefects);
  expect(refused).toThrow(`--defect ${wrong}: unknown name`);
  expect(refused).toThrow(new RegExp(`Did you mean ${right}\\?$`));
  for (const { name, summary } of deviceDefects) {
    expect(refused).toThrow(`  ${name} `);
    expect(refused).toThrow(summary);
  }
});

test('nothing is guessed for a name like no other', () => {
  expect(() => findByName('--defect', 'zzzzzzzzzzzz', deviceDefects)).not.toThrow('Did you mean');
});
