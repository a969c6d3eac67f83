import { expect, it, test } from 'vitest';
import { sampleFailure, sampleReport } from '../reports/testing/samples.ts';
import { choicesInWords, presentableReport, replayCommand } from './results.ts';
import type { CheckResult } from './types.ts';

const command = 'muster check device --socket /run/agent.sock';
const failure = sampleFailure({ id: 'device.a' });
const blocked = { ...failure, outcome: 'blocked' } as const;

test.each<[string, { file?: string }, CheckResult, string]>([
  ['a finding runs it alone, with the seed of its run', {}, failure, `${command} --only device.a --seed 4711`],
  ['a finding reads the report in JSON', { file: 'a b.json' }, failure, "muster replay 'a b.json' --only device.a"],
  ['a blocked check reads no report', { file: 'run.json' }, blocked, `${command} --only device.a --seed 4711`],
])('the replay command of %s', (_, file, result, words) => {
  expect(replayCommand({ command, seed: 4711, ...file }, result)).toBe(words);
});

test('a report shows a curl line or script whole, or leaves it out', () => {
  const [fits, long] = ['y'.repeat(10_000), 'y'.repeat(100_000)];
  const [first, second] = presentableReport(
    sampleReport([sampleFailure({ curl: fits, script: fits }), sampleFailure({ id: 'b', curl: long, script: long })]),
  ).checks;
  expect(first).toMatchObject({ curl: fits, script: fits });
  expect(second).not.toHaveProperty('curl');
  expect(second).not.toHaveProperty('script');
});

test('a report offers no commands against a target that ended with the run', () => {
  const report = sampleReport([sampleFailure({ script: 'echo' })]);
  const [result] = presentableReport({ ...report, target: { ...report.target, ended: true } }).checks;
  expect(result).not.toHaveProperty('curl');
  expect(result).not.toHaveProperty('script');
  expect(result?.exchanges).toHaveLength(1);
});

const choices = [
  { name: '?limit=abc', value: 'limit 10, offset 0' },
  { name: '?limit=', value: '400' },
  { name: '?limit=null', value: 'limit 10, offset 0' },
  { name: '?limit=abc', value: 'limit 10, offset 0' },
  { name: '?limit=', value: '422' },
];

it('choices are kept once each, and those with the same value share one line', () => {
  expect(choicesInWords(choices)).toEqual([
    '?limit=abc, ?limit=null → limit 10, offset 0',
    '?limit= → 400',
    '?limit= → 422',
  ]);
});
