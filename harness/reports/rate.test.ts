/** Tests that every report shows the failure rate of a finding in the same words. */
import { expect, it } from 'vitest';
import { rateInWords } from '../runner/attempts.ts';
import type { Rate, Report } from '../runner/types.ts';
import { ctrfFormat } from './ctrf.ts';
import { annotations, markdownReport } from './github.ts';
import { htmlFormat } from './html.ts';
import { jsonFormat } from './json.ts';
import { junitFormat } from './junit.ts';
import { prettyText } from './pretty.ts';
import { sampleFailure, sampleReport, sampleResult } from './testing/samples.ts';

const rate = (times: number, failed: number, alone: readonly [number, number] = [0, 0], why?: string): Rate => ({
  times,
  failed,
  alone: { times: alone[0], failed: alone[1] },
  ...(why === undefined ? {} : { not_tried: why }),
});

it.each<[Rate, string]>([
  [rate(3, 3, [2, 2]), 'always: 3 of 3 times'],
  [rate(3, 3, [3, 3]), 'always: 3 of 3 times'],
  [rate(3, 2, [2, 1]), '2 of 3 times (alone 1 of 2)'],
  [rate(3, 1, [2, 0]), 'only beside other requests or in an earlier state: 1 of 1 times, and 0 of 2 alone'],
  [rate(3, 1, [3, 1]), '1 of 3 times'],
  [rate(5, 2, [2, 0]), 'only beside other requests: 2 of 3 times, and 0 of 2 alone'],
  [rate(12, 1, [2, 0]), '1 of 12 times (alone 0 of 2)'],
  [rate(10, 0), '0 of 10 times'],
  [rate(1, 1, [0, 0], 'no time left'), 'not tried again: no time left'],
  [rate(10, 10, [0, 0], 'no time left'), 'always: 10 of 10 times; not tried alone: no time left'],
])('%j in words', (given, words) => {
  expect(rateInWords(given)).toBe(words);
});

const WORDS = 'only beside other requests or in an earlier state: 1 of 1 times, and 0 of 2 alone';
const failure = sampleFailure({ rate: rate(3, 1, [2, 0]) });
const report: Report = sampleReport([sampleResult(), failure]);

const PLAIN = { paint: (_: unknown, text: string) => text, columns: 200 };

it('every report shows the rate with the finding, and the JSON report its numbers', () => {
  for (const { document } of [htmlFormat, junitFormat, ctrfFormat]) expect(document(report)).toContain(WORDS);
  expect(prettyText(report, PLAIN)).toContain(`how often  ${WORDS}`);
  expect(markdownReport(report)).toContain(`**How often** ${WORDS}`);
  expect(annotations(report).join('')).toContain(`How often: ${WORDS}`);
  const { checks } = JSON.parse(jsonFormat.document(report)) as Report;
  expect(checks[1]?.rate).toEqual({ times: 3, failed: 1, alone: { times: 2, failed: 0 } });
});

it('the verdict says that a failure is intermittent', () => {
  expect(prettyText(report, PLAIN)).toContain('exit 1: a MUST does not hold; not every time');
  const other = sampleFailure({ id: 'device.events.frame', actual: 'no id', exchanges: [] });
  expect(prettyText(sampleReport([failure, other]), PLAIN)).toContain('2 MUSTs do not hold; 1 not every time');
});

it('reports of repeated checks show the rate of each', () => {
  const often = { repeat: 10 };
  const checks = [sampleResult({ rate: rate(10, 0) }), sampleFailure({ rate: rate(10, 3, [2, 1]) })];
  const repeated = sampleReport(checks, often);
  const text = prettyText(repeated, PLAIN);
  expect(text).toContain('Run 10 times each\n  1 check failed in none\n  3 of 10  device.events.replay.exclusive\n');
  expect(junitFormat.document(repeated)).toContain('how often: 0 of 10 times');
  expect(htmlFormat.document(repeated)).toContain('each check run 10 times');
  expect(htmlFormat.document(repeated)).toContain('0 of 10 times · ');
});
