import { expect, test } from 'vitest';
import { deviceDefects } from '../../simulators/defects/device/index.ts';
import { findByName } from './find-behaviour.ts';

const find = (name: string) => findByName('--defect', name, deviceDefects, 'device');

test('a name that is known gives what it names', () => {
  expect(find('replay-inclusive').name).toBe('replay-inclusive');
});

test.each([
  ['replay-inclusve', 'replay-inclusive'],
  ['inclusive-replay', 'replay-inclusive'],
  ['slow-reader', 'slow-reader-blocks, slow-reader-thinned-out'],
])('%s is refused with what may have been meant, and nothing else', (wrong, right) => {
  expect(() => find(wrong)).toThrow(
    `--defect ${wrong}: unknown name; did you mean ${right}?\nmuster simulate device --defect list prints all of them`,
  );
});

test('nothing is guessed for a name like no other', () => {
  expect(() => find('zzzzzzzzzzzz')).toThrow(/unknown name\nmuster simulate device --defect list/);
});
